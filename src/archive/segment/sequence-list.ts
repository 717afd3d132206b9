/**
 * The sequence numbers of segments that do not have theirs in their warcinfo: those of version 1, and files of other
 * writers. A rebuild gives them these numbers again, so that cursors and snapshots stay valid even if the catalog is
 * lost (R4).
 *
 * ```
 *   sequences.jsonl   {"version":1} LF, then for each segment [name, sequence] LF, with empty lines between; of several
 *                     lines of one name the last counts; in the archive's directory; truth
 * ```
 * A line is appended when the segment is listed. A rebuild first writes the file anew with all segments of the catalog.
 */
import { existsSync } from 'node:fs';
import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileError, replaceFile } from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import { rootsOf, sequenceOf } from '../../ledger/index.ts';

const FILE_NAME = 'sequences.jsonl';
const HEAD = '{"version":1}\n';

export class SequenceList {
  readonly #path: string;
  #numbers: Map<string, number> | undefined;

  constructor(directory: string) {
    this.#path = join(directory, FILE_NAME);
  }

  async of(name: string): Promise<number | undefined> {
    this.#numbers ??= await this.#read();
    return this.#numbers.get(name);
  }

  async add(name: string, sequence: number): Promise<void> {
    const line = `${JSON.stringify([name, sequence])}\n`;
    // After a line that was cut off, a new one begins.
    await appendFile(this.#path, existsSync(this.#path) ? `\n${line}` : HEAD + line).catch((cause: unknown) => {
      throw fileError(cause, this.#path, 'writing');
    });
    this.#numbers?.set(name, sequence);
  }

  /** Adds the numbers of these segments to those that the file has, durably. */
  async keep(segments: readonly Segment[]): Promise<void> {
    const numbers = await this.#read();
    for (const segment of segments) numbers.set(segment.name, placeOf(segment));
    const lines = [...numbers].map((entry) => `${JSON.stringify(entry)}\n`);
    await replaceFile(this.#path, HEAD + lines.join('')).catch((cause: unknown) => {
      throw fileError(cause, this.#path, 'writing');
    });
    this.#numbers = numbers;
  }

  /** Lines that cannot be read are left out, such as one that was being appended. */
  async #read(): Promise<Map<string, number>> {
    const numbers = new Map<string, number>();
    for (const line of (await this.#text())?.split('\n') ?? []) {
      const entry = entryOf(line);
      if (entry) numbers.set(...entry);
    }
    return numbers;
  }

  async #text(): Promise<string | undefined> {
    return readFile(this.#path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
      if (cause.code === 'ENOENT') return undefined;
      throw fileError(cause, this.#path);
    });
  }
}

/** A replacement of version 1 is a root of its own, and has the number of the segment that it replaced. */
function placeOf(segment: Segment): number {
  return rootsOf(segment).find(({ name }) => name === segment.name)?.sequence ?? sequenceOf(segment);
}

function entryOf(line: string): [string, number] | undefined {
  try {
    const entry: unknown = JSON.parse(line);
    if (!Array.isArray(entry)) return undefined;
    const [name, sequence] = entry as unknown[];
    return typeof name === 'string' && Number.isSafeInteger(sequence) ? [name, sequence as number] : undefined;
  } catch {
    return undefined;
  }
}
