/**
 * The facts of a record that the archive uses, from a scan of a file on worker threads or from a walk through a
 * segment.
 */
import { hash } from 'node:crypto';
import { bareMime, type EpochMs, parseW3cDate, standardDate, toHex } from '../base/index.ts';
import type { Capture, CaptureKind, CatalogView } from '../catalog/index.ts';
import { type UrlKey, urlKey } from '../url/index.ts';
import {
  type BlockFacts,
  type Field,
  type RecordHead,
  SCAN_ARC,
  SCAN_COMPLETE,
  SCAN_HTTP,
  SCAN_LOOSE,
  SCAN_NOT_UTF8,
  SCAN_ODD,
  SCAN_SEGMENTED,
  SCAN_TEXTS,
  SCAN_TORN,
  type ScanBatch,
  type ScanText,
  SOURCE_DATE_FIELD,
  unbracketed,
} from '../warc/index.ts';

/** The identity of a capture. A field of records that were written anew for the capture. */
export const CAPTURE_ID_FIELD = 'pinakes-capture-id';
/** The overflow number of a block that shares its digest with another block. */
export const OVERFLOW_FIELD = 'pinakes-overflow';

/**
 * The content of a foreign revisit that was written anew, since its old reference may be gone: <hex digest>~<overflow>.
 */
export const CONTENT_FIELD = 'pinakes-content';
/** The digest that the writer of a record declared. A field of the revisit that replaced the record. */
export const DECLARED_FIELD = 'pinakes-declared-digest';

/** Fields that the archive writes, in the order in which `ScanFacts` reads them. */
export const ARCHIVE_FIELDS: readonly string[] = [
  CAPTURE_ID_FIELD,
  OVERFLOW_FIELD,
  CONTENT_FIELD,
  DECLARED_FIELD,
  SOURCE_DATE_FIELD,
];

/**
 * Fields of a response that stay true when the record of the capture changes: on the revisit that replaces the
 * response, and on the full record that this revisit may become.
 */
export const CARRIED_FIELDS: readonly string[] = [
  'warc-ip-address',
  'warc-warcinfo-id',
  'warc-concurrent-to',
  'warc-protocol',
  'warc-cipher-suite',
  'warc-identified-payload-type',
  'warc-page-id',
  'warc-resource-type',
  'warc-json-metadata',
];

export type RecordFacts = CaptureFacts & {
  readonly offset: number;
  /** Bytes in the file. Undefined when the record shares its member with others. */
  readonly length: number | undefined;
  readonly innerOffset: number;
  readonly type: string;
  readonly url: string;
  /** The date in the form of the standard. An invalid date is unchanged. */
  readonly date: string;
  readonly recordId: string;
  readonly isComplete: boolean;
  /** Whether the head of the record stops other readers: see `HeadForm`. */
  readonly isOdd: boolean;
  readonly isHttp: boolean;
  readonly isArc: boolean;
  readonly status: number;
  readonly mime: string;
  readonly payloadBytes: number;
  readonly payloadDigest: Uint8Array;
  readonly declaredDigest: string;
  readonly refersTo: string;
  readonly refersToUri: string;
  readonly refersToDate: string;
  readonly profile: string;
  readonly concurrentTo: string;
  readonly captureId: string;
  readonly overflow: number;
  /** The name that the archive gave to the content. Empty if the record does not have one. */
  readonly content: string;
  readonly alsoDeclared: string;
};

/** Facts that follow from the others. They are computed once, since each is used several times for a record. */
type CaptureFacts = {
  /** The kind of capture. Undefined for records that only go with captures: requests, metadata, warcinfo. */
  readonly kind: CaptureKind | undefined;
  /** This and the next two facts are meaningful only for captures. */
  readonly time: EpochMs | undefined;
  readonly urlKey: UrlKey;
  /** See `captureIdOf`. */
  readonly hash: number;
};

/**
 * Facts of a record of a scan with ARCHIVE_FIELDS. Most facts are needed for few records, so each is looked up in the
 * batch when it is needed. The batch stays in memory as long as its facts.
 */
export class ScanFacts implements RecordFacts {
  readonly kind: CaptureKind | undefined;
  readonly time: EpochMs | undefined;
  readonly urlKey: UrlKey;
  readonly hash: number;
  readonly offset: number;
  readonly length: number | undefined;
  readonly type: string;
  /** How often the capture was deleted and is added again: see `addedAgain`. */
  readonly #again: number;
  readonly #batch: ScanBatch;
  readonly #record: number;
  // Used many times for each capture.
  #url: string | undefined;
  #date: string | undefined;
  #recordId: string | undefined;
  #payloadDigest: Uint8Array | undefined;

