/** The head of a revisit whose holder changed, with references to the new one. */
import { parseDigest } from '../../base/index.ts';
import { type Field, type RecordHead, revisitProfileOf, soundFields } from '../../warc/index.ts';
import { CAPTURE_ID_FIELD, CONTENT_FIELD, DECLARED_FIELD } from '../record-facts.ts';
import type { Referent } from './referent.ts';

const REPOINTED = new Set([
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
 * Whether the digest of a revisit is another writer's name for its content, which is worth keeping. A server's "not
 * modified" has the digest of its own body, which is not the content.
 */
function isOthersName(head: RecordHead, text: string): boolean {
  const digest = parseDigest(text);
  const isOfContent = revisitProfileOf(head.get('warc-profile') ?? '') === 'identical-payload-digest';
  return isOfContent && digest !== undefined && digest.algorithm !== 'sha256' && head.get(DECLARED_FIELD) === undefined;
}

/**
 * The fields of a revisit with a new holder and, since the record changes, with a new id. Its payload digest becomes
 * the one that the holder's record has. The digest of its own writer stays in DECLARED_FIELD.
 */
export function repointed(head: RecordHead, referent: Referent, newId: string): Field[] {
  const own = head.get(DIGEST_FIELD) ?? '';
  const digest = parseDigest(referent.payloadDigest ?? '') ? referent.payloadDigest! : own;
  const kept = (soundFields(head) ?? head.fields).filter(
    ({ name }) => !REPOINTED.has(name.toLowerCase()) && (digest === own || name.toLowerCase() !== DIGEST_FIELD),
  );
  const at = Math.max(
    0,
    kept.findIndex((field) => field.name.toLowerCase() === 'content-length'),
  );
  const fresh: Field[] = [
    { name: 'WARC-Record-ID', value: newId },
    { name: 'WARC-Previous-Record-ID', value: head.recordId ?? '' },
    { name: CAPTURE_ID_FIELD, value: head.get(CAPTURE_ID_FIELD) ?? head.recordId ?? '' },
  ];
  if (referent.content) fresh.push({ name: CONTENT_FIELD, value: referent.content });
  if (digest !== own) {
    fresh.push({ name: 'WARC-Payload-Digest', value: digest });
    if (isOthersName(head, own)) fresh.push({ name: DECLARED_FIELD, value: own });
  }
  if (referent.refersTo) fresh.push({ name: 'WARC-Refers-To', value: referent.refersTo });
  if (referent.refersToTargetUri) fresh.push({ name: 'WARC-Refers-To-Target-URI', value: referent.refersToTargetUri });
  if (referent.refersToDate) fresh.push({ name: 'WARC-Refers-To-Date', value: referent.refersToDate });
  return [...kept.slice(0, at), ...fresh, ...kept.slice(at)].map(oneLine);
}

/** A field without line ends in its value. */
export function oneLine({ name, value }: Field): Field {
  return { name, value: value.replace(/[\r\n]+/g, ' ') };
}
