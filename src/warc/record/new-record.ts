/**
 * Records to be written: every type of WARC/1.1 with the fields the standard gives it.
 *
 * ```
 *   WARC/1.1 CRLF  fields...  Content-Length CRLF  CRLF  block  CRLF CRLF
 * ```
 * Values are written on one line as they are, in UTF-8; a value with a line end in it is a bug of the caller.
 * Digests are those of the standard: the block digest covers every byte of the block, the payload digest the body
 * without transfer coding (see block-scanner.ts).
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
  /** WARC-Date as it shall be written; undefined only for a record whose date is not known. */
  readonly date: string | undefined;
  readonly targetUri?: string | undefined;
  readonly contentType?: string | undefined;
  readonly payloadDigest?: Digest | string | undefined;
  readonly blockDigest?: Digest | string | undefined;
  /** Set on revisits, and only there. */
  readonly revisit?: Revisit | undefined;
  /** Further fields in the order they shall have. */
  readonly fields?: readonly Field[];
};

export type Revisit = {
  readonly profile: RevisitProfile;
  readonly refersTo?: string | undefined;
  readonly refersToTargetUri?: string | undefined;
  readonly refersToDate?: string | undefined;
  /** Whether the block is a head whose body was left out: then the record says `WARC-Truncated: length`. */
  readonly truncated?: boolean;
};

const PROFILE_PREFIX = 'http://netpreserve.org/warc/1.1/revisit/';
const NEEDS_TARGET = new Set<RecordType>(['response', 'resource', 'request', 'revisit', 'conversion', 'continuation']);
const HAS_NO_PAYLOAD = new Set<RecordType>(['warcinfo', 'metadata']);

export const RECORD_TRAILER = utf8('\r\n\r\n');

/** The profile a WARC-Profile value names; versions and the erratum of the standard's annex are read past. */
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

/** Without tabs, which are blanks. */
const CONTROLS = /[\x00-\x08\x0a-\x1f\x7f]/;
const ALL_CONTROLS = new RegExp(CONTROLS, 'g');

/**
 * The bytes of a head, from the version line to the empty line. Other readers stop at control characters, which values
 * of other heads may bring along: they become blanks.
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

/** The head of a record whose block digest is left open: hashing can wait until somebody has time for it. */
export type OpenHead = {
  readonly bytes: Uint8Array;
  /** Where in it the text of the block digest belongs. */
  readonly digestAt: number;
};

const BLOCK_DIGEST = 'WARC-Block-Digest';
const BLOCK_DIGEST_LINE = utf8(`\r\n${BLOCK_DIGEST}: `);
/** As long as any of its kind. */
const OPEN_DIGEST: Digest = { algorithm: 'sha256', bytes: new Uint8Array(32) };

export function openHead(record: NewRecord, contentLength: number): OpenHead {
  const bytes = headBytes(fieldsOf({ ...record, blockDigest: OPEN_DIGEST }, contentLength));
  return { bytes, digestAt: view(bytes).indexOf(BLOCK_DIGEST_LINE) + BLOCK_DIGEST_LINE.length };
}

/** Writes the digest of its block into a head that was left open. */
export function closeHead({ bytes, digestAt }: OpenHead, block: Uint8Array): void {
  bytes.set(utf8(formatDigest(digestOf(OPEN_DIGEST.algorithm, block))), digestAt);
}

/** A block of `application/warc-fields`. */
export function warcFields(fields: readonly Field[]): Uint8Array {
  return utf8(fields.map(({ name, value }) => `${name}: ${value.replace(/[\r\n]+/g, ' ')}\r\n`).join(''));
}
