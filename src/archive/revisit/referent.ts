/** The record that a revisit refers to, in the fields of the revisit. */
import { standardDate } from '../../base/index.ts';

export type Referent = {
  readonly refersTo: string | undefined;
  readonly refersToTargetUri: string | undefined;
  readonly refersToDate: string | undefined;
  /** The payload digest as that record writes it. Other tools look an original up by this text. */
  readonly payloadDigest?: string | undefined;
  /** The content that the record holds. */
  readonly content?: string;
};

/** The names of a record. Empty ones are left out. */
type Named = {
  readonly recordId?: string | undefined;
  readonly targetUri?: string | undefined;
  readonly date?: string | undefined;
};

/** A date that the standard does not allow is written in the form of the standard. */
export function referentOf({ recordId, targetUri, date }: Named): Referent {
  return {
    refersTo: recordId || undefined,
    refersToTargetUri: targetUri || undefined,
    refersToDate: (date && standardDate(date)) || undefined,
  };
}
