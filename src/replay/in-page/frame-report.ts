/**
 * Reports the page in the frame of replay to the web interface around it. Archived pages do so through wombat. This
 * function is for the server's own pages, such as the page about a missing capture.
 */
export function reportPage(message: object, uiOrigin: string): void {
  if (parent !== self && parent === top) parent.postMessage(message, uiOrigin);
}
