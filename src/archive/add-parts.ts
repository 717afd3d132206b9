/** What adding is asked, what it answers, and the parts of the archive that it works on. */
import type { Finding, IdSource, PinakesError } from '../base/index.ts';
import type { Catalog } from '../catalog/index.ts';
import type { CatalogDraft } from './catalog-draft.ts';
import type { Collections } from './collections.ts';
import type { RecordAccess } from './record-access.ts';
import type { SegmentShelf } from './segment-shelf.ts';

export type AddOptions = {
  readonly collection?: string;
  readonly volume?: string;
  readonly workers?: number;
  readonly onFinding?: (finding: Finding) => void;
  readonly onProgress?: (progress: AddProgress) => void;
  readonly signal?: AbortSignal | undefined;
};

export type AddProgress = { readonly file: string; readonly bytes: number; readonly captures: number };

export type AddReport = {
  files: number;
  /** Files that had been added before and were not read again. */
  filesKnown: number;
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
};

export type AddParts = {
  readonly directory: string;
  readonly catalog: Catalog;
  readonly shelf: SegmentShelf;
  readonly access: RecordAccess;
  readonly collections: Collections;
  readonly newId: IdSource;
  readonly dedupBytesMin: number;
  readonly fingerprint: (digest: Uint8Array) => Uint8Array;
  readonly chooseVolume: (digest: Uint8Array) => Promise<string>;
  readonly exclusive: <T>(work: () => Promise<T>) => Promise<T>;
  readonly newDraft: () => CatalogDraft;
  readonly commit: (draft: CatalogDraft) => Promise<void>;
  readonly rollBack: () => Promise<void>;
};

export function emptyReport(): AddReport {
  return {
    files: 0,
    filesKnown: 0,
    failures: [],
    records: 0,
    captures: 0,
    capturesKnown: 0,
    duplicates: 0,
    duplicateBytes: 0,
    unresolved: 0,
  };
}
