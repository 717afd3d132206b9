/** The options of an add, its progress, and its report. */
import type { Finding, PinakesError } from '../../base/index.ts';
import type { RemoteOptions } from '../../volume/index.ts';

export type AddOptions = {
  readonly collection?: string;
  readonly volume?: string;
  readonly workers?: number;
  /** Of files on other servers that are added in place. */
  readonly remote?: RemoteOptions;
  /**
   * Reads files again that were added before, and takes in captures that were deleted, as captures with other ids. A
   * file that is used in place cannot be changed, so its deleted captures stay out.
   */
  readonly again?: boolean;
  /** Whether a content with this digest may become a revisit. Without it, every one may. */
  readonly shares?: ((digest: Uint8Array) => boolean) | undefined;
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

const NO_COUNTS = {
  files: 0,
  /** Files that were added before and not read again. */
  filesKnown: 0,
  /** Files that are segments of this archive and were skipped. */
  filesOwn: 0,
  /**
   * Captures that were deleted from the collection after the first of the known files was added. Known files do not
   * bring these captures back.
   */
  deletedSince: 0,
  records: 0,
  captures: 0,
  /** Captures that the archive already had. */
  capturesKnown: 0,
  /** Captures that were left out because they were deleted from the archive. */
  capturesDeleted: 0,
  /** Captures that were left out because a takedown bars their content or address. */
  capturesBarred: 0,
  /** Captures for which only a revisit was written, since the archive had their content. */
  duplicates: 0,
  duplicateBytes: 0,
  /** Revisits of other crawlers whose original is not (yet) in the archive. */
  unresolved: 0,
  /** Records that are not in the index because no date gives their time. */
  undated: 0,
};

export type AddReport = typeof NO_COUNTS & { failures: PinakesError[] };

export function emptyReport(): AddReport {
  return { ...NO_COUNTS, failures: [] };
}
