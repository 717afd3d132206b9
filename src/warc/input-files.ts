/**
 * Finds the input files that paths name: the file itself, or the WARC, ARC and WACZ files below a directory. Links are
 * followed. Hidden directories are skipped. A path that cannot be reached is reported, and the files beside it are
 * still found.
 */
import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileError, PinakesError } from '../base/index.ts';

const ARCHIVE_NAME = /\.(warc|arc)(\.gz|\.zst)?(\.open)?$|\.wacz$/i;

export type InputFile = {
  readonly path: string;
  readonly bytes: number;
  /** Path of the file below the named directory; only the file's name when the path names the file itself. */
  readonly relative: string;
};

export type InputFiles = { readonly files: InputFile[]; readonly failures: PinakesError[]; readonly bytes: number };

/** Failures are returned together at the end: one bad path does not stop the others. */
export async function inputFiles(
  paths: readonly string[],
  options: { readonly signal?: AbortSignal | undefined } = {},
): Promise<InputFiles> {
  const search = new FileSearch(options.signal);
  for (const path of paths) await search.addPath(path);
  const { files, failures } = search;
  return { files, failures, bytes: files.reduce((sum, file) => sum + file.bytes, 0) };
}

class FileSearch {
  readonly files: InputFile[] = [];
  readonly failures: PinakesError[] = [];
  readonly #signal: AbortSignal | undefined;

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  async addPath(path: string): Promise<void> {
    // A shell passes an empty path when a variable is not set.
    if (path === '') {
      this.failures.push(new PinakesError('FILE_MISSING', { where: '""', detail: 'the path is empty' }));
      return;
    }
    const before = this.files.length + this.failures.length;
    await this.#enter(path, basename(path), []);
    const isEmpty = this.files.length + this.failures.length === before;
    if (isEmpty) this.failures.push(new PinakesError('NO_WARCS', { where: path }));
  }

  /** `above` are the directories on the path to this one, so that a link back to one of them ends the descent. */
  async #enter(path: string, relative: string, above: readonly string[]): Promise<void> {
    this.#signal?.throwIfAborted();
    try {
      const info = await stat(path);
      const identity = `${info.dev}:${info.ino}`;
      if (info.isFile()) this.files.push({ path, bytes: info.size, relative });
      else if (!info.isDirectory()) throw new PinakesError('FILE_NOT_SEEKABLE', { where: path });
      else if (!above.includes(identity))
        await this.#descend(path, above.length > 0 ? relative : '', [...above, identity]);
    } catch (cause) {
      const isMissing = (cause as { code?: string }).code === 'ENOENT';
      // Node replaces bytes that are not UTF-8 by U+FFFD. A file with the replaced name does not exist.
      const isGarbled = isMissing && basename(path).includes('\ufffd');
      const error = isGarbled ? new PinakesError('FILE_NAME_UNREADABLE', { where: path }) : fileError(cause, path);
      if (!(error instanceof PinakesError)) throw error;
      this.failures.push(error);
    }
  }

  async #descend(path: string, relative: string, above: readonly string[]): Promise<void> {
    const entries = await readdir(path, { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const child = join(path, entry.name);
      const isDirectory = entry.isDirectory() || (entry.isSymbolicLink() && (await leadsToDirectory(child)));
      const isWanted = isDirectory ? !entry.name.startsWith('.') : ARCHIVE_NAME.test(entry.name);
      if (isWanted) await this.#enter(child, join(relative, entry.name), above);
    }
  }
}

async function leadsToDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (info) => info.isDirectory(),
    () => false,
  );
}
