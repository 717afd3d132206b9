/**
 * catalog: captures, blocks and segments by key. Derived from the segments and made again from them; knows nothing of files of the archive, of
 * volumes or of WARC.
 */
export { ALIAS_CANDIDATES_MAX } from './alias-key.ts';
export type {
  Alias,
  Block,
  BlockKey,
  Capture,
  CaptureKind,
  CaptureRange,
  Catalog,
  CatalogBatch,
  CatalogView,
  Place,
  Segment,
  SegmentState,
  Totals,
} from './catalog.ts';
export { openLevelCatalog, removeLevelCatalog } from './level-catalog.ts';
export { MemoryCatalog } from './memory-catalog.ts';
