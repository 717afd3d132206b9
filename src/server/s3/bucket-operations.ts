/** The operations on buckets, as far as clients need them at their start, and DeleteObjects. */

import { isOfBucket, isWithin } from '../objects/access-keys.ts';
import { accessDenied, S3Error } from '../objects/s3-error.ts';
import { CheckedBody } from './checked-body.ts';
import { unquoted, writeCondition } from './object-conditions.ts';
import {
  type Operation,
  ownerElements,
  requireBucketRight,
  requireExistingBucket,
  sendNothing,
  sendXml,
} from './operation.ts';
import { childText, malformed, readXml, type XmlElement } from './xml-reader.ts';
import { element, group, xmlDocument } from './xml-text.ts';

/** Enough for a thousand keys, or for ten thousand parts. */
export const DOCUMENT_BYTES_MAX = 4 * 1024 * 1024;
const DELETED_MAX = 1000;
const DELETED_AT_ONCE = 16;
/** Buckets have no region here. Clients take an empty one for this. */
const REGION = 'us-east-1';

export async function listBuckets(operation: Operation): Promise<void> {
  const { signed, store } = operation;
  const seen = (await store.buckets()).filter(({ bucket }) => isOfBucket(signed.accessKey, bucket));
  const found = seen.map(({ bucket, birthtimeMs }) =>
    group('Bucket', element('Name', bucket) + element('CreationDate', new Date(birthtimeMs).toISOString())),
  );
  const owner = group('Owner', ownerElements(signed.accessKey));
  sendXml(operation, xmlDocument('ListAllMyBucketsResult', owner + group('Buckets', found.join(''))));
}

export async function headBucket(operation: Operation): Promise<void> {
  await requireBucket(operation);
  sendNothing(operation, 200, { 'x-amz-bucket-region': REGION });
}

export async function createBucket(operation: Operation): Promise<void> {
  requireBucketRight(operation);
  const { store, bucket, signed } = operation;
  if (signed.accessKey.rights !== 'write') throw accessDenied();
  if (operation.request.headers['x-amz-bucket-object-lock-enabled'] === 'true')
    throw new S3Error('NotImplemented', 'This server has no object lock.');
  if (await store.hasBucket(bucket))
    throw new S3Error('BucketAlreadyOwnedByYou', 'The bucket exists already, and this key may use it.');
  await store.makeBucket(bucket);
  sendNothing(operation, 200, { location: `/${bucket}` });
}

export async function deleteBucket(operation: Operation): Promise<void> {
  await requireBucket(operation);
  const { store, bucket, signed } = operation;
  if (signed.accessKey.bucket !== '' || signed.accessKey.rights !== 'write') throw accessDenied();
  await store.removeBucket(bucket);
  sendNothing(operation, 204);
}

export async function getBucketLocation(operation: Operation): Promise<void> {
  await requireBucket(operation);
  sendXml(operation, xmlDocument('LocationConstraint', ''));
}

export async function getBucketVersioning(operation: Operation): Promise<void> {
  await requireBucket(operation);
  sendXml(operation, xmlDocument('VersioningConfiguration', ''));
}

export async function getObjectLockConfiguration(operation: Operation): Promise<void> {
  await requireBucket(operation);
  throw new S3Error('ObjectLockConfigurationNotFoundError', 'The bucket has no object lock.');
}

export async function requireBucket(operation: Operation): Promise<void> {
  requireBucketRight(operation);
  await requireExistingBucket(operation);
}

type WantedDeletion = { readonly key: string; readonly etag: string | undefined };

export async function deleteObjects(operation: Operation): Promise<void> {
  await requireBucket(operation);
  const { request, response, signed } = operation;
  if (signed.accessKey.rights !== 'write') throw accessDenied();
  const document = readXml(await new CheckedBody(request, response, signed).read(DOCUMENT_BYTES_MAX));
  const wanted = wantedDeletions(document);
  const isQuiet = childText(document, 'Quiet')?.trim() === 'true';
  const outcomes: string[] = new Array(wanted.length).fill('');
  const waiting = wanted.entries();
  const work = async () => {
    for (const [at, deletion] of waiting) {
      const failure = await deleteOne(operation, deletion);
      const about = element('Key', deletion.key);
      if (failure)
        outcomes[at] = group('Error', about + element('Code', failure.code) + element('Message', failure.message));
      else if (!isQuiet) outcomes[at] = group('Deleted', about);
    }
  };
  await Promise.all(Array.from({ length: DELETED_AT_ONCE }, work));
  sendXml(operation, xmlDocument('DeleteResult', outcomes.join('')));
}

function wantedDeletions(document: XmlElement): WantedDeletion[] {
  const objects = document.children.filter(({ name }) => name === 'Object');
  if (document.name !== 'Delete' || objects.length === 0 || objects.length > DELETED_MAX) throw malformed();
  return objects.map((object) => {
    const key = childText(object, 'Key');
    const version = childText(object, 'VersionId') ?? 'null';
    if (key === undefined || key === '') throw malformed();
    if (version !== 'null') throw new S3Error('NoSuchVersion', 'Objects have no versions here.');
    return { key, etag: childText(object, 'ETag') };
  });
}

async function deleteOne(
  { signed, bucket, store }: Operation,
  { key, etag }: WantedDeletion,
): Promise<S3Error | undefined> {
  if (!isWithin(signed.accessKey, bucket, key)) return accessDenied();
  const condition = etag === undefined ? () => {} : writeCondition({ 'if-match': unquoted(etag) });
  try {
    await store.remove({ bucket, key }, condition);
    return undefined;
  } catch (cause) {
    if (cause instanceof S3Error) return cause;
    throw cause;
  }
}
