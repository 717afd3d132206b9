/** The operations on one object: PutObject, GetObject, HeadObject, DeleteObject, CopyObject. */

import { createHash } from 'node:crypto';
import { statfs } from 'node:fs/promises';
import { toHex } from '../../base/index.ts';
import { byteRange } from '../../warc/index.ts';
import { runningChecksum } from '../objects/checksum.ts';
import { keyProblem } from '../objects/object-key.ts';
import type { ObjectInfo, OpenObject } from '../objects/object-store.ts';
import { S3Error } from '../objects/s3-error.ts';
import { CheckedBody } from './checked-body.ts';
import { copySource, openSource } from './copy-source.ts';
import { readRange, sendRange } from './file-range.ts';
import { mayAnswerRange, quoted, readCondition, writeCondition } from './object-conditions.ts';
import {
  checksumElements,
  checksumReplyFields,
  givenFields,
  objectFields,
  refuseUnknown,
  requestedChecksum,
} from './object-fields.ts';
import { type Operation, requireExistingBucket, requireObjectRight, requireRight, sendNothing } from './operation.ts';
import { sendSlowXml } from './slow-reply.ts';
import { element, xmlDocument } from './xml-text.ts';

/** This much stays free, so that the server can still note what it has to. */
const FREE_BYTES_MIN = 64 * 1024 * 1024;

export async function putObject(operation: Operation): Promise<void> {
  requireObjectRight(operation, 'write');
  const { request, response, signed, store, bucket, key } = operation;
  const condition = writeCondition(request.headers);
  const given = givenFields(request.headers);
  const body = new CheckedBody(request, response, signed);
  await requireReceivable(operation, body.length);
  const name = { bucket, key };
  // A condition that does not hold is answered before the body is sent. It is checked again when the object is made.
  condition(await store.info(name));
  await using draft = await store.newDraft(name);
  await draft.write(body.chunks());
  const { md5, checksums } = body.facts;
  const facts = { ...given, etag: toHex(md5), checksums, checksumType: 'FULL_OBJECT' as const };
  await store.commit(name, draft, facts, condition);
  sendNothing(operation, 200, { etag: quoted(facts.etag), ...checksumReplyFields(facts) });
}

export async function getObject(operation: Operation): Promise<void> {
  requireObjectRight(operation, 'read');
  const { request, response, store, bucket, key } = operation;
  const { info, handle } = await store.open({ bucket, key });
  await using _ = handle;
  const reply = readReply(operation, info);
  response.writeHead(reply.status, reply.fields);
  if (reply.status === 304 || request.method === 'HEAD') response.end();
  else await sendRange(handle, response, reply.from, reply.to);
}

type ReadReply = {
  readonly status: number;
  readonly fields: Record<string, string>;
  readonly from: number;
  readonly to: number;
};

function readReply({ request: { headers }, query }: Operation, info: ObjectInfo): ReadReply {
  const common = { ...objectFields(info), ...overriddenFields(query) };
  if (readCondition(headers, info) === 'unchanged') return { status: 304, fields: common, from: 0, to: 0 };
  const range = byteRange(mayAnswerRange(headers, info) ? headers.range : undefined, info.bytes);
  if (range.kind === 'outside')
    throw new S3Error('InvalidRange', 'The requested range is not satisfiable', {
      'content-range': `bytes */${info.bytes}`,
    });
  const [from, to] = range.kind === 'part' ? [range.from, range.to] : [0, info.bytes];
  const fields: Record<string, string> = { ...common, 'content-length': String(to - from) };
  if (range.kind === 'part') fields['content-range'] = `bytes ${from}-${to - 1}/${info.bytes}`;
  else if (String(headers['x-amz-checksum-mode']).toUpperCase() === 'ENABLED')
    Object.assign(fields, checksumReplyFields(info));
  return { status: range.kind === 'part' ? 206 : 200, fields, from, to };
}

/** Fields of the reply that the client chose, as links for browsers do. Only what is signed gets here. */
function overriddenFields(query: ReadonlyMap<string, string>): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const [name, value] of query) {
    if (name.startsWith('response-') && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)) fields[name.slice(9)] = value;
  }
  return fields;
}

export async function deleteObject(operation: Operation): Promise<void> {
  requireObjectRight(operation, 'write');
  const { request, store, bucket, key } = operation;
  const { 'if-match': match } = request.headers;
  // Deleting what is not there succeeds, unless the client wants a certain version of it.
  const condition = match === undefined ? () => {} : writeCondition({ 'if-match': match });
  await requireExistingBucket(operation);
  await store.remove({ bucket, key }, condition);
  sendNothing(operation, 204);
}

export async function copyObject(operation: Operation): Promise<void> {
  requireObjectRight(operation, 'write');
  const { request, signed, store, bucket, key } = operation;
  const { headers } = request;
  const name = { bucket, key };
  const condition = writeCondition(headers);
  const isReplacing = String(headers['x-amz-metadata-directive'] ?? 'COPY').toUpperCase() === 'REPLACE';
  refuseUnknown(headers);
  const algorithm = requestedChecksum(headers);
  const source = copySource(headers);
  requireRight(signed.accessKey, source.bucket, source.key, 'read');
  if (!isReplacing && source.bucket === bucket && source.key === key)
    throw new S3Error('InvalidRequest', 'An object can be copied to itself only with other metadata.');
  const opened = await openSource(store, source, headers);
  await using _ = opened.handle;
  await requireReceivable(operation, opened.info.bytes);
  condition(await store.info(name));
  const { fields, metadata } = isReplacing ? givenFields(headers) : opened.info;
  await sendSlowXml(operation, async () => {
    await using draft = await store.newDraft(name);
    const md5 = createHash('md5');
    const checksum = algorithm && runningChecksum(algorithm);
    await draft.write(hashed(opened, checksum ? [md5, checksum] : [md5]));
    const etag = md5.digest('hex');
    // The checksum of a composed object is not one of its bytes.
    const kept = opened.info.checksumType === 'FULL_OBJECT' ? opened.info.checksums : {};
    const checksums = checksum ? { [algorithm]: checksum.finish() } : kept;
    const facts = { fields, metadata, etag, checksums, checksumType: 'FULL_OBJECT' as const };
    const made = await store.commit(name, draft, facts, condition);
    const time = element('LastModified', new Date(made.mtimeMs).toISOString());
    return xmlDocument('CopyObjectResult', time + element('ETag', quoted(etag)) + checksumElements(facts));
  });
}

async function* hashed(
  { handle, info }: OpenObject,
  hashes: readonly { update(bytes: Uint8Array): unknown }[],
): AsyncGenerator<Uint8Array> {
  for await (const piece of readRange(handle, 0, info.bytes)) {
    for (const hash of hashes) hash.update(piece);
    yield piece;
  }
}

/** Refuses an object that cannot be kept, before its bytes are sent. */
export async function requireReceivable({ store, bucket, key }: Operation, bytes: number): Promise<void> {
  const problem = keyProblem(key);
  if (problem) throw problem;
  await requireExistingBucket({ store, bucket });
  const { bavail, bsize } = await statfs(store.root);
  if (bytes + FREE_BYTES_MIN > bavail * bsize) throw insufficientStorage();
}

export function insufficientStorage(): S3Error {
  return new S3Error('InsufficientStorage', 'The disk of the server has no space for this.');
}
