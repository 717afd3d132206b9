/**
 * Where the records of a segment are in its replacement, so that a cursor into the old segment continues in the new one
 * (I8).
 *
 * The replacement has the records of the old segment in the same order, without those that were removed. Runs that were
 * copied together moved together:
 *
 * ```
 *   runs        [old offset, new offset, length] of each run, in order; a record that was written anew is a run
 *   stored as   base64url of deflated text: old gap, new gap, length of each run in base 36, joined by blanks
 * ```
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { assert, fromLatin1, utf8 } from '../../base/index.ts';

type Run = { readonly from: number; readonly to: number; length: number };

/**
 * The new place of a record. `isSame`: it is that record; otherwise the record was removed, and the next kept record
 * begins here.
 */
export type Moved = { readonly offset: number; readonly isSame: boolean };

export class SegmentMoves {
  readonly #runs: Run[] = [];

  /** The records at `from` with this total length are now at `to`. Called in order. */
  add(from: number, to: number, length: number): void {
    const last = this.#runs.at(-1);
    assert(!last || last.from + last.length <= from, 'runs of records move in order');
    if (last && last.from + last.length === from && last.to + last.length === to) last.length += length;
    else this.#runs.push({ from, to, length });
  }

  /** The new place of the record at an offset. Undefined when no record from there on was kept. */
  find(offset: number): Moved | undefined {
    let low = 0;
    let high = this.#runs.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const run = this.#runs[middle]!;
      if (run.from + run.length <= offset) low = middle + 1;
      else high = middle;
    }
    const run = this.#runs[low];
    if (!run) return undefined;
    return offset < run.from ? { offset: run.to, isSame: false } : { offset: run.to + offset - run.from, isSame: true };
  }

  toString(): string {
    let from = 0;
    let to = 0;
    const numbers: string[] = [];
    for (const run of this.#runs) {
      numbers.push((run.from - from).toString(36), (run.to - to).toString(36), run.length.toString(36));
      from = run.from;
      to = run.to;
    }
    return Buffer.from(deflateRawSync(utf8(numbers.join(' ')))).toString('base64url');
  }

  static parse(text: string): SegmentMoves {
    const moves = new SegmentMoves();
    const plain = fromLatin1(inflateRawSync(Buffer.from(text, 'base64url')));
    const numbers = plain === '' ? [] : plain.split(' ').map((number) => Number.parseInt(number, 36));
    let from = 0;
    let to = 0;
    for (let at = 0; at + 2 < numbers.length; at += 3) {
      from += numbers[at]!;
      to += numbers[at + 1]!;
      moves.#runs.push({ from, to, length: numbers[at + 2]! });
    }
    return moves;
  }
}
