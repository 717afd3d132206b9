/**
 * Lines of the text form of a manifest, straight out of the columns of a scan: the hot path of the first pass, so
 * values go from one string into another and no object is made for a record.
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
  /** Takes digests that records declare instead of the computed ones. */
  readonly trustHeaders?: boolean | undefined;
  /** Whether records with an empty payload get a line; they are never duplicates. */
  readonly keepEmpty?: boolean | undefined;
  /**
   * Whether lines leave out what only matters when something is rewritten: record ids, declared digests, and lines that
   * only point.
   */
  readonly brief?: boolean | undefined;
  /** Whether ARC records may be originals and duplicates, as they can when they are converted. */
  readonly withArc?: boolean | undefined;
  /** How many leading bytes of a digest count, the others being zero: makes digests collide, in tests. */
  readonly digestBytes?: number | undefined;
};

export type ManifestLine = {
  readonly line: string;
  /** Hexadecimal digest of a record that can be part of a cluster; empty for one that only points at others. */
  readonly digestHex: string;
};

/** Text that a revisit cannot repeat letter for letter: control characters, and more than any URI has. */
const UNREPEATABLE = /[\x00-\x1f\x7f]/;
const TEXT_CHARACTERS_MAX = 8 * 1024;

export class ManifestLines {
  readonly #options: LineOptions;
  #lastDate = '';
  #lastTime = '';

  constructor(options: LineOptions) {
    this.#options = options;
  }

  /** The line of a record; undefined when it has no part in deduplication. */
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
    const time = this.#timeOf(date);
    const isArc = batch.has(record, SCAN_ARC);
    const isHttp = batch.has(record, SCAN_HTTP);
    const isWhole = batch.has(record, SCAN_COMPLETE) && !batch.has(record, SCAN_SEGMENTED);
    // An odd record can neither be pointed at nor be replaced: its date or URI may not be repeated as it is.
    const isExact =
      !batch.has(record, SCAN_NOT_UTF8) && !batch.has(record, SCAN_ODD) && isRepeatable(uri) && isRepeatable(recordId);
    const canBePointedAt = uri !== '' && time !== '' && isExact;
    const holds =
      payloadBytes > 0 &&
      isWhole &&
      columns.length[record]! > 0 &&
      canBePointedAt &&
      isHttp &&
      (isArc ? this.#options.withArc === true : type === 'response');
    const yields = holds && type === 'response';
    const declared = this.#options.brief ? '' : clean(batch.text(record, 'payloadDigest'));
    const digest = this.#recordDigest(batch, record, declared);
    if (this.#options.brief) {
      const line =
        `${file}\t${columns.offset[record]}\t${columns.length[record]}\t${type}\t${clean(uri)}\t\t${time}\t` +
        `${digest}\t${payloadBytes}\t${holds}\t${yields}\t\t\t${clean(mimeOf(batch.text(record, 'mime')))}\t\t` +
        `${columns.httpHeadBytes[record]}\t${batch.has(record, SCAN_CHUNKED)}\t\t\t\t\t0\n`;
      return { line, digestHex: digest.slice(digest.indexOf(':') + 1) };
    }
    const line =
      `${file}\t${columns.offset[record]}\t${columns.length[record]}\t${type}\t${clean(uri)}\t${clean(date)}\t${time}\t` +
      `${digest}\t${payloadBytes}\t${holds}\t${yields}\t${clean(recordId)}\t${declared}\t` +
      `${clean(mimeOf(batch.text(record, 'mime')))}\t${columns.status[record]! || ''}\t${columns.httpHeadBytes[record]}\t` +
      `${batch.has(record, SCAN_CHUNKED)}\t\t\t\t${clean(batch.text(record, 'concurrentTo'))}\t0\n`;
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
   * Records that lean on others: revisits, and requests that are more than a plain GET, whose response is found through
   * them.
   */
  #pointer(batch: ScanBatch, record: number, file: string, type: string): ManifestLine {
    const { columns } = batch;
    const date = batch.text(record, 'date');
    const line =
      `${file}\t${columns.offset[record]}\t${columns.length[record]}\t${type}\t${clean(batch.text(record, 'targetUri'))}\t` +
      `${clean(date)}\t${this.#timeOf(date)}\t\t${columns.payloadBytes[record]}\tfalse\tfalse\t` +
      `${clean(batch.text(record, 'recordId'))}\t${clean(batch.text(record, 'payloadDigest'))}\t\t` +
      `${columns.status[record]! || ''}\t${columns.httpHeadBytes[record]}\t${batch.has(record, SCAN_CHUNKED)}\t` +
      `${clean(batch.text(record, 'refersTo'))}\t${clean(unbracketedUri(batch.text(record, 'refersToTargetUri')))}\t` +
      `${this.#timeOf(batch.text(record, 'refersToDate'))}\t${clean(batch.text(record, 'concurrentTo'))}\t0\n`;
    return { line, digestHex: '' };
  }

  /** Records of one moment follow one another, so the last answer often serves again. */
  #timeOf(date: string): string {
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
