/**
 * WARC and ARC files in a directory volume with names that objects cannot have, for example with blanks or `~`. The
 * volume skips them, so they are reported.
 */
import { readdir } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { isObjectName } from '../../volume/index.ts';

const WARC_NAME = /\.w?arc(\.gz|\.zst)?(\.open)?$/i;

/** Their paths within the directory, in order. Hidden files are skipped on purpose. */
export async function misnamedFiles(directory: string): Promise<string[]> {
  const misnamed: string[] = [];
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory() || !WARC_NAME.test(entry.name)) continue;
    const name = relative(directory, join(entry.parentPath, entry.name)).split(sep).join('/');
    if (!isObjectName(name.replace(/\.open$/, '')) && !name.split('/').some((part) => part.startsWith('.')))
      misnamed.push(name);
  }
  return misnamed.sort();
}
