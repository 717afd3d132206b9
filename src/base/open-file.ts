/** Files that are read synchronously, as worker threads do. */
import { openSync } from 'node:fs';
import { fileError } from './error.ts';

/** Its descriptor; who opens it closes it. */
export function openToRead(path: string): number {
  try {
    return openSync(path, 'r');
  } catch (cause) {
    throw fileError(cause, path);
  }
}
