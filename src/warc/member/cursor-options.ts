/** How a cursor reads a file: where its input begins, what is known about it, and how much memory it may use. */
import type { Coding } from './file-coding.ts';

export type CursorOptions = {
  /** Offset in the file of the first byte of input. */
  offset?: number;
  /**
   * The offset is anywhere in the file: begin with the first record after it, and report nothing before that. Needs
   * `coding`.
   */
  seek?: boolean;
  /** The coding of the file's beginning. Detected from the first bytes when it is not given. */
  coding?: Coding | undefined;
  /**
   * The coding at the offset, where it is known. A file that was joined can have another coding there than at its
   * beginning.
   */
  offsetCoding?: Coding | undefined;
  /** The dictionary of the file's first frame, when the input begins after it. */
  dictionary?: Buffer | undefined;
  /** How many bytes of input there are, where that is known: short input needs small buffers. There may be more. */
  inputBytes?: number | undefined;
  /**
   * How many bytes that were read stay in memory, to be searched for records after damage. A reader of a single record
   * needs none of them.
   */
  lookBackBytes?: number | undefined;
};
