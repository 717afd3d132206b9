/** The parts of an opened archive, as its works (healing, deleting, compacting...) get them. */
import type { Clock, Finding, IdSource } from '../base/index.ts';
import type { Catalog } from '../catalog/index.ts';
import type { Collections } from './collections.ts';
import type { RecordAccess } from './read/record-access.ts';
import type { CatalogDraft } from './revisit/catalog-draft.ts';
import type { ResolutionFilter } from './revisit/resolution-filter.ts';
import type { SegmentRegistry } from './segment/segment-registry.ts';
import type { Tombstones } from './segment/tombstones.ts';
import type { VolumeSet } from './segment/volume-set.ts';
import type { NamedSnapshots } from './stream/named-snapshots.ts';

export interface ArchiveParts {
  readonly catalog: Catalog;
  readonly volumes: VolumeSet;
  readonly segmentRegistry: SegmentRegistry;
  readonly access: RecordAccess;
  readonly collections: Collections;
  readonly tombstones: Tombstones;
  readonly snapshots: NamedSnapshots;
  readonly clock: Clock;
  readonly newId: IdSource;
  /** Turns a digest into the fingerprint that identifies contents: the digest itself, but in tests of collisions. */
  fingerprint(digest: Uint8Array): Uint8Array;
  report(finding: Finding): void;
  /** Runs one change of the archive at a time. */
  exclusive<T>(work: () => Promise<T>): Promise<T>;
  /** Gives up the room that the archive keeps for itself until it is closed, and says whether there was any. */
  giveUpReserve(): Promise<boolean>;
  readonly resolutionFilter: ResolutionFilter;
  newDraft(): CatalogDraft;
  /** Makes what was appended durable, then lets the catalog take the draft (I1, I2). */
  commit(draft: CatalogDraft): Promise<void>;
}
