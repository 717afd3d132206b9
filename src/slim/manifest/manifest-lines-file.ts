/**
 * The manifest of a running run: text lines in several files, chosen by the first hexadecimal digits of the digest. So
 * all lines of one digest are in one file, and each file can be resolved with bounded memory (I9). Lines of records
 * that only refer to other records have their own file.
 *
 * ```
 *   lines-.tsv  or  lines-0.tsv ... lines-f.tsv  or  lines-00.tsv ... lines-ff.tsv  or  with three digits
 *   pointers.tsv
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

  /** Starts with no lines, or continues from a checkpoint. */
  constructor(directory: string, prefixDigits: number, lengths: LineFileLengths = {}) {
    this.#files = new LineFiles(directory, LINES_FILE, lengths);
    this.#prefixDigits = prefixDigits;
  }

  /** `digestHex` is empty for the line of a record that only refers to others. */
  add(line: string, digestHex: string): void {
    this.#files.add(digestHex === '' ? POINTERS : `lines-${digestHex.slice(0, this.#prefixDigits)}.tsv`, line);
  }

  checkpoint(): LineFileLengths {
    return this.#files.checkpoint();
  }
}

/** The files of a directory with the lines that can be in a cluster, in order. */
export function clusterFiles(directory: string): string[] {
  const names = readdirSync(directory).filter((name) => LINES_FILE.test(name) && name !== POINTERS);
  return names.sort().map((name) => join(directory, name));
}

/** The file with the lines of records that only refer to others, when there are any. */
export function pointerFile(directory: string): string | undefined {
  return readdirSync(directory).includes(POINTERS) ? join(directory, POINTERS) : undefined;
}

/**
 * A common compressed size of a record. A collection of smaller records gets fuller files, which need a little more
 * memory.
 */
const BYTES_PER_LINE = 5000;
const LINES_PER_FILE = 250_000;

/** How many digits of the digest choose the file of a line, for a collection of this size. */
export function prefixDigitsFor(collectionBytes: number): number {
  const files = collectionBytes / BYTES_PER_LINE / LINES_PER_FILE;
  return files <= 1 ? 0 : files <= 16 ? 1 : files <= 256 ? 2 : 3;
}
