/**
 * A finding: something wrong or odd in the input, told with its place (I10). Findings are data handed to the caller;
 * they never stop a file. `error` means that bytes are damaged or a claim about them is false, `warning` that a rule of
 * the standard is broken without loss, `note` that something uncommon was met and understood.
 */

export type FindingLevel = 'error' | 'warning' | 'note';

export type Finding = {
  readonly code: string;
  readonly level: FindingLevel;
  readonly file: string;
  /** Offset in the file of the record or bytes concerned. */
  readonly offset: number;
  readonly message: string;
};
