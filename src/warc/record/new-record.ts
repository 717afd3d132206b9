/**
 * The bytes of new records: every type of WARC/1.1, with the fields of the standard.
 *
 * ```
 *   WARC/1.1 CRLF  fields...  Content-Length CRLF  CRLF  block  CRLF CRLF
 * ```
 * Values are written on one line as they are, in UTF-8. A value with a line end in it is a bug of the caller. Digests
 * follow the standard: the block digest covers every byte of the block, the payload digest covers the body without
 * transfer coding (see block-scanner.ts).
 */
import { assert, type Digest, digestOf, formatDigest, utf8, view } from '../../base/index.ts';
import type { Field } from './record-head.ts';

export type RecordType =
  | 'warcinfo'
  | 'response'
  | 'request'
  | 'resource'
  | 'metadata'
  | 'revisit'
  | 'conversion'
  | 'continuation';

export type RevisitProfile = 'identical-payload-digest' | 'server-not-modified';

export type NewRecord = {
  readonly type: RecordType;
  /** With angle brackets. */
  readonly recordId: string;
  /** WARC-Date as it is to be written; undefined only for a record whose date is unknown. */
  readonly date: string | undefined;
  readonly targetUri?: string | undefined;
  readonly contentType?: string | undefined;
  readonly payloadDigest?: Digest | string | undefined;
  readonly blockDigest?: Digest | string | undefined;
  /** Set for revisits only. */
  readonly revisit?: Revisit | undefined;
  /** Further fields, in this order. */
  readonly fields?: readonly Field[];
};

export type Revisit = {
  readonly profile: RevisitProfile;
  readonly refersTo?: string | undefined;
  readonly refersToTargetUri?: string | undefined;
  readonly refersToDate?: string | undefined;
  /** Whether the block is a head without its body. Then the record has `WARC-Truncated: length`. */
  readonly truncated?: boolean;
};

const PROFILE_PREFIX = 'http://netpreserve.org/warc/1.1/revisit/';
const NEEDS_TARGET = new Set<RecordType>(['response', 'resource', 'request', 'revisit', 'conversion', 'continuation']);
const HAS_NO_PAYLOAD = new Set<RecordType>(['warcinfo', 'metadata']);

export const RECORD_TRAILER = utf8('\r\n\r\n');

/** The profile that a WARC-Profile value names. Its version, and the erratum of the standard's annex, are ignored. */
export function revisitProfileOf(value: string): RevisitProfile | undefined {
  const name = value.replace(/^<|>$/g, '').split('/').pop() ?? '';
  if (name.endsWith('identical-payload-digest')) return 'identical-payload-digest';
  return name.endsWith('server-not-modified') ? 'server-not-modified' : undefined;
}

export function fieldsOf(record: NewRecord, contentLength: number): Field[] {
  if (NEEDS_TARGET.has(record.type)) assert(record.targetUri, 'a record of this type needs a target URI');
  assert(record.type !== 'warcinfo' || !record.targetUri, 'a warcinfo record has no target URI');
  assert((record.type === 'revisit') === (record.revisit !== undefined), 'revisits, and only they, have a profile');
  assert(!HAS_NO_PAYLOAD.has(record.type) || !record.payloadDigest, 'a record of this type has no payload');
  const fields: Field[] = [];
  const put = (name: string, value: string | undefined) => {
    if (value !== undefined) fields.push({ name, value });
  };
  put('WARC-Type', record.type);
  put('WARC-Record-ID', record.recordId);
  put('WARC-Date', record.date);
  put('WARC-Target-URI', record.targetUri);
  if (record.revisit) {
    put('WARC-Profile', PROFILE_PREFIX + record.revisit.profile);
    put('WARC-Refers-To', record.revisit.refersTo);
    put('WARC-Refers-To-Target-URI', record.revisit.refersToTargetUri);
    put('WARC-Refers-To-Date', record.revisit.refersToDate);
  }
  put('WARC-Payload-Digest', digestText(record.payloadDigest));
  put(BLOCK_DIGEST, digestText(record.blockDigest));
  if (record.revisit?.truncated) put('WARC-Truncated', 'length');
  fields.push(...(record.fields ?? []));
  put('Content-Type', record.contentType);
  put('Content-Length', String(contentLength));
  return fields;
}

