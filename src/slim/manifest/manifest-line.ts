/**
 * Formats the lines of a text manifest directly from the columns of a scan. This is the hot path of the first pass, so
 * no object is created for a record.
 */
import { type DigestAlgorithm, parseDigest, parseW3cDate, toHex } from '../../base/index.ts';
import {
  SCAN_ARC,
  SCAN_CHUNKED,
  SCAN_COMPLETE,
  SCAN_HTTP,
  SCAN_NOT_UTF8,
  SCAN_ODD,
  SCAN_OTHER_METHOD,
  SCAN_SEGMENTED,
  type ScanBatch,
} from '../../warc/index.ts';

export type LineOptions = {
  readonly algorithm: DigestAlgorithm;
  /** Uses the digests that records declare instead of the computed ones. */
  readonly trustHeaders?: boolean | undefined;
  /** Whether records with an empty payload get a line; they are never duplicates. */
  readonly keepEmpty?: boolean | undefined;
  /**
   * Whether to leave out what only rewriting needs: record ids, declared digests, and the lines of records that only
   * refer to others.
   */
  readonly brief?: boolean | undefined;
  /** Whether ARC records may be originals and duplicates, as they can when they are converted. */
  readonly withArc?: boolean | undefined;
  /** Sets all but this many leading bytes of a digest to zero, so that digests collide in tests. */
  readonly digestBytes?: number | undefined;
};

export type ManifestLine = {
  readonly line: string;
  /** The digest in hexadecimal; empty for a record that only refers to others and so is in no cluster. */
  readonly digestHex: string;
};

/** Control characters, which a revisit cannot repeat byte for byte. */
const UNREPEATABLE = /[\x00-\x1f\x7f]/;
/** Longer than any real URI. */
const TEXT_CHARACTERS_MAX = 8 * 1024;

export class ManifestLines {
  readonly #options: LineOptions;
  #lastDate = '';
  #lastTime = '';

  constructor(options: LineOptions) {
    this.#options = options;
  }

  /** The line of a record; undefined when the record has no part in deduplication. */
  of(batch: ScanBatch, record: number, file: string): ManifestLine | undefined {
    const type = batch.text(record, 'type');
    switch (type) {
      case 'response':
      case 'resource':
      case 'conversion':
        return this.#content(batch, record, file, type);
      case 'revisit':
        return this.#options.brief ? undefined : this.#pointer(batch, record, file, type);
      case 'request':
        return !this.#options.brief && (batch.columns.payloadBytes[record]! > 0 || batch.has(record, SCAN_OTHER_METHOD))
          ? this.#pointer(batch, record, file, type)
          : undefined;
      default:
        return undefined;
    }
  }