  constructor(batch: ScanBatch, record: number, again = 0) {
    this.#again = again;
    this.#batch = batch;
    this.#record = record;
    const length = batch.columns.length[record]!;
    this.offset = batch.columns.offset[record]!;
    this.length = length < 0 ? undefined : length;
    this.type = this.#text(AT.type);
    const { kind, time, urlKey: key, hash: idHash } = captureFacts(this);
    this.kind = kind;
    this.time = time;
    this.urlKey = key;
    this.hash = idHash;
  }

  get innerOffset(): number {
    return this.#batch.columns.innerOffset[this.#record]!;
  }

  get url(): string {
    this.#url ??= this.#text(AT.targetUri);
    return this.#url;
  }

  get date(): string {
    if (this.#date === undefined) {
      const written = this.#text(AT.date);
      this.#date = this.isOdd ? (standardDate(written) ?? written) : written;
    }
    return this.#date;
  }

  /** The date as its writer wrote it; empty when it is the same as `date`. */
  get sourceDate(): string {
    const written = this.#text(AT.date);
    return this.#text(AT.sourceDate) || (written === this.date ? '' : written);
  }

  get recordId(): string {
    this.#recordId ??= this.#text(AT.recordId);
    return this.#recordId;
  }

  get isComplete(): boolean {
    return this.#batch.has(this.#record, SCAN_COMPLETE);
  }

  get isHttp(): boolean {
    return this.#batch.has(this.#record, SCAN_HTTP);
  }

  get isArc(): boolean {
    return this.#batch.has(this.#record, SCAN_ARC);
  }

  /** Whether the record contains only a part of its block, with the rest in other records. */
  get isSegmented(): boolean {
    return this.#batch.has(this.#record, SCAN_SEGMENTED);
  }

  /** Whether the text of the head can be written again byte for byte. */
  get isUtf8(): boolean {
    return !this.#batch.has(this.#record, SCAN_NOT_UTF8);
  }

  get isOdd(): boolean {
    return this.#batch.has(this.#record, SCAN_ODD);
  }

  /** Whether the standard asks for other line ends or members than the record has. */
  get isLoose(): boolean {
    return this.#batch.has(this.#record, SCAN_LOOSE);
  }

  /** Whether the file ends inside the record's member. */
  get isTorn(): boolean {
    return this.#batch.has(this.#record, SCAN_TORN);
  }

  get status(): number {
    return this.#batch.columns.status[this.#record]!;
  }

