/**
 * The list of replaced members of a rewritten file, for the check that reads the file back. It is on disk, so that a
 * file with millions of duplicates needs little memory (I9).
 *
 * ```
 *   32 bytes per entry:
 *   old offset f64 | old length f64 | new length f64 | CRC-32 of the new member u32 | CRC-32 of the record in it u32
 * ```
 */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { writingFile } from '../../base/index.ts';

export type Replacement = {
  readonly oldOffset: number;
  readonly oldLength: number;
  readonly newLength: number;
  readonly memberCrc: number;
  readonly recordCrc: number;
};

const ENTRY_BYTES = 32;
const ENTRIES_AT_ONCE = 2048;

export class ReplacementLog {
  readonly path: string;
  readonly #descriptor: number;
  readonly #buffer = Buffer.alloc(ENTRY_BYTES * ENTRIES_AT_ONCE);
  #filled = 0;
  count = 0;

  constructor(path: string) {
    this.path = path;
    this.#descriptor = writingFile(path, () => openSync(path, 'w+'));
  }

  add({ oldOffset, oldLength, newLength, memberCrc, recordCrc }: Replacement): void {
    if (this.#filled === this.#buffer.length) this.#flush();
    this.#buffer.writeDoubleLE(oldOffset, this.#filled);
    this.#buffer.writeDoubleLE(oldLength, this.#filled + 8);
    this.#buffer.writeDoubleLE(newLength, this.#filled + 16);
    this.#buffer.writeUInt32LE(memberCrc, this.#filled + 24);
    this.#buffer.writeUInt32LE(recordCrc, this.#filled + 28);
    this.#filled += ENTRY_BYTES;
    this.count++;
  }

  /** All entries in order, in batches. Throws when an entry cannot be read. */
  *read(): Generator<Replacement[]> {
    this.#flush();
    const chunk = Buffer.alloc(ENTRY_BYTES * ENTRIES_AT_ONCE);
    let seen = 0;
    while (seen < this.count) {
      const wanted = Math.min(ENTRIES_AT_ONCE, this.count - seen);
      this.#read(chunk, seen * ENTRY_BYTES, wanted * ENTRY_BYTES);
      const entries: Replacement[] = [];
      for (let at = 0; at < wanted * ENTRY_BYTES; at += ENTRY_BYTES) {
        entries.push({
          oldOffset: chunk.readDoubleLE(at),
          oldLength: chunk.readDoubleLE(at + 8),
          newLength: chunk.readDoubleLE(at + 16),
          memberCrc: chunk.readUInt32LE(at + 24),
          recordCrc: chunk.readUInt32LE(at + 28),
        });
      }
      seen += wanted;
      yield entries;
    }
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  #read(chunk: Buffer, position: number, length: number): void {
    for (let at = 0; at < length; ) {
      const bytes = readSync(this.#descriptor, chunk, at, length - at, position + at);
      if (bytes === 0) throw new Error(`${this.path} ends before its last entry`);
      at += bytes;
    }
  }

  #flush(): void {
    writingFile(this.path, () => {
      for (let at = 0; at < this.#filled; ) at += writeSync(this.#descriptor, this.#buffer, at, this.#filled - at);
    });
    this.#filled = 0;
  }
}
