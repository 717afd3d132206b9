/**
 * Finds the files that a manifest names: at the path in the manifest, or among the files of the run by name, when only
 * one of them has this name.
 */
import { existsSync, realpathSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { CollectionFile } from './collection.ts';
import { fileFingerprint, identityIfThere } from './file-identity.ts';

export class FilePlaces {
  readonly #files: readonly CollectionFile[];
  readonly #byPath = new Map<string, number>();
  /** By file name; -1 when several files have this name. */
  readonly #byName = new Map<string, number>();

  /**
   * A file of the run whose own path is in `named` is found only by this path. The same name under another path is then
   * another file, on another machine.
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

  /** The same text for all names of a file; undefined for a file that does not exist here. */
  fingerprintOf(file: string): string | undefined {
    const path = this.pathOf(file);
    // A path that cannot be read counts as missing: manifests of other machines can contain any path.
    const identity = existsSync(path) ? identityIfThere(path) : undefined;
    return identity && fileFingerprint(identity);
  }
}

function realOf(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}
