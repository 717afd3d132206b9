/** The options of an add, its progress, and its report. */
import type { Finding, PinakesError } from '../../base/index.ts';

export type AddOptions = {
  readonly collection?: string;
  readonly volume?: string;
  readonly workers?: number;
  /** Reads files that were added before once more: what was deleted of them since comes back. */
  readonly again?: boolean;
  readonly onFinding?: (finding: Finding) => void;
  readonly onProgress?: (progress: AddProgress) => void;
  readonly signal?: AbortSignal | undefined;
};

export type AddProgress = {
  readonly file: string;
  /** Of the file, up to where it was read. */
  readonly bytes: number;
  readonly captures: number;
};

export type AddReport = {
  files: number;
  /** Files that had been added before and were not read again. */
  filesKnown: number;
  /** Files that are segments of this archive, which were passed over. */
  filesOwn: number;
  /** Captures that were deleted from the collection since the first of these was added. What was theirs is left out. */
  deletedSince: number;
  failures: PinakesError[];
  records: number;
  captures: number;
  /** Captures that the archive had already. */
  capturesKnown: number;
  /** Captures whose content the archive held, so that only a revisit was written. */
  duplicates: number;
  duplicateBytes: number;
  /** Revisits of other crawlers whose original is not in the archive (yet). */
  unresolved: number;
  /** Records that are in no index, since no date tells the time of them. */
  undated: number;
};

export function emptyReport(): AddReport {
  return {
    files: 0,
    filesKnown: 0,
    filesOwn: 0,
    deletedSince: 0,
    failures: [],
    records: 0,
    captures: 0,
    capturesKnown: 0,
    duplicates: 0,
    duplicateBytes: 0,
    unresolved: 0,
    undated: 0,
  };
}
