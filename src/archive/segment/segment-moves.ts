/**
 * Where the records of a segment went when compaction wrote it anew, so that a cursor into the old segment goes on in
 * the new one (I8).
 *
 * The new segment holds the records of the old one in the same order, without those that left. Runs that were copied
 * together moved together:
 *
 * ```
 *   runs        [old offset, new offset, length] of each run, in order; a record that was written anew is a run of its own
 *   stored as   base64url of deflated text: old gap, new gap, length of each run in base 36, joined by blanks
 * ```
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { assert, fromLatin1, utf8 } from '../../base/index.ts';

type Run = { readonly from: number; readonly to: number; length: number };

/**
 * Where a record stands now. `isSame`: it is that record; otherwise it left, and this is where the next one that stayed
 * begins.
 */
export type Moved = { readonly offset: number; readonly isSame: boolean };

export class SegmentMoves {
  readonly #runs: Run[] = [];

  /** Records that stood at `from` and take `length` bytes there now stand at `to`. Runs are told in order. */
  add(from: number, to: number, length: number): void {
    const last = this.#runs.at(-1);
    assert(!last || last.from + last.length <= from, 'runs of records move in order');
    if (last && last.from + last.length === from && last.to + last.length === to) last.length += length;
    else this.#runs.push({ from, to, length });
  }

  /** Where what stood at an offset stands now; undefined when nothing from there on stayed. */
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
