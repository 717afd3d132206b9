/**
 * Reports the page in the frame of replay to the web interface around it. Archived pages do so through wombat. This is
 * for the server's own pages, for example the one that says that a page is missing.
 */
export function reportPage(message: object, uiOrigin: string): void {
  if (parent !== self && parent === top) parent.postMessage(message, uiOrigin);
}
