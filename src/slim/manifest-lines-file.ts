/**
 * The manifest of a run while it grows: text lines, spread over files by the first hexadecimal digits of the digest, so that all lines of one
 * digest stand in one file and each file can be resolved within bounded memory. Lines that only point at others stand in a file of their own.
 *
 * ```
 *   lines-.tsv  or  lines-0.tsv ... lines-f.tsv  or  lines-00.tsv ... lines-ff.tsv  or  with three digits       pointers.tsv
 * ```
 * `checkpoint` makes everything durable and says how long each file is; `reopen` cuts the files back to such lengths, so that a killed scan
 * goes on from its last checkpoint as if it had never gone further.
 */
import { closeSync, fsyncSync, openSync, readdirSync, truncateSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileError } from '../base/index.ts';

const BUFFER_CHARACTERS = 32 * 1024;
const LINES_FILE = /^(?:lines-[0-9a-f]*|pointers)\.tsv$/;
const POINTERS = 'pointers.tsv';

export type LineFileLengths = Readonly<Record<string, number>>;

export class ManifestLinesFile {
  readonly #directory: string;
  readonly #prefixDigits: number;
  readonly #lengths: Map<string, number>;
  readonly #pending = new Map<string, string>();
  readonly #dirty = new Set<string>();

  /** Begins anew, or goes on from a checkpoint. */
  static open(directory: string, prefixDigits: number, lengths: LineFileLengths = {}): ManifestLinesFile {
    try {
      for (const name of readdirSync(directory)) {
        if (!LINES_FILE.test(name)) continue;
        const length = lengths[name];
        if (length === undefined) unlinkSync(join(directory, name));
        else truncateSync(join(directory, name), length);
      }
    } catch (cause) {
      throw fileError(cause, directory, 'writing');
    }
    return new ManifestLinesFile(directory, prefixDigits, new Map(Object.entries(lengths)));
  }

  private constructor(directory: string, prefixDigits: number, lengths: Map<string, number>) {
    this.#directory = directory;
    this.#prefixDigits = prefixDigits;
    this.#lengths = lengths;
  }

  /** `digestHex` is empty for a line that only points at others. */
  add(line: string, digestHex: string): void {
    const name = digestHex === '' ? POINTERS : `lines-${digestHex.slice(0, this.#prefixDigits)}.tsv`;
    const pending = (this.#pending.get(name) ?? '') + line;
    this.#pending.set(name, pending);
    if (pending.length >= BUFFER_CHARACTERS) this.#flush(name);
  }

  checkpoint(): LineFileLengths {
    for (const name of this.#pending.keys()) this.#flush(name);
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
    try {
      const descriptor = openSync(path, 'a');
      try {
        work(descriptor);
      } finally {
        closeSync(descriptor);
      }
    } catch (cause) {
      throw fileError(cause, path, 'writing');
    }
  }
}

/** The files of a directory that hold lines which can be part of a cluster, in order. */
export function clusterFiles(directory: string): string[] {
  const names = readdirSync(directory).filter((name) => LINES_FILE.test(name) && name !== POINTERS);
  return names.sort().map((name) => join(directory, name));
}

/** The file with the lines that only point at others, when there are any. */
export function pointerFile(directory: string): string | undefined {
  return readdirSync(directory).includes(POINTERS) ? join(directory, POINTERS) : undefined;
}

/** Records of the compressed size that is common; a collection of smaller ones gets fuller files and a little more memory. */
const BYTES_A_LINE = 5000;
const LINES_A_FILE = 250_000;

/** How many digits of the digest choose the file of a line, for a collection of this size. */
export function prefixDigitsFor(collectionBytes: number): number {
  const files = collectionBytes / BYTES_A_LINE / LINES_A_FILE;
  return files <= 1 ? 0 : files <= 16 ? 1 : files <= 256 ? 2 : 3;
}
