/**
 * Runs: where the records of a replacement were first written to (K1). The root place of a record is the segment and
 * offset it was first written to. Records that were copied together are one run, and a record that was written anew is
 * a run of 1 byte. Runs of a replaced replacement are composed, so they always name roots.
 *
 * ```
 *   record   metadata, WARC-Target-URI urn:pinakes:runs, the last one of a replacement, a line for each run:
 *            {"version":1,"roots":[["<name of a root segment>",<sequence>],...],"runs":[
 *            [<index of the root>,<root offset>,<offset>,<bytes>],
 *            ...]}
 *   note     runs:<name of the replacement>   base64url of deflated text: version, number of roots, the roots, and
 *            for each run the index of its root, and root offset, offset and bytes in base 36, each as the difference
 *            to the end of the last run; joined by blanks
 * ```
 * A segment that replaces several has their records one after another. So runs are in the order of their offsets, and
 * at the same time in the order of their roots and of their offsets in these.
 *
 * A run takes 32 bytes in memory, and a segment has fewer runs than records.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { assert, fromLatin1, fromUtf8, utf8 } from '../base/index.ts';
import type { RootSegment } from '../catalog/index.ts';
import { isObjectName } from '../volume/index.ts';
import type { NewRecord, RecordHead } from '../warc/index.ts';
import type { RootPlace } from './snapshot-bounds.ts';

export const RUNS_URI = 'urn:pinakes:runs';
export const RUNS_NOTE = 'runs:';
/** A larger block of runs is not read: it would have more runs than any segment has records. */
export const RUNS_BYTES_MAX = 256 * 1024 * 1024;

/** Where a record is now. `isSame`: it is that record; otherwise it was removed, and this is the next that was kept. */
export type CurrentOffset = { readonly offset: number; readonly isSame: boolean };

/** Where the records of one root begin in a segment, and where those of the next root do. */
export type RootSection = { readonly offset: number; readonly next: number | undefined };

/** Numbers of one run: index of the root, root offset, offset, bytes. */
const COLUMNS = 4;
const VERSION = 1;

/** The record of runs that a replacement ends with has this head. */
export function isRunsRecord(head: Pick<RecordHead, 'type' | 'targetUri'>): boolean {
  return head.type === 'metadata' && head.targetUri === RUNS_URI;
}

export function runsRecord(runs: Runs, recordId: string, date: string): { record: NewRecord; block: Uint8Array } {
  const record = { type: 'metadata', recordId, date, targetUri: RUNS_URI, contentType: 'application/json' } as const;
  return { record, block: runs.format() };
}

export class Runs {
  readonly #roots: RootSegment[] = [];
  #numbers = new Float64Array(COLUMNS * 16);
  #count = 0;

  /** The segments that the records were first written to. */
  get roots(): readonly RootSegment[] {
    return this.#roots;
  }

  get length(): number {
    return this.#count;
  }

  /** The runs of a segment that replaces no other: each record is where it was first written to. */
  static ofRoot(root: RootSegment, bytes: number): Runs {
    const runs = new Runs();
    if (bytes > 0) runs.#put(root, 0, 0, bytes);
    return runs;
  }

  /**
   * A record of the replaced segment, whose runs are `before`, is at `offset` now. Called in the order of offsets, for
   * all records of one replaced segment after another. False: the record has no root, as the runs record itself.
   */
  add(before: Runs, record: { from: number; offset: number; bytes: number; isAnew: boolean }): boolean {
    const index = before.#runAt(record.from);
    if (index < 0) return false;
    const [root, rootOffset, offset, bytes] = before.#run(index);
    // Of a record that was written anew before, only the first byte is in a run.
    const isAnew = record.isAnew || record.from + record.bytes > offset + bytes;
    this.#put(before.#roots[root]!, rootOffset + record.from - offset, record.offset, isAnew ? 1 : record.bytes);
    return true;
  }

  /** The root place of the record that is at `offset` now. */
  rootOf(offset: number): RootPlace | undefined {
    const index = this.#runAt(offset);
    if (index < 0) return undefined;
    const [root, rootOffset, begin] = this.#run(index);
    const { name, sequence } = this.#roots[root]!;
    return { root: name, sequence, offset: rootOffset + offset - begin };
  }

