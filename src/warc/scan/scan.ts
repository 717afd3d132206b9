/**
 * The inner loop of a scan: reads the records of a file or of a range of it, and collects their facts in columns. It
 * parses heads and hashes payloads. Synchronous, on one thread; `scan-pool.ts` runs it on many.
 */
import { concat, type DigestAlgorithm, digestOf, type Finding } from '../../base/index.ts';
import type { CursorOptions } from '../member/cursor-options.ts';
import type { Coding } from '../member/file-coding.ts';
import { type BlockFacts, BlockScanner, type BlockScanOptions } from '../read/block-scanner.ts';
import { checksumlessScanOptions } from '../read/checksumless-record.ts';
import { DigestReview } from '../read/digest-review.ts';
import { digestMismatches, isDoubtful } from '../read/digest-verdict.ts';
import { SyncFileFeed } from '../read/file-feed.ts';
import { gapFinding } from '../read/gap.ts';
import { RecordCursor, type RecordTail } from '../read/record-cursor.ts';
import { warcFinding } from '../record/finding-catalogue.ts';
import { isNamed, type RecordHead } from '../record/record-head.ts';
import {
  RESPONSE_FIELDS,
  SCAN_ARC,
  SCAN_CHUNKED,
  SCAN_COMPLETE,
  SCAN_HTTP,
  SCAN_HTTP_MISSING,
  SCAN_LOOSE,
  SCAN_NOT_UTF8,
  SCAN_ODD,
  SCAN_OTHER_METHOD,
  SCAN_SEGMENTED,
  SCAN_TEXTS,
  SCAN_TORN,
  type ScanColumns,
} from './scan-batch.ts';

export type ScanJob = {
  readonly path: string;
  readonly algorithm: DigestAlgorithm;
  /** Further head fields to return, in lower case. */
  readonly fields: readonly string[];
  /** Fields of responses to return, all of them, in lower case. */
  readonly responseFields: readonly string[];
  /** Whether to return the HTTP heads. */
  readonly httpHeads: boolean;
  /** Whether to report wrong digests that records declare in the algorithm with which payloads are hashed. */
  readonly judgesDigests: boolean;
  readonly coding: Coding;
  readonly dictionary: Uint8Array | undefined;
  /** The coding at `from`, if known: a joined file can change its coding before `from`. */
  readonly fromCoding?: Coding | undefined;
  /** This job scans the records that begin in [from, to). */
  readonly from: number;
  readonly to: number;
  /** Bytes of the file after `from`. */
  readonly inputBytes: number;
  /** Whether a record is known to begin at `from`. */
  readonly isExact: boolean;
};

/** The facts of a range, or of the next part of a range. */
export type ScanPiece = {
  readonly columns: ScanColumns;
  /**
   * Where the first record at or after `from` begins; the file's end when there is none; infinity when the search for
   * it was abandoned.
   */
  readonly first: number;
  /**
   * Where the last scanned record ends, as far as that is known. In the last piece: where the first record at or after
   * `to` begins, with the file's end and infinity as in `first`.
   */
  readonly reached: number;
  /** The coding of the file at `reached`. */
  readonly coding: Coding | undefined;
  readonly isLast: boolean;
};

/**
 * How far past its range a job searches for its first record. Without a limit, every range inside a very large record
 * would be read to the end of that record.
 */
const SEEK_PAST_BYTES = 1024 * 1024;

/**
 * A piece ends when its facts take this much memory. An ordinary range is one piece. But a few bytes of a compressed
 * file can hold very many records, or very long ones, and all records of a file may share one member.
 */
const PIECE_BYTES_MAX = 2.5 * 1024 * 1024;
/**
 * A piece also ends after this many bytes, even inside a record, because a scan can be abandoned only between two
 * pieces.
 */
const UNINTERRUPTED_BYTES_MAX = 64 * 1024 * 1024;
/** Approximate memory of a record without its heads, and of a finding. */
const RECORD_BYTES = 512;
const FINDING_BYTES = 512;

/**
 * Scans one range of a file, piece by piece. Reads past the end of the range up to the end of its last record and the
 * beginning of the next record.
 */
