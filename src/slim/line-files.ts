/**
 * Text lines in several files of a directory, appended through small buffers. `checkpoint` makes all lines durable and
 * returns the length of each file. Opening with these lengths cuts the files back, so that a killed run continues from
 * its last checkpoint.
 */
import { closeSync, fsyncSync, openSync, readdirSync, truncateSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { writingFile } from '../base/index.ts';

const BUFFER_CHARACTERS = 32 * 1024;

export type LineFileLengths = Readonly<Record<string, number>>;

export class LineFiles {
  readonly #directory: string;
  readonly #lengths: Map<string, number>;
  readonly #pending = new Map<string, string>();
  readonly #dirty = new Set<string>();

  /** Cuts files whose names match back to the given lengths, and removes matching files without a length. */
  constructor(directory: string, names: RegExp, lengths: LineFileLengths = {}) {
    this.#directory = directory;
    this.#lengths = new Map(Object.entries(lengths));
    writingFile(directory, () => {
      for (const name of readdirSync(directory)) {
        if (!names.test(name)) continue;
        const length = lengths[name];
        if (length === undefined) unlinkSync(join(directory, name));
        else truncateSync(join(directory, name), length);
      }
    });
  }

  /** `line` includes its line feed. */
  add(name: string, line: string): void {
    const pending = (this.#pending.get(name) ?? '') + line;
    this.#pending.set(name, pending);
    if (pending.length >= BUFFER_CHARACTERS) this.#flush(name);
  }

  /** Writes all lines, so that readers of the files see them. */
  flush(): void {
    for (const name of this.#pending.keys()) this.#flush(name);
  }

  checkpoint(): LineFileLengths {
    this.flush();
    for (const name of this.#dirty) this.#withFile(name, (descriptor) => fsyncSync(descriptor));
    this.#dirty.clear();
    return Object.fromEntries(this.#lengths);
  }

  #flush(name: string): void {
    const text = this.#pending.get(name) ?? '';
    this.#pending.delete(name);
    if (text === '') return;
    const bytes = Buffer.from(text);
    this.#withFile(name, (descriptor) => {
      for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at);
    });
    this.#lengths.set(name, (this.#lengths.get(name) ?? 0) + bytes.length);
    this.#dirty.add(name);
  }

  #withFile(name: string, work: (descriptor: number) => void): void {
    const path = join(this.#directory, name);
    writingFile(path, () => {
      const descriptor = openSync(path, 'a');
      try {
        work(descriptor);
      } finally {
        closeSync(descriptor);
      }
    });
  }
}
