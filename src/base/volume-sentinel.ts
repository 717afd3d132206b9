/**
 * The file that marks a directory as a volume of an archive. What lies below belongs to the archive, and only it may
 * change that.
 */
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

export const VOLUME_SENTINEL = '.pinakes-volume';

/** Finds the volume that a file lies in, for many files: folders that were looked at are remembered. */
export class VolumeFinder {
  readonly #known = new Map<string, string | undefined>();

  /** The directory of the volume, if the file lies in one. */
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
