/** warc: reads and writes WARC and ARC, gzip and zstd members, HTTP messages, CDX and WACZ. Streams; no policy. */
export { type ArcConversion, convertArcHead } from './arc-conversion.ts';
export * from './block-scanner.ts';
export { type ByteRange, byteRange } from './byte-range.ts';
export {
  CDX_9,
  CDX_11,
  CDX_14,
  type CdxFormat,
  cdxDigest,
  cdxLineFormatter,
  cdxLineParser,
  formatCdxHeader,
  parseCdxHeader,
} from './cdx.ts';
export { type CdxEntry, type CdxExtra, type JsonValue, NO_EXTRA } from './cdx-entry.ts';
export { INDEX_FINDING_CATALOGUE } from './cdx-finding.ts';
export { readCdx } from './cdx-reader.ts';
export { exactRange, type LineRange, searchLines } from './cdx-search.ts';
export { sortLines } from './cdx-sort.ts';
export { formatCdxjLine, formatJson, parseCdxjLine } from './cdxj.ts';
export * from './chunked-body.ts';
export * from './content-coding.ts';
export * from './convert.ts';
export type { CursorOptions } from './cursor-options.ts';
export { DecodedStart, decodedStart } from './decoded-start.ts';
export { dictionaryFor, type SampledFile } from './dictionary-sample.ts';
export * from './digest-verdict.ts';
export { type Coding, codingOf } from './file-coding.ts';
export * from './finding-catalogue.ts';
export * from './http-head.ts';
export * from './index-entry.ts';
export { type InputFile, type InputFiles, inputFiles } from './input-files.ts';
export type { LooseRecord } from './member-batch.ts';
export * from './member-encoder.ts';
export { MemberThreads } from './member-threads.ts';
export * from './new-record.ts';
export { notArchiveFile } from './not-archive-file.ts';
export { RecordCursor, type RecordTail, type Step } from './record-cursor.ts';
export { type DecodedRecord, RecordDecoder } from './record-decoder.ts';
export {
  type Field,
  type HeadForm,
  type RecordFormat,
  RecordHead,
  SOURCE_DATE_FIELD,
  unbracketed,
} from './record-head.ts';
export { type Opening, RecordOpening } from './record-opening.ts';
export * from './record-reader.ts';
export { isWorthRevisit, NEVER_SHARED_BYTES } from './revisit-worth.ts';
export * from './scan-batch.ts';
export { type ScanItem, type ScanOptions, scanFiles } from './scan-pool.ts';
export { soundFields, soundVersion } from './sound-head.ts';
export { isSummedMember, type UnsummedCheck, unsummedWants } from './unsummed-record.ts';
export { readZipDirectory, type ZipDirectory } from './wacz-directory.ts';
export { readZipEntry, type ZipEntry } from './wacz-entry.ts';
export { openWacz, type Wacz, type WaczWarc } from './wacz-reader.ts';
export { FileSource, MemorySource } from './wacz-source.ts';
export { verifyWacz, type WaczVerification } from './wacz-verify.ts';
export { type NewWacz, type WrittenWacz, writeWacz } from './wacz-writer.ts';
export * from './warc-file-writer.ts';
export * from './warc-input.ts';
export { dictionaryOfFile } from './zstd-frame.ts';
export { trainDictionary } from './zstd-trainer.ts';
