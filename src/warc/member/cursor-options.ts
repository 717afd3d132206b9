/** How a cursor reads a file: where its input begins, what is known about it, and how much memory it may use. */
import type { Coding } from './file-coding.ts';

export type CursorOptions = {
  /** Offset in the file of the first byte of input. */
  offset?: number;
  /**
   * Whether the offset can be anywhere in the file. Reading then begins with the first record after it, and nothing
   * before that record is reported. Needs `coding`.
   */
  seek?: boolean;
  /** The coding of the file's beginning. Detected from the first bytes when it is not given. */
  coding?: Coding | undefined;
  /** The coding at the offset, if known. In a joined file it can differ from the coding at the beginning. */
  offsetCoding?: Coding | undefined;
  /** The dictionary of the file's first frame, when the input begins after it. */
  dictionary?: Buffer | undefined;
  /** The expected number of input bytes, if known: short input needs small buffers. The input may be longer. */
  inputBytes?: number | undefined;
  /**
   * How many of the bytes already read stay in memory, to be searched for records after damage. A reader of a single
   * record needs none.
   */
  lookBackBytes?: number | undefined;
};
