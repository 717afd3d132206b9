/**
 * The revisit that replaces a duplicate. Date, URI, IP address and HTTP head come from the duplicate. The revisit
 * refers to the URI, date and id of the original.
 *
 * The record id is derived from the ids of the two records and from the place of the duplicate, so that a killed and
 * resumed run writes the same bytes as an uninterrupted one. WARC-Previous-Record-ID names the replaced record (I4).
 */
import { digestOf, toHex, utf8 } from '../../base/index.ts';
import {
  fieldsOf,
  type HttpHead,
  isWorthRevisit,
  type NewRecord,
  type RecordHead,
  recordParts,
} from '../../warc/index.ts';
import type { PlannedOriginal } from '../plan/plan-line.ts';

/** The fields that the revisit sets itself; all others are copied from the duplicate. */
const OWN_FIELDS = new Set([
  'warc-type',
  'warc-record-id',
  'warc-date',
  'warc-target-uri',
  'warc-profile',
  'warc-refers-to',
  'warc-refers-to-target-uri',
  'warc-refers-to-date',
  'warc-payload-digest',
  'warc-block-digest',
  'warc-truncated',
  'content-type',
  'content-length',
]);

/** A line end inside of a name or value cannot be written unchanged. */
const UNREPEATABLE = /[\r\n]/;

export type RevisitSource = {
  readonly head: RecordHead;
  readonly http: HttpHead;
  readonly payloadBytes: number;
  /** The name of the duplicate's file within the collection. */
  readonly name: string;
  readonly offset: number;
  /** For a duplicate in an ARC file: the WARC record that is written when it does not become a revisit. */
  readonly converted?: NewRecord;
};

/**
 * The parts of the revisit, ready for an encoder. `unrepeatable` when the head of the duplicate cannot be repeated byte
 * for byte, `small` when its payload is not worth a revisit.
 */
export function revisitParts(
  duplicate: RevisitSource,
  original: PlannedOriginal,
): Uint8Array[] | 'unrepeatable' | 'small' {
  const { head, http, converted, payloadBytes } = duplicate;
  if (!head.isUtf8 || head.form === 'odd') return 'unrepeatable';
  const fields = (converted ? (converted.fields ?? []) : head.fields).filter(
    (field) => !OWN_FIELDS.has(field.name.toLowerCase()),
  );
  if (head.recordId) fields.push({ name: 'WARC-Previous-Record-ID', value: head.recordId });
  if (fields.some(({ name, value }) => UNREPEATABLE.test(name) || UNREPEATABLE.test(value))) return 'unrepeatable';
  const record: NewRecord = {
    type: 'revisit',
    recordId: revisitId(duplicate, original),
    date: head.date!,
    targetUri: head.targetUri,
    contentType: head.contentType ?? 'application/http; msgtype=response',
    payloadDigest: original.digestText,
    blockDigest: digestOf('sha256', http.bytes),
    revisit: {
      profile: 'identical-payload-digest',
      refersTo: original.recordId || undefined,
      refersToTargetUri: original.uri,
      refersToDate: original.date,
      truncated: true,
    },
    fields,
  };
  const own = converted ? fieldsOf(converted, http.bytes.length + payloadBytes) : head.fields;
  if (!isWorthRevisit(payloadBytes, { own, revisit: fieldsOf(record, http.bytes.length) })) return 'small';
  return recordParts(record, http.bytes);
}

function revisitId({ head, name, offset }: RevisitSource, original: PlannedOriginal): string {
  return derivedId(['revisit', name, offset, head.recordId, original.recordId, original.uri, original.date]);
}

/** A record id that is a hash of the parts. */
export function derivedId(parts: readonly unknown[]): string {
  const hex = toHex(digestOf('sha256', utf8(JSON.stringify(parts))).bytes);
  // Version 8 and variant 1 of RFC 9562: a UUID whose other bits are free to choose.
  const variant = ((Number.parseInt(hex[16]!, 16) & 3) | 8).toString(16);
  return `<urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}>`;
}
