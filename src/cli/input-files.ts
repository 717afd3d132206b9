/** The files that the paths on a command line stand for: files as they are named, directories with the WARC, ARC and WACZ files below them. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileError, PinakesError } from '../base/index.ts';

const ARCHIVE_NAME = /\.(warc|arc)(\.gz|\.zst)?(\.open)?$|\.wacz$/i;

export type InputFile = { readonly path: string; readonly bytes: number };

export type InputFiles = { readonly files: InputFile[]; readonly failures: PinakesError[]; readonly bytes: number };

/** Paths that lead nowhere are told together, at the end: one bad path does not stop the others. */
export async function inputFiles(paths: readonly string[]): Promise<InputFiles> {
  const files: InputFile[] = [];
  const failures: PinakesError[] = [];
  for (const path of paths) {
    try {
      const found = await filesAt(path);
      if (found.length === 0) throw new PinakesError('NO_WARCS', { where: path });
      files.push(...found);
    } catch (error) {
      if (!(error instanceof PinakesError)) throw error;
      failures.push(error);
    }
  }
  return { files, failures, bytes: files.reduce((sum, file) => sum + file.bytes, 0) };
}

async function filesAt(path: string): Promise<InputFile[]> {
  try {
    const info = await stat(path);
    if (!info.isDirectory()) return [{ path, bytes: info.size }];
    const entries = await readdir(path, { withFileTypes: true });
    const found: InputFile[] = [];
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const child = join(path, entry.name);
      if (entry.isDirectory() && !entry.name.startsWith('.')) found.push(...(await filesAt(child)));
      else if (ARCHIVE_NAME.test(entry.name)) found.push({ path: child, bytes: (await stat(child)).size });
    }
    return found;
  } catch (cause) {
    throw fileError(cause, path);
  }
}
