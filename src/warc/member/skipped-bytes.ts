/**
 * The bytes of a compressed file that are passed over while its next member is looked for, and what is told of them:
 * those that no member covered, for a damaged member was told of already. Nothing but NULs is padding, as a disk that
 * was not written to leaves it.
 */

import { countedBytes } from '../record/finding-catalogue.ts';
import type { ByteWindow } from './byte-window.ts';
import type { FindingSink } from './member-source.ts';

export class SkippedBytes {
  readonly #input: ByteWindow;
  readonly #report: FindingSink;
  /** File position from which on they are told of. */
  #from: number;
  #areNul = false;

  constructor(input: ByteWindow, report: FindingSink, from: number) {
    this.#input = input;
    this.#report = report;
    this.#from = from;
  }

  /** Begins at `from`; bytes before `toldTo` were told of already. */
  begin(from: number, toldTo: number): void {
    this.#from = toldTo;
    this.#areNul = from === toldTo;
    this.#input.seek(from);
  }

  skip(bytes: number): void {
    const input = this.#input;
    for (let i = 0; i < bytes && this.#areNul; i++) if (input.buffer[input.read + i] !== 0) this.#areNul = false;
    input.consume(bytes);
    input.retainFrom(input.position, 0);
  }

  /** The next member, or the end of the file, has been reached. */
  tell(): void {
    const skipped = this.#input.position - this.#from;
    if (skipped > 0)
      this.#report(this.#areNul ? 'padding-skipped' : 'garbage-skipped', this.#from, countedBytes(skipped));
  }
}
