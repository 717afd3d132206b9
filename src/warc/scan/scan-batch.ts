/**
 * Facts about many records, in columns: numbers in typed arrays, digests end to end, all text in one string.
 *
 * Worker threads pass their results in this form. Passing one object per record would cost more than hashing the
 * record. Columns are passed as a few buffers, and text is cut out only for the records that are looked at.
 */
import { assert, type Finding, view } from '../../base/index.ts';
import type { Field } from '../record/record-head.ts';

/** The texts of each record; their order here is their order in the batch. */
export const SCAN_TEXTS = [
  'type',
  'targetUri',
  'date',
  'recordId',
  'contentType',
  'mime',
  'payloadDigest',
  'refersTo',
  'refersToTargetUri',
  'refersToDate',
  'profile',
  'concurrentTo',
] as const;

export type ScanText = (typeof SCAN_TEXTS)[number];

/** The name of the text that holds the requested response fields. */
export const RESPONSE_FIELDS = 'response-fields';

export const SCAN_COMPLETE = 1;
export const SCAN_HTTP = 2;
export const SCAN_HTTP_MISSING = 4;
export const SCAN_CHUNKED = 8;
export const SCAN_ARC = 16;
export const SCAN_SEGMENTED = 32;
/** A request with another method than GET. */
export const SCAN_OTHER_METHOD = 64;
export const SCAN_NOT_UTF8 = 128;
/** The file ends inside the member of the record. */
export const SCAN_TORN = 256;
/** The head is odd (see `HeadForm`). */
export const SCAN_ODD = 512;
/** The head, the trailer or the members do not follow the standard. Writing the record anew corrects them. */
export const SCAN_LOOSE = 1024;

/** The columns as they are passed between threads. */
export type ScanColumns = {
  readonly count: number;
  readonly offset: Float64Array<ArrayBuffer>;
  /** Bytes in the file; -1 when the record shares its member with others. */
  readonly length: Float64Array<ArrayBuffer>;
  readonly innerOffset: Float64Array<ArrayBuffer>;
  readonly headBytes: Uint32Array<ArrayBuffer>;
  readonly blockBytes: Float64Array<ArrayBuffer>;
  readonly httpHeadBytes: Uint32Array<ArrayBuffer>;
  readonly payloadBytes: Float64Array<ArrayBuffer>;
  readonly status: Uint16Array<ArrayBuffer>;
  readonly flags: Uint16Array<ArrayBuffer>;
  readonly digestBytes: number;
  readonly digests: Uint8Array<ArrayBuffer>;
  /**
   * Names of the texts of each record: SCAN_TEXTS, then the further head fields that were requested, in lower case,
   * then RESPONSE_FIELDS if any were requested.
   */
  readonly textNames: readonly string[];
  readonly text: string;
  /** Where in `text` each value ends; textNames.length values per record. */
  readonly textEnds: Uint32Array<ArrayBuffer>;
  /** HTTP heads end to end, when they were requested; httpHeadBytes has their lengths. */
  readonly httpHeads: Uint8Array<ArrayBuffer>;
  readonly findings: readonly Finding[];
};

export function buffersOf(columns: ScanColumns): ArrayBuffer[] {
  return Object.values(columns).flatMap((column) => (ArrayBuffer.isView(column) ? [column.buffer as ArrayBuffer] : []));
}

export class ScanBatch {
  readonly file: string;
  readonly columns: ScanColumns;
  #headEnds: Float64Array | undefined;
  readonly #textIndexes: ReadonlyMap<string, number>;
  readonly #digests: Buffer;

  constructor(file: string, columns: ScanColumns) {
    this.file = file;
    this.columns = columns;
    this.#digests = view(columns.digests);
    this.#textIndexes = new Map(columns.textNames.map((name, index) => [name, index]));
  }

  get count(): number {
    return this.columns.count;
  }

  get findings(): readonly Finding[] {
    return this.columns.findings;
  }

  /** A text of a record; empty when the record has none. The name of a further head field is in lower case. */
  text(record: number, name: ScanText | `${string}-${string}`): string {
    const index = this.#textIndexes.get(name);
    assert(index !== undefined, `the scan did not request ${name}`);
    return this.textAt(record, index);
  }

  /** A text of a record, by the index of its name in `columns.textNames`. */
  textAt(record: number, index: number): string {
    const { text, textEnds, textNames } = this.columns;
    const at = record * textNames.length + index;
    const from = at === 0 ? 0 : textEnds[at - 1]!;
    const to = textEnds[at]!;
    return from === to ? '' : text.slice(from, to);
  }

  /** The requested response fields, in the order of the head. A field can occur several times. */
  responseFields(record: number): Field[] {
    const lines = this.text(record, RESPONSE_FIELDS).split('\n').slice(0, -1);
    return lines.map((line) => {
      const colon = line.indexOf(':');
      return { name: line.slice(0, colon), value: line.slice(colon + 2) };
    });
  }

  digest(record: number): Uint8Array {
    const { digestBytes } = this.columns;
    return this.#digests.subarray(record * digestBytes, (record + 1) * digestBytes);
  }

  /** The HTTP head of a record, if heads were requested; empty when it has none. */
  httpHead(record: number): Uint8Array {
    this.#headEnds ??= ends(this.columns.httpHeadBytes);
    const end = this.#headEnds[record]!;
    return this.columns.httpHeads.subarray(end - this.columns.httpHeadBytes[record]!, end);
  }

  has(record: number, flag: number): boolean {
    return (this.columns.flags[record]! & flag) !== 0;
  }
}

function ends(lengths: Uint32Array): Float64Array {
  let end = 0;
  return Float64Array.from(lengths, (length) => (end += length));
}
