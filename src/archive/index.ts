/** archive: store, retrieve, delete, add, export, stream, verify, compact, rebuild. Joins warc, volume and catalog. */

export { type Capture, rangeOfKey } from '../catalog/index.ts';
export type { AddOptions, AddProgress, AddReport } from './add.ts';
export {
  Archive,
  type ArchiveOptions,
  createArchive,
  type InitOptions,
  openArchive,
} from './archive.ts';
export { captureId } from './capture-id.ts';
export { dropCatalog, isCatalogSound } from './catalog-soundness.ts';
export type { CompactOptions, CompactReport, StayingSegments } from './compact.ts';
export { type Policies, readConnector } from './connector.ts';
export { type ContentKey, formatContentKey, parseContentKey } from './content-key.ts';
export { type Damage, type DamageGoal, formatDamage, formatOutputDamage, type OutputDamage } from './damage.ts';
export type { DeleteOptions, DeletePreview, DeleteReport } from './delete.ts';
export type { CdxjExportOptions } from './export-cdxj.ts';
export type { ParquetExportOptions, ParquetExportReport } from './export-parquet.ts';
export type { WaczExportReport } from './export-wacz.ts';
export type { WarcExportOptions, WarcExportReport } from './export-warc.ts';
export type { MigrateOptions, MigrateReport } from './migrate.ts';
export { type NamedSnapshot, NamedSnapshots } from './named-snapshots.ts';
export { type AnnouncedServer, ownerOf } from './owner.ts';
export { writeParquet } from './parquet.ts';
export type { RecompressReport } from './recompress.ts';
export { releasePayload } from './record-access.ts';
export {
  isRedirection,
  lacksAnswer,
  type Retrieved,
  type RetrievedContent,
  type RetrieveOptions,
  soundPayload,
  VISIT_MS,
} from './retrieve.ts';
export { keyRanges, type Selection, selectCaptures } from './selection.ts';
export { SharedStream } from './shared-stream.ts';
export type { ArchiveStats, CollectionStats, StatsOptions } from './stats.ts';
export type { Stored, StoreInput, StoreMode, StoreOptions } from './store.ts';
export { RecordStream, type StreamOrder, type StreamQuery } from './stream.ts';
export { type LineExtension, type StreamPiece, streamJson, streamWarc } from './stream-output.ts';
export type { Parcel } from './stream-parcel.ts';
export { type StreamFormat, StreamSharing } from './stream-share.ts';
export { StreamedRecord } from './streamed-record.ts';
export type { KeptRanking, UrlRanking } from './url-ranking.ts';
export type { VerifyOptions, VerifyReport } from './verify.ts';
export { PROBLEM_CATALOGUE, type Problem, type ProblemCode, type ProblemLevel, problemOf } from './verify-problem.ts';
export type { NewVolume, VolumeStatus } from './volume-admin.ts';
export { VolumeSet } from './volume-set.ts';
