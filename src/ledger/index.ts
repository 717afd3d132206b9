/**
 * ledger: where it is decided whether a content is held, and where everything that changes an archive is committed.
 * Joins warc, volume and catalog. Knows nothing of connectors, files of users, exports or the command line.
 */

export { AppendingStore } from './appending-store.ts';
export { type AskAgain, askAgain, isRetryable } from './ask-again.ts';
export * from './commit/commit.ts';
export * from './commit/decide.ts';
export * from './counters.ts';
export * from './delete.ts';
export * from './deletion-record.ts';
export { droppedSegments } from './dropped-segments.ts';
export * from './lease.ts';
export * from './mark.ts';
export * from './open-segment.ts';
export * from './own-records.ts';
export * from './part-name.ts';
export { PartStore, type PartStoreOptions } from './part-store.ts';
export * from './record-facts.ts';
export * from './recovery/adopt.ts';
export { type AdoptingOptions, adoptContents, type BesideRecords } from './recovery/adopt-records.ts';
export * from './recovery/begin-incarnation.ts';
export * from './recovery/collect.ts';
export * from './recovery/heal.ts';
export * from './recovery/heal-plan.ts';
export { incarnationOf } from './recovery/incarnation.ts';
export * from './recovery/incarnation-list.ts';
export * from './recovery/rebuild.ts';
export * from './recovery/sweep.ts';
export * from './reference-choice.ts';
export * from './replaced-notes.ts';
export * from './replacement/relocation.ts';
export * from './replacement/replacement-writer.ts';
export * from './replacement/root-places.ts';
export * from './replacement/swap.ts';
export * from './replacement/swap-moves.ts';
export * from './runs.ts';
export * from './seal.ts';
export * from './segment-name.ts';
export { isMissing, SegmentReader } from './segment-reader.ts';
export * from './segment-records.ts';
export * from './segment-store.ts';
export * from './segment-writer.ts';
export * from './snapshot-bounds.ts';
export * from './takedown.ts';
export * from './warcinfo-fields.ts';