  /** Where the record is that was first written to this place. Undefined: neither it nor a later one of its root is. */
  currentOf(root: string, rootOffset: number): CurrentOffset | undefined {
    const wanted = this.#roots.findIndex(({ name }) => name === root);
    if (wanted < 0) return undefined;
    const index = this.#firstAfter((run) => {
      const begin = this.#numbers[run * COLUMNS + 1]!;
      const atRoot = this.#numbers[run * COLUMNS]!;
      return atRoot > wanted || (atRoot === wanted && begin + this.#numbers[run * COLUMNS + 3]! > rootOffset);
    });
    if (index === this.#count) return undefined;
    const [found, begin, offset] = this.#run(index);
    if (found !== wanted) return undefined;
    return rootOffset < begin ? { offset, isSame: false } : { offset: offset + rootOffset - begin, isSame: true };
  }

  /** Where the records of a root are in this segment. Undefined: it has none of them. */
  sectionOf(root: string): RootSection | undefined {
    const wanted = this.#roots.findIndex(({ name }) => name === root);
    if (wanted < 0) return undefined;
    const begin = this.#firstAfter((run) => this.#numbers[run * COLUMNS]! >= wanted);
    const behind = this.#firstAfter((run) => this.#numbers[run * COLUMNS]! > wanted);
    return { offset: this.#run(begin)[2], next: behind < this.#count ? this.#run(behind)[2] : undefined };
  }

  *[Symbol.iterator](): Generator<{ root: RootSegment; rootOffset: number; offset: number; bytes: number }> {
    for (let index = 0; index < this.#count; index++) {
      const [root, rootOffset, offset, bytes] = this.#run(index);
      yield { root: this.#roots[root]!, rootOffset, offset, bytes };
    }
  }

  format(): Uint8Array {
    const roots = JSON.stringify(this.#roots.map(({ name, sequence }) => [name, sequence]));
    const pieces = [utf8(`{"version":${VERSION},"roots":${roots},"runs":[`)];
    const separator = utf8(',\n');
    for (let index = 0; index < this.#count; index++)
      pieces.push(index === 0 ? utf8('\n') : separator, utf8(`[${this.#run(index).join(',')}]`));
    pieces.push(utf8(']}\n'));
    return Buffer.concat(pieces);
  }

  /** The runs of the block of a runs record. Undefined: it is damaged. */
  static parse(block: Uint8Array): Runs | undefined {
    const text = fromUtf8(block);
    const end = text.indexOf('"runs":[');
    if (end < 0 || !/^\]\}\s*$/.test(text.slice(text.lastIndexOf(']}')))) return undefined;
    const head = jsonOf(`${text.slice(0, end)}"runs":[]}`);
    if (!isHead(head)) return undefined;
    const runs = new Runs();
    const roots = head.roots.map(([name, sequence]) => ({ name, sequence }));
    if (new Set(roots.map(({ name }) => name)).size < roots.length) return undefined;
    let at = end + '"runs":['.length;
    for (const stop = text.lastIndexOf(']}'); at < stop; ) {
      const comma = text.indexOf('],', at);
      const next = comma < 0 || comma >= stop ? stop : comma + 1;
      const numbers = jsonOf(text.slice(at, next));
      if (!isRun(numbers) || !runs.#putChecked(roots, numbers)) return undefined;
      at = next === stop ? stop : next + 1;
    }
    return runs.#roots.length === roots.length ? runs : undefined;
  }

  toNote(): string {
    let rootOffset = 0;
    let offset = 0;
    let last = -1;
    const words = [String(VERSION), String(this.#roots.length)];
    for (const { name, sequence } of this.#roots) words.push(name, String(sequence));
    for (let index = 0; index < this.#count; index++) {
      const [root, begin, at, bytes] = this.#run(index);
      if (root !== last) rootOffset = 0;
      words.push(...[root, begin - rootOffset, at - offset, bytes].map((number) => number.toString(36)));
      rootOffset = begin + bytes;
      offset = at + bytes;
      last = root;
    }
    return Buffer.from(deflateRawSync(utf8(words.join(' ')))).toString('base64url');
  }

  /** The runs of a note. Undefined: it is damaged. */
  static parseNote(note: string): Runs | undefined {
    const words = inflated(note)?.split(' ') ?? [];
    const count = Number(words[1]);
    if (words[0] !== String(VERSION) || !isCount(count) || (words.length - 2 - 2 * count) % COLUMNS !== 0)
      return undefined;
    const roots = Array.from({ length: count }, (_, index) => ({
      name: words[2 + 2 * index]!,
      sequence: Number(words[3 + 2 * index]),
    }));
    const runs = new Runs();
    let rootOffset = 0;
    let offset = 0;
    let last = -1;
    for (let at = 2 + 2 * count; at < words.length; at += COLUMNS) {
      const [root, beginGap, gap, bytes] = words.slice(at, at + COLUMNS).map((word) => Number.parseInt(word, 36));
      if (root !== last) rootOffset = 0;
      const numbers = [root!, rootOffset + beginGap!, offset + gap!, bytes!];
      if (!isRun(numbers) || !runs.#putChecked(roots, numbers)) return undefined;
      rootOffset = numbers[1]! + bytes!;
      offset = numbers[2]! + bytes!;
      last = root!;
    }
    return runs.#roots.length === roots.length ? runs : undefined;
  }

  /** Whether the run was put: its root is there, and it is after the last one. */
  #putChecked(roots: readonly RootSegment[], [root, rootOffset, offset, bytes]: Run): boolean {
    const known = this.#roots.length;
    const isNew = root === known;
    if (root > known || (!isNew && root !== known - 1) || root >= roots.length) return false;
    if (this.#count > 0) {
      const [, lastBegin, lastOffset, lastBytes] = this.#run(this.#count - 1);
      if (offset < lastOffset + lastBytes || (!isNew && rootOffset < lastBegin + lastBytes)) return false;
    }
    if (isNew) this.#roots.push(roots[root]!);
    this.#append(root, rootOffset, offset, bytes);
    return true;
  }

  #put(root: RootSegment, rootOffset: number, offset: number, bytes: number): void {
    const last = this.#roots.length - 1;
    const isSameRoot = this.#roots[last]?.name === root.name;
    assert(isSameRoot || !this.#roots.some(({ name }) => name === root.name), 'the records of a root are together');
    if (!isSameRoot) this.#roots.push(root);
    if (this.#count > 0) {
      const [, lastBegin, lastOffset, lastBytes] = this.#run(this.#count - 1);
      assert(lastOffset + lastBytes <= offset, 'records are added in order');
      assert(!isSameRoot || lastBegin + lastBytes <= rootOffset, 'records of a root keep their order');
      if (isSameRoot && lastBegin + lastBytes === rootOffset && lastOffset + lastBytes === offset) {
        this.#numbers[this.#count * COLUMNS - 1]! += bytes;
        return;
      }
    }
    this.#append(this.#roots.length - 1, rootOffset, offset, bytes);
  }

  #append(...numbers: Run): void {
    const at = this.#count * COLUMNS;
    if (at === this.#numbers.length) {
      const larger = new Float64Array(2 * this.#numbers.length);
      larger.set(this.#numbers);
      this.#numbers = larger;
    }
    this.#numbers.set(numbers, at);
    this.#count++;
  }

  /** The index of the run in which a record begins at this offset, or -1. */
  #runAt(offset: number): number {
    const index = this.#firstAfter((run) => this.#numbers[run * COLUMNS + 2]! > offset) - 1;
    if (index < 0) return -1;
    const [, , begin, bytes] = this.#run(index);
    return offset < begin + bytes ? index : -1;
  }

  /** The first run for which the test holds, or the number of runs. It holds for all runs after that one. */
  #firstAfter(test: (run: number) => boolean): number {
    let low = 0;
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (test(middle)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #run(index: number): Run {
    const at = index * COLUMNS;
    const numbers = this.#numbers;
    return [numbers[at]!, numbers[at + 1]!, numbers[at + 2]!, numbers[at + 3]!];
  }
}

type Run = [root: number, rootOffset: number, offset: number, bytes: number];

type RunsHead = { readonly roots: readonly (readonly [string, number])[] };

function isHead(value: unknown): value is RunsHead {
  if (typeof value !== 'object' || value === null || Object.keys(value).length !== 3) return false;
  const { version, roots } = value as Record<string, unknown>;
  return version === VERSION && Array.isArray(roots) && roots.every(isRoot);
}

function isRoot(value: unknown): boolean {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [name, sequence] = value as unknown[];
  return typeof name === 'string' && isObjectName(name) && isCount(sequence);
}

function isRun(value: unknown): value is Run {
  return Array.isArray(value) && value.length === COLUMNS && value.every(isCount) && value[COLUMNS - 1]! > 0;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function inflated(note: string): string | undefined {
  try {
    return fromLatin1(inflateRawSync(Buffer.from(note, 'base64url')));
  } catch {
    return undefined;
  }
}
