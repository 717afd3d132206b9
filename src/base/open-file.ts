/** Opens files for synchronous reads, as worker threads use them. */
import { openSync } from 'node:fs';
import { fileError } from './error.ts';

/** The file's descriptor. The caller closes it. */
export function openToRead(path: string): number {
  try {
    return openSync(path, 'r');
  } catch (cause) {
    throw fileError(cause, path);
  }
}
