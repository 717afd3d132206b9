/**
 * What was put in place of what while a file was rewritten, for the check that reads it back. On disk, so that a file with millions of
 * duplicates costs no memory (I9).
 *
 * ```
 *   old offset f64 | old length f64 | new length f64 | first 8 bytes of the SHA-256 of the new record's head         32 bytes an entry
 * ```
 */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { digestOf, fileError } from '../base/index.ts';

export type Replacement = {
  readonly oldOffset: number;
  readonly oldLength: number;
  readonly newLength: number;
  readonly headTag: bigint;
};

const ENTRY_BYTES = 32;
const ENTRIES_AT_ONCE = 2048;

export function headTag(headBytes: Uint8Array): bigint {
  return Buffer.from(digestOf('sha256', headBytes).bytes).readBigUInt64LE(0);
}

export class ReplacementLog {
  readonly path: string;
  readonly #descriptor: number;
  readonly #buffer = Buffer.alloc(ENTRY_BYTES * ENTRIES_AT_ONCE);
  #filled = 0;
  count = 0;

  constructor(path: string) {
    this.path = path;
    try {
      this.#descriptor = openSync(path, 'w+');
    } catch (cause) {
      throw fileError(cause, path, 'writing');
    }
  }

  add({ oldOffset, oldLength, newLength, headTag }: Replacement): void {
    if (this.#filled === this.#buffer.length) this.#flush();
    this.#buffer.writeDoubleLE(oldOffset, this.#filled);
    this.#buffer.writeDoubleLE(oldLength, this.#filled + 8);
    this.#buffer.writeDoubleLE(newLength, this.#filled + 16);
    this.#buffer.writeBigUInt64LE(headTag, this.#filled + 24);
    this.#filled += ENTRY_BYTES;
    this.count++;
  }

  *read(): Generator<Replacement[]> {
    this.#flush();
    const chunk = Buffer.alloc(ENTRY_BYTES * ENTRIES_AT_ONCE);
    for (let position = 0; position < this.count * ENTRY_BYTES; ) {
      const bytes = readSync(this.#descriptor, chunk, 0, chunk.length, position);
      const entries: Replacement[] = [];
      for (let at = 0; at + ENTRY_BYTES <= bytes; at += ENTRY_BYTES) {
        entries.push({
          oldOffset: chunk.readDoubleLE(at),
          oldLength: chunk.readDoubleLE(at + 8),
          newLength: chunk.readDoubleLE(at + 16),
          headTag: chunk.readBigUInt64LE(at + 24),
        });
      }
      if (entries.length === 0) return;
      position += entries.length * ENTRY_BYTES;
      yield entries;
    }
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  #flush(): void {
    try {
      for (let at = 0; at < this.#filled; ) at += writeSync(this.#descriptor, this.#buffer, at, this.#filled - at);
    } catch (cause) {
      throw fileError(cause, this.path, 'writing');
    }
    this.#filled = 0;
  }
}
