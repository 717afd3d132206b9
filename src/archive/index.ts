/** archive: store, retrieve, delete, add, export, stream, verify, compact, rebuild. Joins warc, volume and catalog. */

export { type Capture, type CaptureRange, rangeOfKey } from '../catalog/index.ts';
export {
  LEDGER_EVENTS,
  type LedgerCounts,
  type LedgerEventKind,
  recordHash,
  type StoreMode,
  sequenceOf,
} from '../ledger/index.ts';
export type { AddOptions, AddProgress, AddReport } from './add/add-report.ts';
export { type RemoteInput, type RemoteInputOptions, type RemoteInputs, remoteInputs } from './add/remote-input.ts';
export type { Archive } from './archive.ts';
export type { RebalanceMove, RebalanceOptions, RebalanceReport } from './balance/rebalance-report.ts';
export type { RecordRestoreOptions, RecordRestoreReport } from './balance/restore.ts';
export { captureId } from './capture-id.ts';
export { withDatabase } from './cluster/with-database.ts';
export { ARCHIVE_VERSION, type Policies, readConnector } from './connector.ts';
export { type ContentKey, formatContentKey, parseContentKey } from './content-key.ts';
export { createArchive, type InitOptions } from './create-archive.ts';
export { type Damage, type DamageGoal, formatDamage, formatOutputDamage, type OutputDamage } from './damage.ts';
export type { CdxjExportOptions } from './export/export-cdxj.ts';
export type { ParquetExportOptions, ParquetExportReport } from './export/export-parquet.ts';
export type { WaczExportReport } from './export/export-wacz.ts';
export type { WarcExportOptions, WarcExportReport } from './export/export-warc.ts';
export { writeParquet } from './export/parquet.ts';
export type { HeldContents, NotedCapture, ReadableCollections } from './held-contents.ts';
export { dropCatalog, isCatalogSound } from './maintain/catalog-soundness.ts';
export type { CompactOptions, CompactReport } from './maintain/compact.ts';
export type { CopiesOptions, CopiesReport } from './maintain/copies.ts';
export type { DeleteOptions, DeletePreview, DeleteReport } from './maintain/delete.ts';
export {
  type CatalogState,
  type Examination,
  examineClosed,
  type OpenSegmentState,
  type PendingRemoval,
  type VolumeRoom,
} from './maintain/doctor.ts';
export { type Advice, adviceOn } from './maintain/doctor-advice.ts';
export type { MigrateOptions, MigrateReport } from './maintain/migrate.ts';
export type { NodeState, NodeStatus } from './maintain/node-status.ts';
export type { SilentPart } from './maintain/readiness.ts';
export type { RecompressReport } from './maintain/recompress.ts';
export type { ReleaseOptions } from './maintain/release.ts';
export type { StayingSegments } from './maintain/staying-segments.ts';
export type {
  BarredBytes,
  TakedownGround,
  TakedownInput,
  TakedownPreview,
  TakedownReport,
  Takedowns,
} from './maintain/takedown.ts';
export { type UpgradeOptions, type UpgradeReport, upgradeArchive } from './maintain/upgrade.ts';
export type { NewVolume, VolumeStatus } from './maintain/volume-admin.ts';
export type { MirrorCheck, MirrorProblem } from './mirror/mirror-check.ts';
export type { SegmentBackup } from './mirror/mirror-reader.ts';
export { type RestoreOptions, type RestoreReport, restoreMirror } from './mirror/mirror-restore.ts';
export type { MirrorSetting } from './mirror/mirror-setting.ts';
export type { SyncProgress } from './mirror/mirror-sync.ts';
export type { MirrorPlace, OpenRemote } from './mirror/mirror-target.ts';
export type { NewMirror } from './mirror/mirrors.ts';
export type { MirrorStatus, SyncReport } from './mirror-status.ts';
export type { CatalogCopyOptions, CatalogCopyReport } from './move/catalog-copy.ts';
export { openArchive } from './open-archive.ts';
export type { ArchiveOptions } from './opened-archive.ts';
export { type AnnouncedServer, ownerOf } from './owner.ts';
export type { SearchProgress } from './proof/barred-search.ts';
export type { TakedownCheck } from './proof/takedown-check.ts';
export type { CaptureReader, CaptureView } from './read/capture-reader.ts';
export { type RecordLocation, type RecordReader, releasePayload } from './read/record-access.ts';
export {
  isRedirection,
  lacksAnswer,
  type Retrieved,
  type RetrievedContent,
  type RetrieveOptions,
  soundPayload,
  VISIT_MS,
} from './read/retrieve.ts';
export type { NodeError, NodeRequestKind } from './segment/node-activity.ts';
export { VolumeSet } from './segment/volume-set.ts';
export { keyRanges, type Selection, selectCaptures } from './selection.ts';
export type { ArchiveStats, CollectionStats, StatsOptions } from './stats.ts';
export { type NamedSnapshot, NamedSnapshots } from './stream/named-snapshots.ts';
export { ScanHub, type StreamFormat } from './stream/scan-hub.ts';
export type { RecordStream, StreamOrder, StreamQuery } from './stream/stream.ts';
export type { StreamChunk } from './stream/stream-chunk.ts';
export type { LineExtension, StreamPiece } from './stream/stream-output.ts';
export type { StreamedRecord } from './stream/streamed-record.ts';
export type { Subscriber } from './stream/subscriber.ts';
export type { KeptRanking, UrlRanking } from './stream/url-ranking.ts';
export type { FoundBytes, SearchStatement, TakenCapture } from './takedown/log-entry.ts';
export type { TakedownRecord, TakedownRecords } from './takedown/takedown-records.ts';
export type { VerifyOptions, VerifyReport } from './verify/verify.ts';
export {
  PROBLEM_CATALOGUE,
  type Problem,
  type ProblemCode,
  type ProblemLevel,
  verifyProblem,
} from './verify-problem.ts';
export type { Stored, StoreInput, StoreOptions } from './write/store-input.ts';
