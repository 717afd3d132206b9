/**
 * Reports the page in the frame of replay to the web page around it. Archived pages do so through wombat. This is for
 * pages of the server's own, such as the one for a page that is missing.
 */
export function reportPage(message: object, uiOrigin: string): void {
  if (parent !== self && parent === top) parent.postMessage(message, uiOrigin);
}
