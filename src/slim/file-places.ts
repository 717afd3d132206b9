/**
 * Where the files of a manifest lie: at the path that it gives, or under the same name among the files at hand, when
 * only one has it.
 */
import { existsSync, realpathSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { CollectionFile } from './collection.ts';
import { fileFingerprint, identityIfThere } from './file-identity.ts';

export class FilePlaces {
  readonly #files: readonly CollectionFile[];
  readonly #byPath = new Map<string, number>();
  /** -1 for names that several files have. */
  readonly #byName = new Map<string, number>();

  /**
   * A file that stands among `named` with its own path is found by that alone: at another path, another machine has
   * another file of the name.
   */
  constructor(files: readonly CollectionFile[], named: readonly string[] = []) {
    this.#files = files;
    for (const [number, { path }] of files.entries()) {
      this.#byPath.set(path, number);
      const name = basename(path);
      this.#byName.set(name, this.#byName.has(name) ? -1 : number);
    }
    for (const file of named) {
      const number = this.#atPath(file);
      if (number !== undefined) this.#byName.delete(basename(files[number]!.path));
    }
  }

  numberOf(file: string): number | undefined {
    const direct = this.#atPath(file);
    if (direct !== undefined) return direct;
    const named = this.#byName.get(basename(file));
    return named === -1 ? undefined : named;
  }

  #atPath(file: string): number | undefined {
    const path = resolve(file);
    return this.#byPath.get(path) ?? this.#byPath.get(realOf(path));
  }

  pathOf(file: string): string {
    const number = this.numberOf(file);
    return number === undefined ? resolve(file) : this.#files[number]!.path;
  }

  /** The same for all names of a file that is there; undefined for one that is not. */
  markOf(file: string): string | undefined {
    const path = this.pathOf(file);
    // Also one that cannot be looked at is not there: manifests of other machines name any path.
    const identity = existsSync(path) ? identityIfThere(path) : undefined;
    return identity && fileFingerprint(identity);
  }
}

function realOf(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}
