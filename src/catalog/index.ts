/**
 * catalog: captures, blocks and segments by key. Derived from the segments, and can be made again from them. Knows
 * nothing of the archive's files, of volumes or of WARC.
 */
export { compareBlockKeys } from './block-order.ts';
export {
  ADOPTION_LEASE,
  type Alias,
  type Bar,
  type Block,
  type BlockKey,
  behindKey,
  type Capture,
  type CaptureKind,
  type CapturePosition,
  type CaptureQuestion,
  type CaptureRange,
  type Catalog,
  type CatalogView,
  type CommitGroup,
  type CommitOutcome,
  type DeadRecord,
  FEW_CAPTURES,
  type FileDamage,
  firstSequenceOf,
  LAST_PLACE,
  type Lease,
  type LeaseRow,
  type Mark,
  type NewBlock,
  type NewCapture,
  type NewSegment,
  type Place,
  REFERENCES_COUNTED,
  type RootSegment,
  rangeOfKey,
  type Segment,
  type SegmentChange,
  type SegmentPart,
  type SurplusRecord,
  type Totals,
} from './catalog.ts';
export type {
  CatalogContents,
  CatalogNumbers,
  CopiedTable,
  CopyableCatalog,
  FillOptions,
} from './catalog-contents.ts';
export { type CatalogSum, type CopyOptions, copyCatalog, sumOf, type TableSum } from './catalog-copy.ts';
export {
  type LevelCatalog,
  type LevelCatalogOptions,
  openLevelCatalog,
  removeLevelCatalog,
} from './level/level-catalog.ts';
export { isLevelCatalog } from './level/level-database.ts';
export { checkDatabaseFiles } from './level/level-files.ts';
export { LevelUpgrade, type LevelUpgradeOptions, UPGRADED_NOTE } from './level/level-upgrade.ts';
export { MemoryCatalog, type SavedCatalog } from './memory-catalog.ts';
export { openPostgresCatalog } from './postgres/postgres-catalog.ts';
