/**
 * The library: everything a program may use of Pinakes. Rooms not named here are not public.
 *
 * ```ts
 * import { openArchive, parseTimestamp } from 'pinakes';
 *
 * const archive = await openArchive('my-archive', { clock: Date.now, newId: () => `<urn:uuid:${crypto.randomUUID()}>`
 * }); await archive.add(['crawl.warc.gz'], { collection: 'spring' }); const page = await
 * archive.get('https://example.org/', parseTimestamp('20240301')); for await (const piece of page.payload)
 * process.stdout.write(piece); await archive.close(); ```
 *
 * The library never prints, reads no clock and makes no random numbers: `clock` and `newId` are handed in. With
 * `stopwatch: () => performance.now()` besides, retrieval from a fast disk does not wait for other threads.
 */
export {
  type AddOptions,
  type AddProgress,
  type AddReport,
  type Archive,
  type ArchiveOptions,
  type ArchiveStats,
  type CdxjExportOptions,
  type CollectionStats,
  type CompactOptions,
  type CompactReport,
  type ContentKey,
  createArchive,
  type Damage,
  type DeleteOptions,
  type DeletePreview,
  type DeleteReport,
  dropCatalog,
  formatContentKey,
  type InitOptions,
  type MigrateOptions,
  type MigrateReport,
  type NewVolume,
  type OutputDamage,
  openArchive,
  type ParquetExportOptions,
  type ParquetExportReport,
  PROBLEM_CATALOGUE,
  type Problem,
  type ProblemCode,
  type ProblemLevel,
  parseContentKey,
  type RecordStream,
  type Retrieved,
  type RetrievedContent,
  type RetrieveOptions,
  releasePayload,
  type Selection,
  type StatsOptions,
  type Stored,
  type StoreInput,
  type StoreMode,
  type StoreOptions,
  type StreamedRecord,
  type StreamOrder,
  type StreamPiece,
  type StreamQuery,
  type VerifyOptions,
  type VerifyReport,
  type VolumeStatus,
  type WaczExportReport,
  type WarcExportOptions,
  type WarcExportReport,
} from './archive/index.ts';
export {
  type Clock,
  DIGEST_ALGORITHMS,
  type Digest,
  type DigestAlgorithm,
  digestOf,
  type EpochMs,
  ERROR_CATALOGUE,
  type ErrorCode,
  type ErrorEntry,
  type Finding,
  type FindingLevel,
  formatDigest,
  formatTimestamp,
  formatW3cDate,
  type IdSource,
  isDigestOfNothing,
  PinakesError,
  parseDigest,
  parseTimestamp,
  parseTimestampEnd,
  parseW3cDate,
  type Random,
  RunningDigest,
  sameDigest,
  seededIds,
  seededRandom,
} from './base/index.ts';
export type { Block, BlockKey, Capture, CaptureKind, Place, Segment, Totals } from './catalog/index.ts';
export { type UrlKey, urlKey } from './url/index.ts';
export {
  BlockScanner,
  type Field,
  type HttpHead,
  type ReadingRecord,
  type ReadOptions,
  RecordHead,
  readRecords,
  WarcFileWriter,
} from './warc/index.ts';