function digestText(digest: Digest | string | undefined): string | undefined {
  return typeof digest === 'object' ? formatDigest(digest) : digest;
}

/** Tabs are not included: they are blanks. */
const CONTROLS = /[\x00-\x08\x0a-\x1f\x7f]/;
const ALL_CONTROLS = new RegExp(CONTROLS, 'g');

/**
 * The bytes of a head, from the version line to the empty line. Values copied from other heads can contain control
 * characters, at which other readers stop: they become blanks.
 */
export function headBytes(fields: readonly Field[], version = '1.1'): Uint8Array {
  let text = `WARC/${version}\r\n`;
  for (const { name, value } of fields) {
    text += `${name}: ${CONTROLS.test(value) ? printable(name, value) : value}\r\n`;
  }
  return utf8(`${text}\r\n`);
}

function printable(name: string, value: string): string {
  assert(!/[\r\n]/.test(value), `the value of ${name} has a line end in it`);
  return value.replace(ALL_CONTROLS, ' ');
}

/** The parts of a whole record, ready for an encoder. */
export function recordParts(record: NewRecord, block: Uint8Array): Uint8Array[] {
  return [headBytes(fieldsOf(record, block.length)), block, RECORD_TRAILER];
}

/** A block in pieces; `length` is exactly their sum. */
export type StreamedBlock = { readonly length: number; readonly pieces: AsyncIterable<Uint8Array> };

/** The bytes of a whole record, ready for an encoder of streams. */
export function recordStream(head: Uint8Array, block: StreamedBlock): StreamedBlock {
  return { length: head.length + block.length + RECORD_TRAILER.length, pieces: wholeRecord(head, block) };
}

async function* wholeRecord(head: Uint8Array, block: StreamedBlock): AsyncGenerator<Uint8Array> {
  yield head;
  let left = block.length;
  for await (const piece of block.pieces) {
    left -= piece.length;
    yield piece;
  }
  assert(left === 0, `a block was declared with ${block.length} bytes and has ${block.length - left}`);
  yield RECORD_TRAILER;
}

/** The head of a record without the value of its block digest, which can be computed later, on another thread. */
export type OpenHead = {
  readonly bytes: Uint8Array;
  /** Where in the head the text of the block digest belongs. */
  readonly digestAt: number;
};

const BLOCK_DIGEST = 'WARC-Block-Digest';
const BLOCK_DIGEST_LINE = utf8(`\r\n${BLOCK_DIGEST}: `);
/** A placeholder as long as any digest of its algorithm. */
const OPEN_DIGEST: Digest = { algorithm: 'sha256', bytes: new Uint8Array(32) };

export function openHead(record: NewRecord, contentLength: number): OpenHead {
  const bytes = headBytes(fieldsOf({ ...record, blockDigest: OPEN_DIGEST }, contentLength));
  return { bytes, digestAt: view(bytes).indexOf(BLOCK_DIGEST_LINE) + BLOCK_DIGEST_LINE.length };
}

/** Writes the digest of the block into an open head. */
export function closeHead({ bytes, digestAt }: OpenHead, block: Uint8Array): void {
  bytes.set(utf8(formatDigest(digestOf(OPEN_DIGEST.algorithm, block))), digestAt);
}

/** A block of `application/warc-fields`. */
export function warcFields(fields: readonly Field[]): Uint8Array {
  return utf8(fields.map(({ name, value }) => `${name}: ${value.replace(/[\r\n]+/g, ' ')}\r\n`).join(''));
}
