/** What a revisit says of the record it leans on, as the fields of a revisit have it. */
import { standardDate } from '../../base/index.ts';

export type Referent = {
  readonly refersTo: string | undefined;
  readonly refersToTargetUri: string | undefined;
  readonly refersToDate: string | undefined;
  /** What it says of its payload, in its own words: other tools look an original up by these. */
  readonly payloadDigest?: string | undefined;
  /** The content that it holds. */
  readonly content?: string;
};

/** A record as it names itself; what is empty it does not say. */
type Named = {
  readonly recordId?: string | undefined;
  readonly targetUri?: string | undefined;
  readonly date?: string | undefined;
};

/** A date that the standard forbids is said as it has to be. */
export function referentOf({ recordId, targetUri, date }: Named): Referent {
  return {
    refersTo: recordId || undefined,
    refersToTargetUri: targetUri || undefined,
    refersToDate: (date && standardDate(date)) || undefined,
  };
}
