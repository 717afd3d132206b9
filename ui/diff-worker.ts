/** Compares texts beside the page, so that large ones do not stop it. One question, one answer. */
import { diffRows } from './diff-rows.ts';

export type DiffQuestion = { readonly before: string; readonly after: string };

addEventListener('message', (event: MessageEvent<DiffQuestion>) => {
  postMessage(diffRows(event.data.before, event.data.after));
});
