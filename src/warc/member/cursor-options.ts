/** How a cursor walks a file: where its input begins, what is known of it, and how much room it may take. */
import type { Coding } from './file-coding.ts';

export type CursorOptions = {
  /** Where in the file the input begins. */
  offset?: number;
  /** The offset is anywhere in the file: begin, without complaint, with the first record after it. Needs `coding`. */
  seek?: boolean;
  /** That of the file's beginning. Told by the first bytes when not given. */
  coding?: Coding | undefined;
  /**
   * That at the offset, where it is known. A file that was joined may be in another one there than at its beginning.
   */
  offsetCoding?: Coding | undefined;
  /** The dictionary of the file's first frame, when the input begins after it. */
  dictionary?: Buffer | undefined;
  /** How much will come, where that is known: little needs little room. More may come. */
  inputBytes?: number | undefined;
  /**
   * How much of what was read stays in memory, to look for records in it after damage. Who reads a single record needs
   * nothing of it.
   */
  lookBackBytes?: number | undefined;
};