export class RangeScan {
  readonly #job: ScanJob;
  readonly #feed: SyncFileFeed;
  #cursor: RecordCursor;
  readonly #coded: CursorOptions;
  readonly #scanOptions: BlockScanOptions;
  /** The second reading of the last record, when its digests are in doubt. */
  #review: DigestReview | undefined;
  #scanner: BlockScanner | undefined;
  #first: number | undefined;
  /** Where the last scanned record ends. */
  #reached: number;

  constructor(job: ScanJob) {
    this.#job = job;
    this.#reached = job.from;
    this.#scanOptions = { payload: [job.algorithm] };
    this.#feed = new SyncFileFeed(job.path, job.from);
    this.#coded = { coding: job.coding, dictionary: job.dictionary && Buffer.from(job.dictionary) };
    const { from: offset, fromCoding: offsetCoding, isExact, inputBytes } = job;
    this.#cursor = new RecordCursor(job.path, { ...this.#coded, offset, offsetCoding, seek: !isExact, inputBytes });
  }

  close(): void {
    this.#cursor.close();
    this.#feed.close();
    this.#review?.close();
  }

  /** The next piece. Call this until a piece has `isLast`. */
  next(): ScanPiece {
    const job = this.#job;
    let cursor = this.#cursor;
    const feed = this.#feed;
    const gathered = new Columns(job);
    let passedBytes = 0;
    for (;;) {
      if (this.#review && !this.#continueReview(this.#review, gathered)) return this.#pieceSoFar(gathered);
      switch (cursor.step()) {
        case 'need-input':
          if (!job.isExact && this.#first === undefined && feed.position >= job.to + SEEK_PAST_BYTES) {
            const nowhere = Number.POSITIVE_INFINITY;
            const columns = gathered.finish(0, 0);
            return { columns, first: nowhere, reached: nowhere, coding: undefined, isLast: true };
          }
          feed.feed(cursor);
          break;
        case 'finding':
          gathered.addFinding(cursor.finding);
          break;
        case 'record':
          this.#first ??= cursor.head.offset;
          if (cursor.head.offset >= job.to) return this.#lastPiece(gathered, cursor.head.offset, cursor.head.offset);
          this.#scanner = new BlockScanner(cursor.head, this.#scanOptionsOf(cursor));
          break;
        case 'body':
          this.#scanner!.push(cursor.chunk);
          passedBytes += cursor.chunk.length;
          if (passedBytes >= UNINTERRUPTED_BYTES_MAX) return this.#pieceSoFar(gathered);
          break;
        case 'skipped':
          passedBytes += cursor.chunk.length;
          if (passedBytes >= UNINTERRUPTED_BYTES_MAX && this.#isStartKnown) return this.#pieceSoFar(gathered);
          break;
        case 'end': {
          const { head, tail } = cursor;
          this.#reached = head.offset + (tail.length ?? 0);
          const facts = this.#scanner!.end();
          gathered.add(head, tail, facts);
          if (this.#needsReview(facts)) this.#beginReview(head, tail);
          if (gathered.heldBytes >= PIECE_BYTES_MAX) return this.#pieceSoFar(gathered);
          break;
        }
        case 'done':
          if (!feed.gap) return this.#lastPiece(gathered, Number.POSITIVE_INFINITY, feed.position);
          gathered.addFinding(gapFinding(job.path, feed.gap));
          feed.skipGap();
          cursor = this.#restartAt(feed.position);
          break;
      }
    }
  }

  /** Reads the bytes after a gap like another file whose beginning is missing. */
  #restartAt(offset: number): RecordCursor {
    this.#cursor.close();
    this.#cursor = new RecordCursor(this.#job.path, { ...this.#coded, offset, inputBytes: this.#job.inputBytes });
    return this.#cursor;
  }

  /**
   * A frame without a checksum does not show damage. So the digests that its record declares are judged in every scan,
   * whatever their algorithm.
   */
  #scanOptionsOf(cursor: RecordCursor): BlockScanOptions {
    return isChecksumlessFrame(cursor) ? checksumlessScanOptions(cursor.head, this.#job.algorithm) : this.#scanOptions;
  }

  #needsReview(facts: BlockFacts): boolean {
    const cursor = this.#cursor;
    const { head, tail } = cursor;
    if (!isChecksumlessFrame(cursor)) return this.#job.judgesDigests && isDoubtful(head, facts, tail.isComplete);
    return digestMismatches(head, facts, tail.isComplete).length > 0;
  }

  /** A record after other records in its member is not judged: each review would decode all records before it again. */
  #beginReview({ offset, innerOffset }: RecordHead, { length, bodyBytes: inputBytes }: RecordTail): void {
    if (innerOffset > 0) return;
    const options = { ...this.#coded, offset, offsetCoding: this.#cursor.coding, inputBytes: length ?? inputBytes };
    this.#review = new DigestReview(this.#job.path, options);
  }

  /** Reads more of the record in doubt. Returns whether it was read to its end. */
  #continueReview(review: DigestReview, gathered: Columns): boolean {
    const codes = review.next(UNINTERRUPTED_BYTES_MAX);
    if (!codes) return false;
    review.close();
    this.#review = undefined;
    for (const code of codes) gathered.addFinding(warcFinding(code, this.#job.path, this.#cursor.head.offset));
    return true;
  }

  /** Whether it is known where the first record begins, or where the record before it ends. */
  get #isStartKnown(): boolean {
    return this.#job.isExact || this.#first !== undefined;
  }

  #pieceSoFar(gathered: Columns): ScanPiece {
    const columns = gathered.finish(this.#findingsStart(this.#reached), Number.POSITIVE_INFINITY);
    const first = this.#first ?? this.#job.from;
    return { columns, first, reached: this.#reached, coding: this.#cursor.coding, isLast: false };
  }

  #lastPiece(gathered: Columns, findingsTo: number, reached: number): ScanPiece {
    const columns = gathered.finish(this.#findingsStart(reached), findingsTo);
    return { columns, first: this.#first ?? reached, reached, coding: this.#cursor.coding, isLast: true };
  }

  /** The offset from which findings belong to this job. */
  #findingsStart(end: number): number {
    return this.#job.isExact ? this.#job.from : (this.#first ?? end);
  }
}

function isChecksumlessFrame({ hasChecksum, coding }: RecordCursor): boolean {
  return !hasChecksum && coding === 'zstd';
}

/** Columns that are being filled. */
class Columns {
  /** Approximate memory of the columns. */
  heldBytes = 0;
  readonly #findings: Finding[] = [];
  readonly #offset: number[] = [];
  readonly #length: number[] = [];
  readonly #innerOffset: number[] = [];
  readonly #headBytes: number[] = [];
  readonly #blockBytes: number[] = [];
  readonly #httpHeadBytes: number[] = [];
  readonly #payloadBytes: number[] = [];
  readonly #status: number[] = [];
  readonly #flags: number[] = [];
  readonly #digests: Uint8Array[] = [];
  readonly #texts: string[] = [];
  readonly #digestBytes: number;
  readonly #fields: readonly string[];
  /** Grouped by the length of their names, which excludes most other fields quickly. */
  readonly #responseFields: readonly (readonly string[] | undefined)[] | undefined;
  readonly #keepsHeads: boolean;
  readonly #httpHeads: Uint8Array[] = [];

  constructor({ algorithm, fields, responseFields, httpHeads }: ScanJob) {
    this.#fields = fields;
    this.#responseFields = responseFields.length > 0 ? byLength(responseFields) : undefined;
    this.#keepsHeads = httpHeads;
    this.#digestBytes = digestOf(algorithm, new Uint8Array(0)).bytes.length;
  }

  addFinding(finding: Finding): void {
    this.heldBytes += FINDING_BYTES;
    this.#findings.push(finding);
  }

  add(head: RecordHead, tail: RecordTail, facts: BlockFacts): void {
    const { length, isComplete, isTorn, isTrailerSound, spansMembers } = tail;
    this.heldBytes += RECORD_BYTES + head.bytes.length + (facts.http?.bytes.length ?? 0);
    this.#offset.push(head.offset);
    this.#length.push(length ?? -1);
    this.#innerOffset.push(head.innerOffset);
    this.#headBytes.push(head.bytes.length);
    this.#blockBytes.push(facts.blockBytes);
    this.#httpHeadBytes.push(facts.http?.bytes.length ?? 0);
    if (this.#keepsHeads && facts.http) this.#httpHeads.push(facts.http.bytes);
    this.#payloadBytes.push(facts.payloadBytes);
    this.#status.push(facts.http?.status ?? 0);
    this.#digests.push(facts.payloadDigests[0]!.bytes);
    let flags = isComplete ? SCAN_COMPLETE : 0;
    if (facts.http) flags |= SCAN_HTTP;
    if (facts.isHttpMissing) flags |= SCAN_HTTP_MISSING;
    if (facts.isChunked) flags |= SCAN_CHUNKED;
    if (head.format === 'arc') flags |= SCAN_ARC;
    if (head.get('warc-segment-number')) flags |= SCAN_SEGMENTED;
    if (head.type === 'request' && (facts.http?.method ?? 'GET') !== 'GET') flags |= SCAN_OTHER_METHOD;
    if (!head.isUtf8) flags |= SCAN_NOT_UTF8;
    if (isTorn) flags |= SCAN_TORN;
    if (head.form === 'odd') flags |= SCAN_ODD;
    if (head.form === 'loose' || !isTrailerSound || spansMembers) flags |= SCAN_LOOSE;
    this.#flags.push(flags);
    const mime = facts.http ? facts.http.get('content-type') : (head.get('arc-mime') ?? head.contentType);
    this.#texts.push(
      head.type,
      head.targetUri ?? '',
      head.date ?? '',
      head.recordId ?? '',
      head.contentType ?? '',
      mime ?? '',
      head.get('warc-payload-digest') ?? '',
      head.get('warc-refers-to') ?? '',
      head.get('warc-refers-to-target-uri') ?? '',
      head.get('warc-refers-to-date') ?? '',
      head.get('warc-profile') ?? '',
      head.get('warc-concurrent-to') ?? '',
    );
    for (const field of this.#fields) this.#texts.push(head.get(field) ?? '');
    if (this.#responseFields) this.#texts.push(head.type === 'response' ? linesOf(head, this.#responseFields) : '');
  }

  /**
   * Only findings between the first record of this range and the first record of the next range are kept, so that each
   * finding is reported once.
   */
  finish(from: number, to: number): ScanColumns {
    const count = this.#offset.length;
    const textNames = [...SCAN_TEXTS, ...this.#fields, ...(this.#responseFields ? [RESPONSE_FIELDS] : [])];
    const digests = new Uint8Array(count * this.#digestBytes);
    for (let i = 0; i < count; i++) digests.set(this.#digests[i]!, i * this.#digestBytes);
    const textEnds = new Uint32Array(count * textNames.length);
    let end = 0;
    for (let i = 0; i < textEnds.length; i++) {
      end += this.#texts[i]!.length;
      textEnds[i] = end;
    }
    return {
      count,
      offset: new Float64Array(this.#offset),
      length: new Float64Array(this.#length),
      innerOffset: new Float64Array(this.#innerOffset),
      headBytes: new Uint32Array(this.#headBytes),
      blockBytes: new Float64Array(this.#blockBytes),
      httpHeadBytes: new Uint32Array(this.#httpHeadBytes),
      payloadBytes: new Float64Array(this.#payloadBytes),
      status: new Uint16Array(this.#status),
      flags: new Uint16Array(this.#flags),
      digestBytes: this.#digestBytes,
      digests,
      textNames,
      text: this.#texts.join(''),
      textEnds,
      httpHeads: concat(this.#httpHeads),
      findings: this.#findings.filter(({ offset }) => offset >= from && offset < to),
    };
  }
}

function byLength(names: readonly string[]): (readonly string[] | undefined)[] {
  const lists: string[][] = [];
  for (const name of names) (lists[name.length] ??= []).push(name);
  return lists;
}

/** The fields with these names as the head has them, one per line. */
function linesOf(head: RecordHead, names: readonly (readonly string[] | undefined)[]): string {
  let lines = '';
  for (const field of head.fields) {
    if (names[field.name.length]?.some((name) => isNamed(field, name))) lines += `${field.name}: ${field.value}\n`;
  }
  return lines;
}
