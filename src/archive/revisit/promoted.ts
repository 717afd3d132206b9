/**
 * Promotion of a revisit: it is written anew as a full record, with its own head and the payload of the former holder.
 */
import type { BlockKey } from '../../catalog/index.ts';
import { CAPTURE_ID_FIELD, CARRIED_FIELDS, DECLARED_FIELD, OVERFLOW_FIELD } from '../../ledger/index.ts';
import {
  type Field,
  type HttpHead,
  type NewRecord,
  type RecordHead,
  SOURCE_DATE_FIELD,
  type StreamedBlock,
} from '../../warc/index.ts';

/** Fields of a revisit that stay true for the full record. */
const KEPT_FIELDS = new Set([...CARRIED_FIELDS, DECLARED_FIELD, SOURCE_DATE_FIELD]);

/**
 * The HTTP head as its own capture had it, except the codings: the payload does not have a transfer coding, and has the
 * content coding of the record that holds it.
 */
export function withCodingsOf(ownHead: Uint8Array, holderFields: readonly Field[]): Uint8Array {
  const text = Buffer.from(ownHead).toString('latin1');
  const end = text.indexOf('\n');
  const [startLine, rest] = end < 0 ? [text.trimEnd(), ''] : [text.slice(0, end).trimEnd(), text.slice(end + 1)];
  const lines = rest
    .split(/\r?\n/)
    .filter((line) => line !== '' && !/^(transfer-encoding|content-encoding)\s*:/i.test(line));
  for (const field of holderFields)
    if (field.name.toLowerCase() === 'content-encoding') lines.push(`${field.name}: ${field.value}`);
  return Buffer.from(`${[startLine, ...lines].join('\r\n')}\r\n\r\n`, 'latin1');
}

export function isHttpType(contentType: string | undefined): boolean {
  return contentType === undefined || /^(application|message)\/http\b/i.test(contentType);
}

const NOT_MODIFIED = 304;

/** The HTTP head of a promoted revisit: its own head if it has one, otherwise the head of the former holder. */
export function promotedHttpHead(own: HttpHead | undefined, holder: HttpHead | undefined): Uint8Array {
  if (!own) return withCodingsOf(holder!.bytes, holder!.fields);
  if (own.status !== NOT_MODIFIED || !holder) return withCodingsOf(own.bytes, holder?.fields ?? own.fields);
  // A full record cannot say "not modified". The response that was not modified had this status line and this media
  // type.
  const startLine = Buffer.from(holder.bytes).toString('latin1').split(/\r?\n/, 1)[0]!;
  const ownLines = Buffer.from(own.bytes).toString('latin1').split(/\r?\n/).slice(1);
  const type = holder.get('content-type');
  const lines = ownLines.filter((line) => line !== '' && !(type && /^content-type\s*:/i.test(line)));
  if (type) lines.push(`Content-Type: ${type}`);
  return withCodingsOf(Buffer.from(`${[startLine, ...lines].join('\r\n')}\r\n\r\n`, 'latin1'), holder.fields);
}

/** The full record that a revisit becomes: its own fields, and an id of its own. */
export function fullRecord(
  own: RecordHead,
  holder: RecordHead,
  key: BlockKey,
  recordId: string,
  isHttp: boolean,
): NewRecord {
  const id = own.recordId ?? '';
  const fields = own.fields.filter((field) => KEPT_FIELDS.has(field.name.toLowerCase()));
  fields.push({ name: 'WARC-Previous-Record-ID', value: id });
  fields.push({ name: CAPTURE_ID_FIELD, value: own.get(CAPTURE_ID_FIELD) ?? id });
  if (key.overflow > 0) fields.push({ name: OVERFLOW_FIELD, value: String(key.overflow) });
  return {
    type: isHttp ? 'response' : 'resource',
    recordId,
    date: own.standardDate,
    targetUri: own.targetUri,
    payloadDigest: { algorithm: 'sha256', bytes: key.digest },
    contentType: isHttp
      ? 'application/http; msgtype=response'
      : (own.get('warc-identified-payload-type') ?? holder.contentType),
    fields,
  };
}

/** The block of a full record: the HTTP head, empty for a resource, and the payload. */
export function messageBlock(
  head: Uint8Array,
  payload: AsyncIterable<Uint8Array>,
  payloadBytes: number,
): StreamedBlock {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    if (head.length > 0) yield head;
    yield* payload;
  }
  return { length: head.length + payloadBytes, pieces: pieces() };
}
