/**
 * The file that marks a directory as a volume of an archive. Files below belong to the archive, and only the archive
 * may change them.
 */
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

export const VOLUME_SENTINEL = '.pinakes-volume';

/** Finds the volume that contains a file. Results are kept for each folder, since callers ask for many files. */
export class VolumeFinder {
  readonly #known = new Map<string, string | undefined>();

  /** The directory of the volume; undefined when the file is not in one. */
  find(path: string): string | undefined {
    return this.#above(dirname(realpathSync(path)));
  }

  #above(folder: string): string | undefined {
    if (this.#known.has(folder)) return this.#known.get(folder);
    const parent = dirname(folder);
    const found = existsSync(join(folder, VOLUME_SENTINEL))
      ? folder
      : parent === folder
        ? undefined
        : this.#above(parent);
    this.#known.set(folder, found);
    return found;
  }
}
