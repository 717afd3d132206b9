/** The fields of a revisit whose holder changed, with references to the new holder. */
import { parseDigest } from '../../base/index.ts';
import { CAPTURE_ID_FIELD, CONTENT_FIELD, DECLARED_FIELD } from '../../ledger/index.ts';
import { type Field, type RecordHead, revisitProfileOf, soundFields } from '../../warc/index.ts';
import type { Referent } from './referent.ts';

const REPLACED_FIELDS = new Set([
  'warc-refers-to',
  'warc-refers-to-target-uri',
  'warc-refers-to-date',
  'warc-record-id',
  'warc-previous-record-id',
  CAPTURE_ID_FIELD,
  CONTENT_FIELD,
]);

const DIGEST_FIELD = 'warc-payload-digest';

/**
 * Whether another program declared the digest of a revisit for its content. A digest of another program is kept. A
 * server-not-modified revisit declares the digest of its own body, which is not the content.
 */
function isForeignDigest(head: RecordHead, text: string): boolean {
  const digest = parseDigest(text);
  const isOfContent = revisitProfileOf(head.get('warc-profile') ?? '') === 'identical-payload-digest';
  return isOfContent && digest !== undefined && digest.algorithm !== 'sha256' && head.get(DECLARED_FIELD) === undefined;
}

/**
 * The fields of a revisit after its holder changed. The record changes, so it gets a new id. It takes the payload
 * digest of the new holder's record. A digest that another program declared is kept in DECLARED_FIELD. The capture
 * keeps its id, unless it is given another one.
 */
export function repointed(
  head: RecordHead,
  referent: Referent,
  newId: string,
  captureId = head.get(CAPTURE_ID_FIELD) ?? head.recordId ?? '',
): Field[] {
  const oldDigest = head.get(DIGEST_FIELD) ?? '';
  const digest = parseDigest(referent.payloadDigest ?? '') ? referent.payloadDigest! : oldDigest;
  const kept = (soundFields(head) ?? head.fields).filter(
    ({ name }) =>
      !REPLACED_FIELDS.has(name.toLowerCase()) && (digest === oldDigest || name.toLowerCase() !== DIGEST_FIELD),
  );
  const at = Math.max(
    0,
    kept.findIndex((field) => field.name.toLowerCase() === 'content-length'),
  );
  const added: Field[] = [
    { name: 'WARC-Record-ID', value: newId },
    { name: 'WARC-Previous-Record-ID', value: head.recordId ?? '' },
    { name: CAPTURE_ID_FIELD, value: captureId },
  ];
  if (referent.content) added.push({ name: CONTENT_FIELD, value: referent.content });
  if (digest !== oldDigest) {
    added.push({ name: 'WARC-Payload-Digest', value: digest });
    if (isForeignDigest(head, oldDigest)) added.push({ name: DECLARED_FIELD, value: oldDigest });
  }
  if (referent.refersTo) added.push({ name: 'WARC-Refers-To', value: referent.refersTo });
  if (referent.refersToTargetUri) added.push({ name: 'WARC-Refers-To-Target-URI', value: referent.refersToTargetUri });
  if (referent.refersToDate) added.push({ name: 'WARC-Refers-To-Date', value: referent.refersToDate });
  return [...kept.slice(0, at), ...added, ...kept.slice(at)].map(oneLine);
}

/** A field without line ends in its value. */
export function oneLine({ name, value }: Field): Field {
  return { name, value: value.replace(/[\r\n]+/g, ' ') };
}
