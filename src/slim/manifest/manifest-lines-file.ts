/**
 * The manifest of a run while it grows: text lines, spread over files by the first hexadecimal digits of the digest, so
 * that all lines of one digest stand in one file and each file can be resolved within bounded memory. Lines that only
 * point at others stand in a file of their own.
 *
 * ```
 *   lines-.tsv  or  lines-0.tsv ... lines-f.tsv  or  lines-00.tsv ... lines-ff.tsv  or  with three digits       pointers.tsv
 * ```
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type LineFileLengths, LineFiles } from '../line-files.ts';

const LINES_FILE = /^(?:lines-[0-9a-f]*|pointers)\.tsv$/;
const POINTERS = 'pointers.tsv';

export class ManifestLinesFile {
  readonly #files: LineFiles;
  readonly #prefixDigits: number;

  /** Begins anew, or goes on from a checkpoint. */
  constructor(directory: string, prefixDigits: number, lengths: LineFileLengths = {}) {
    this.#files = new LineFiles(directory, LINES_FILE, lengths);
    this.#prefixDigits = prefixDigits;
  }

  /** `digestHex` is empty for a line that only points at others. */
  add(line: string, digestHex: string): void {
    this.#files.add(digestHex === '' ? POINTERS : `lines-${digestHex.slice(0, this.#prefixDigits)}.tsv`, line);
  }

  checkpoint(): LineFileLengths {
    return this.#files.checkpoint();
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

/**
 * Records of the compressed size that is common; a collection of smaller ones gets fuller files and a little more
 * memory.
 */
const BYTES_A_LINE = 5000;
const LINES_A_FILE = 250_000;

/** How many digits of the digest choose the file of a line, for a collection of this size. */
export function prefixDigitsFor(collectionBytes: number): number {
  const files = collectionBytes / BYTES_A_LINE / LINES_A_FILE;
  return files <= 1 ? 0 : files <= 16 ? 1 : files <= 256 ? 2 : 3;
}
