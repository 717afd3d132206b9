/** Compares texts in a worker, so that large texts do not block the web interface. The worker answers one request. */
import { diffRows } from './diff-rows.ts';

export type DiffRequest = { readonly before: string; readonly after: string };

addEventListener('message', (event: MessageEvent<DiffRequest>) => {
  postMessage(diffRows(event.data.before, event.data.after));
});
