/** What everything that writes records into the archive needs: storing and adding. */
import type { IdSource } from '../base/index.ts';
import type { Collections } from './collections.ts';
import type { RecordAccess } from './read/record-access.ts';
import type { CatalogDraft } from './revisit/catalog-draft.ts';
import type { SegmentRegistry } from './segment/segment-registry.ts';
import type { VolumeChoice } from './segment/volume-choice.ts';

export type WritingParts = {
  /** Where large blocks may be spooled. */
  readonly directory: string;
  readonly segmentRegistry: SegmentRegistry;
  readonly access: RecordAccess;
  readonly collections: Collections;
  readonly newId: IdSource;
  /** 0: the size of the revisit decides alone. */
  readonly dedupBytesMin: number;
  /** Turns a digest into the fingerprint that identifies contents: the digest itself, but in tests of collisions. */
  readonly fingerprint: (digest: Uint8Array) => Uint8Array;
  readonly volumeChoice: () => Promise<VolumeChoice>;
  /** Runs one change of the archive at a time. */
  readonly exclusive: <T>(work: () => Promise<T>) => Promise<T>;
  readonly newDraft: () => CatalogDraft;
  readonly commit: (draft: CatalogDraft) => Promise<void>;
  readonly rollBack: () => Promise<void>;
};