  get mime(): string {
    return bareMime(this.#text(AT.mime));
  }

  get payloadBytes(): number {
    return this.#batch.columns.payloadBytes[this.#record]!;
  }

  get payloadDigest(): Uint8Array {
    this.#payloadDigest ??= this.#batch.digest(this.#record);
    return this.#payloadDigest;
  }

  get declaredDigest(): string {
    return this.#text(AT.payloadDigest);
  }

  get refersTo(): string {
    return this.#text(AT.refersTo);
  }

  get refersToUri(): string {
    return unbracketed(this.#text(AT.refersToTargetUri));
  }

  get refersToDate(): string {
    return this.#text(AT.refersToDate);
  }

  get profile(): string {
    return this.#text(AT.profile);
  }

  get concurrentTo(): string {
    return this.#text(AT.concurrentTo);
  }

  get captureId(): string {
    const written = this.#text(AT.captureId);
    if (this.#again === 0) return written;
    const id = captureIdOf({ ...this.#named(), captureId: written });
    return `again:${this.#again}:${id.replace(AGAIN, '')}`;
  }

  /** Whether the capture has another id than in the file, so that the record cannot be copied. */
  get isAgain(): boolean {
    return this.#again > 0;
  }

  /**
   * The facts of this record as another capture, since the captures that it was before are deleted (C5). The id is
   * `again:<n>:<id in the file>`.
   */
  addedAgain(): ScanFacts {
    const before = AGAIN.exec(this.captureId);
    return new ScanFacts(this.#batch, this.#record, before ? Number(before[1]) + 1 : 1);
  }

  #named(): Named {
    const { recordId, url, date, payloadDigest } = this;
    return { captureId: '', recordId, url, date, payloadDigest };
  }

  get overflow(): number {
    return Number(this.#text(AT.overflow) || 0);
  }

  get content(): string {
    return this.#text(AT.content);
  }

  get alsoDeclared(): string {
    return this.#text(AT.alsoDeclared);
  }

  /** The CARRIED_FIELDS of a response. The scan has to include them. */
  carriedFields(): Field[] {
    return this.#batch.responseFields(this.#record);
  }

  /** The HTTP head, for a scan with HTTP heads. */
  get httpHead(): Uint8Array {
    return this.#batch.httpHead(this.#record);
  }

  #text(index: number): string {
    return this.#batch.textAt(this.#record, index);
  }
}

/** The index of each text of a record. */
const AT = {
  ...(Object.fromEntries(SCAN_TEXTS.map((name, index) => [name, index])) as Record<ScanText, number>),
  captureId: SCAN_TEXTS.length,
  overflow: SCAN_TEXTS.length + 1,
  content: SCAN_TEXTS.length + 2,
  alsoDeclared: SCAN_TEXTS.length + 3,
  sourceDate: SCAN_TEXTS.length + 4,
};

export function factsOfRecord(
  head: RecordHead,
  block: BlockFacts,
  length: number | undefined,
  isComplete: boolean,
): RecordFacts {
  const mime = block.http ? block.http.get('content-type') : (head.get('arc-mime') ?? head.contentType);
  const named = {
    type: head.type,
    url: head.targetUri ?? '',
    date: head.standardDate ?? head.date ?? '',
    recordId: head.recordId ?? '',
    payloadDigest: block.payloadDigests[0]!.bytes,
    captureId: head.get(CAPTURE_ID_FIELD) ?? '',
    isHttp: block.http !== undefined,
    isArc: head.format === 'arc',
  };
  return {
    ...named,
    ...captureFacts(named),
    offset: head.offset,
    length,
    innerOffset: head.innerOffset,
    isComplete,
    isOdd: head.form === 'odd',
    status: block.http?.status ?? 0,
    mime: bareMime(mime ?? ''),
    payloadBytes: block.payloadBytes,
    declaredDigest: head.get('warc-payload-digest') ?? '',
    refersTo: head.get('warc-refers-to') ?? '',
    refersToUri: unbracketed(head.get('warc-refers-to-target-uri') ?? ''),
    refersToDate: head.get('warc-refers-to-date') ?? '',
    profile: head.get('warc-profile') ?? '',
    concurrentTo: head.get('warc-concurrent-to') ?? '',
    overflow: Number(head.get(OVERFLOW_FIELD) ?? 0),
    content: head.get(CONTENT_FIELD) ?? '',
    alsoDeclared: head.get(DECLARED_FIELD) ?? '',
  };
}

/** For each record, the captures that it may be: captures with its key, time and hash. */
export function findCapturesOf(catalog: CatalogView, records: readonly RecordFacts[]): Promise<(readonly Capture[])[]> {
  return catalog.findCaptures(
    records.map(({ urlKey: key, time, hash: ofHash }) => ({ urlKey: key, time: time!, ofHash })),
  );
}

/** For each record of a segment, its capture: a list of one capture or none. */
export function findCapturesIn(
  catalog: CatalogView,
  segment: number,
  records: readonly RecordFacts[],
): Promise<(readonly Capture[])[]> {
  return catalog.findCaptures(
    records.map(({ urlKey: key, time, offset }) => ({ urlKey: key, time: time!, at: { segment, offset } })),
  );
}

/** What the id of a capture begins with that was added again after it was deleted. */
const AGAIN = /^again:(\d+):/;

const CAPTURE_KINDS = new Set(['response', 'revisit', 'resource', 'conversion']);
const NO_CAPTURE: CaptureFacts = { kind: undefined, time: undefined, urlKey: '' as UrlKey, hash: 0 };

type Named = Pick<RecordFacts, 'captureId' | 'recordId' | 'url' | 'date' | 'payloadDigest'>;

/** Whether a record would be a capture but is not in the index, since it does not have a valid date. */
export function isUndated({ type, kind, date }: RecordFacts): boolean {
  return kind === undefined && (type === '' || CAPTURE_KINDS.has(type)) && parseW3cDate(date) === undefined;
}

/** An ARC document that is not an HTTP message is a resource, which it also becomes when it is copied. */
function captureFacts(named: Named & Pick<RecordFacts, 'type' | 'isArc' | 'isHttp'>): CaptureFacts {
  const time = CAPTURE_KINDS.has(named.type) && named.url !== '' ? parseW3cDate(named.date) : undefined;
  if (time === undefined) return NO_CAPTURE;
  const kind = named.isArc && !named.isHttp ? 'resource' : (named.type as CaptureKind);
  return { kind, time, urlKey: urlKey(named.url), hash: recordHash(captureIdOf(named)) };
}

/**
 * Distinguishes a capture from others of the same URL and time. It is the id of the record. ARC records do not have
 * ids, and get a name made from the captured data. Records that are written anew for a capture keep this id.
 */
export function captureIdOf(facts: Named): string {
  if (facts.captureId || facts.recordId) return facts.captureId || facts.recordId;
  return `arc:${hash('sha1', `${facts.url} ${facts.date} ${toHex(facts.payloadDigest)}`)}`;
}

export function recordHash(id: string): number {
  return Number.parseInt(hash('sha1', id).slice(0, 8), 16);
}
