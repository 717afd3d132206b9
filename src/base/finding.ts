/**
 * A finding: something wrong or odd in the input, with its place (I10). Findings are data passed to the caller; they
 * never stop a file. `error` means that bytes are damaged or a claim about them is false. `warning` means that a rule
 * of the standard is broken without loss. `note` means that something uncommon was found and understood.
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
