/** warc: reads and writes WARC and ARC, gzip and zstd members, HTTP messages, CDX and WACZ. Streams; no policy. */

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
} from './cdx/cdx.ts';
export { type CdxEntry, type CdxExtra, type JsonValue, NO_EXTRA } from './cdx/cdx-entry.ts';
export { INDEX_FINDING_CATALOGUE } from './cdx/cdx-finding.ts';
export { readCdx } from './cdx/cdx-reader.ts';
export { sortLines } from './cdx/cdx-sort.ts';
export { formatCdxjLine, formatJson, parseCdxjLine } from './cdx/cdxj.ts';
export * from './cdx/index-entry.ts';
export * from './convert.ts';
export { type ByteRange, byteRange } from './http/byte-range.ts';
export * from './http/chunked-body.ts';
export * from './http/content-coding.ts';
export { DecodedStart, decodedStart } from './http/decoded-start.ts';
export * from './http/http-head.ts';
export { type InputFile, type InputFiles, inputFiles } from './input-files.ts';
export type { CursorOptions } from './member/cursor-options.ts';
export { type Coding, codingOf } from './member/file-coding.ts';
export { dictionaryOfFile } from './member/zstd-frame.ts';
export { trainDictionary } from './member/zstd-trainer.ts';
export { notArchiveFile } from './not-archive-file.ts';
export * from './read/block-scanner.ts';
export { checksumlessScanOptions, type DigestCheck, memberHasChecksum } from './read/checksumless-record.ts';
export * from './read/digest-verdict.ts';
export { type FileStart, readFileStart } from './read/file-start.ts';
export { RecordCursor, type RecordTail, type Step } from './read/record-cursor.ts';
export { type DecodedRecord, RecordDecoder } from './read/record-decoder.ts';
export * from './read/record-reader.ts';
export { type RecordStart, RecordStartDecoder } from './read/record-start-decoder.ts';
export { type ArcConversion, convertArcHead } from './record/arc-conversion.ts';
export * from './record/finding-catalogue.ts';
export * from './record/new-record.ts';
export {
  type Field,
  type HeadForm,
  type RecordFormat,
  RecordHead,
  SOURCE_DATE_FIELD,
  unbracketed,
} from './record/record-head.ts';
export { isWorthRevisit, UNSHARED_BYTES_MAX } from './record/revisit-worth.ts';
export { soundFields, soundVersion } from './record/sound-head.ts';
export * from './scan/scan-batch.ts';
export { type ScanItem, type ScanOptions, scanFiles } from './scan/scan-pool.ts';
export { exactRange, type LineRange, searchLines } from './wacz/cdx-search.ts';
export { readZipDirectory, type ZipDirectory } from './wacz/wacz-directory.ts';
export { readZipEntry, type ZipEntry } from './wacz/wacz-entry.ts';
export { openWacz, type Wacz, type WaczWarc } from './wacz/wacz-reader.ts';
export { FileByteSource, MemoryByteSource } from './wacz/wacz-source.ts';
export { verifyWacz, type WaczVerification } from './wacz/wacz-verify.ts';
export { type NewWacz, type WrittenWacz, writeWacz } from './wacz/wacz-writer.ts';
export * from './warc-input.ts';
export { dictionaryFor, type SampledFile } from './write/dictionary-sample.ts';
export type { UnencodedRecord } from './write/member-batch.ts';
export * from './write/member-encoder.ts';
export { MemberThreads } from './write/member-threads.ts';
export * from './write/warc-file-writer.ts';
