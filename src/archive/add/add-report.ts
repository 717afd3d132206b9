/** The options of an add, its progress, and its report. */
import type { Finding, PinakesError } from '../../base/index.ts';

export type AddOptions = {
  readonly collection?: string;
  readonly volume?: string;
  readonly workers?: number;
  /** Reads files again that were added before. This brings back captures that were deleted after that add. */
  readonly again?: boolean;
  readonly onFinding?: (finding: Finding) => void;
  readonly onProgress?: (progress: AddProgress) => void;
  readonly signal?: AbortSignal | undefined;
};

export type AddProgress = {
  readonly file: string;
  /** Bytes of the file that were read. */
  readonly bytes: number;
  readonly captures: number;
};

export type AddReport = {
  files: number;
  /** Files that were added before and not read again. */
  filesKnown: number;
  /** Files that are segments of this archive and were skipped. */
  filesOwn: number;
  /**
   * Captures that were deleted from the collection after the first of the known files was added. Known files do not
   * bring these captures back.
   */
  deletedSince: number;
  failures: PinakesError[];
  records: number;
  captures: number;
  /** Captures that the archive already had. */
  capturesKnown: number;
  /** Captures for which only a revisit was written, since the archive had their content. */
  duplicates: number;
  duplicateBytes: number;
  /** Revisits of other crawlers whose original is not (yet) in the archive. */
  unresolved: number;
  /** Records that are not in the index because no date gives their time. */
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