  #content(batch: ScanBatch, record: number, file: string, type: string): ManifestLine | undefined {
    const { columns } = batch;
    const payloadBytes = columns.payloadBytes[record]!;
    if (payloadBytes === 0 && !this.#options.keepEmpty) return undefined;
    const uri = batch.text(record, 'targetUri');
    const date = batch.text(record, 'date');
    const recordId = batch.text(record, 'recordId');
    const time = this.#timeText(date);
    const isArc = batch.has(record, SCAN_ARC);
    const isHttp = batch.has(record, SCAN_HTTP);
    const isWhole = batch.has(record, SCAN_COMPLETE) && !batch.has(record, SCAN_SEGMENTED);
    // An odd record cannot be referred to or replaced, because its date or URI may not be repeated unchanged.
    const isExact =
      !batch.has(record, SCAN_NOT_UTF8) && !batch.has(record, SCAN_ODD) && isRepeatable(uri) && isRepeatable(recordId);
    const mayBeReferredTo = uri !== '' && time !== '' && isExact;
    const holds =
      payloadBytes > 0 &&
      isWhole &&
      columns.length[record]! > 0 &&
      mayBeReferredTo &&
      isHttp &&
      (isArc ? this.#options.withArc === true : type === 'response');
    const yields = holds && type === 'response';
    const isBrief = this.#options.brief === true;
    const declared = isBrief ? '' : clean(batch.text(record, 'payloadDigest'));
    const digest = this.#recordDigest(batch, record, declared);
    const line =
      `${file}\t${columns.offset[record]}\t${columns.length[record]}\t${type}\t${clean(uri)}\t${isBrief ? '' : clean(date)}\t${time}\t` +
      `${digest}\t${payloadBytes}\t${holds}\t${yields}\t${isBrief ? '' : clean(recordId)}\t${declared}\t` +
      `${clean(mimeOf(batch.text(record, 'mime')))}\t${(!isBrief && columns.status[record]) || ''}\t${columns.httpHeadBytes[record]}\t` +
      `${batch.has(record, SCAN_CHUNKED)}\t\t\t\t${isBrief ? '' : clean(batch.text(record, 'concurrentTo'))}\t0\n`;
    return { line, digestHex: digest.slice(digest.indexOf(':') + 1) };
  }

  #recordDigest(batch: ScanBatch, record: number, declared: string): string {
    const { algorithm, digestBytes, trustHeaders } = this.#options;
    const trusted = trustHeaders && declared ? parseDigest(declared) : undefined;
    if (trusted) return `${trusted.algorithm}:${toHex(trusted.bytes)}`;
    const computed = batch.digest(record);
    if (digestBytes !== undefined) computed.fill(0, digestBytes);
    return `${algorithm}:${toHex(computed)}`;
  }

  /**
   * The line of a record that refers to another: of a revisit, or of a request that is not a plain GET, through which
   * replay finds the response.
   */
  #pointer(batch: ScanBatch, record: number, file: string, type: string): ManifestLine {
    const { columns } = batch;
    const date = batch.text(record, 'date');
    const line =
      `${file}\t${columns.offset[record]}\t${columns.length[record]}\t${type}\t${clean(batch.text(record, 'targetUri'))}\t` +
      `${clean(date)}\t${this.#timeText(date)}\t\t${columns.payloadBytes[record]}\tfalse\tfalse\t` +
      `${clean(batch.text(record, 'recordId'))}\t${clean(batch.text(record, 'payloadDigest'))}\t\t` +
      `${columns.status[record]! || ''}\t${columns.httpHeadBytes[record]}\t${batch.has(record, SCAN_CHUNKED)}\t` +
      `${clean(batch.text(record, 'refersTo'))}\t${clean(unbracketedUri(batch.text(record, 'refersToTargetUri')))}\t` +
      `${this.#timeText(batch.text(record, 'refersToDate'))}\t${clean(batch.text(record, 'concurrentTo'))}\t0\n`;
    return { line, digestHex: '' };
  }

  /** Consecutive records often have the same date, so the last result is cached. */
  #timeText(date: string): string {
    if (date === this.#lastDate) return this.#lastTime;
    this.#lastDate = date;
    const time = parseW3cDate(date);
    this.#lastTime = time === undefined ? '' : String(time);
    return this.#lastTime;
  }
}

function isRepeatable(text: string): boolean {
  return text.length <= TEXT_CHARACTERS_MAX && !UNREPEATABLE.test(text);
}

function clean(text: string): string {
  if (text.length <= TEXT_CHARACTERS_MAX && !UNREPEATABLE.test(text)) return text;
  return text
    .slice(0, TEXT_CHARACTERS_MAX)
    .replaceAll(/[\x00-\x1f\x7f]/g, ' ')
    .trim();
}

function mimeOf(value: string): string {
  const end = value.search(/[;\s]/);
  return (end < 0 ? value : value.slice(0, end)).toLowerCase();
}

function unbracketedUri(value: string): string {
  return value.startsWith('<') && value.endsWith('>') ? value.slice(1, -1) : value;
}
