/**
 * Which operation a request is: by its method, by whether it is about the server, a bucket or an object, and by the
 * parameters of its query. Every other combination is answered with NotImplemented, also a known operation with a
 * parameter that would change its meaning.
 */

import { notImplemented, S3Error } from '../objects/s3-error.ts';
import {
  createBucket,
  deleteBucket,
  deleteObjects,
  getBucketLocation,
  getBucketVersioning,
  getObjectLockConfiguration,
  headBucket,
  listBuckets,
} from './bucket-operations.ts';
import { listObjects, listObjectsV2 } from './list-operations.ts';
import { completeMultipartUpload } from './multipart-completion.ts';
import {
  abortMultipartUpload,
  createMultipartUpload,
  listMultipartUploads,
  listParts,
  uploadPart,
  uploadPartCopy,
} from './multipart-operations.ts';
import { copyObject, deleteObject, getObject, putObject } from './object-operations.ts';
import type { OperationHandler } from './operation.ts';
import type { RequestTarget } from './request-target.ts';

type Entry = {
  readonly method: string;
  readonly place: 'server' | 'bucket' | 'object';
  /** Parameters that make it this operation. */
  readonly needs?: readonly string[];
  /** More parameters that it understands. */
  readonly takes?: readonly string[];
  /** Whether it copies from `x-amz-copy-source`. */
  readonly copies?: true;
  readonly run: OperationHandler;
};

const LIST = ['prefix', 'delimiter', 'max-keys', 'encoding-type'];
const REPLY_FIELDS = [
  'content-type',
  'content-language',
  'expires',
  'cache-control',
  'content-disposition',
  'content-encoding',
];
const READ = ['versionId', ...REPLY_FIELDS.map((name) => `response-${name}`)];

const TABLE: readonly Entry[] = [
  { method: 'GET', place: 'server', takes: ['max-buckets', 'prefix', 'bucket-region'], run: listBuckets },
  { method: 'HEAD', place: 'bucket', run: headBucket },
  { method: 'PUT', place: 'bucket', run: createBucket },
  { method: 'DELETE', place: 'bucket', run: deleteBucket },
  { method: 'GET', place: 'bucket', needs: ['location'], run: getBucketLocation },
  { method: 'GET', place: 'bucket', needs: ['versioning'], run: getBucketVersioning },
  { method: 'GET', place: 'bucket', needs: ['object-lock'], run: getObjectLockConfiguration },
  {
    method: 'GET',
    place: 'bucket',
    needs: ['uploads'],
    takes: ['prefix', 'delimiter', 'key-marker', 'upload-id-marker', 'max-uploads', 'encoding-type'],
    run: listMultipartUploads,
  },
  {
    method: 'GET',
    place: 'bucket',
    needs: ['list-type'],
    takes: [...LIST, 'continuation-token', 'start-after', 'fetch-owner'],
    run: listObjectsV2,
  },
  { method: 'GET', place: 'bucket', takes: [...LIST, 'marker'], run: listObjects },
  { method: 'POST', place: 'bucket', needs: ['delete'], run: deleteObjects },
  { method: 'PUT', place: 'object', needs: ['uploadId', 'partNumber'], copies: true, run: uploadPartCopy },
  { method: 'PUT', place: 'object', needs: ['uploadId', 'partNumber'], run: uploadPart },
  { method: 'PUT', place: 'object', copies: true, run: copyObject },
  { method: 'PUT', place: 'object', run: putObject },
  { method: 'POST', place: 'object', needs: ['uploads'], run: createMultipartUpload },
  { method: 'POST', place: 'object', needs: ['uploadId'], run: completeMultipartUpload },
  {
    method: 'GET',
    place: 'object',
    needs: ['uploadId'],
    takes: ['max-parts', 'part-number-marker', 'encoding-type'],
    run: listParts,
  },
  { method: 'DELETE', place: 'object', needs: ['uploadId'], run: abortMultipartUpload },
  { method: 'GET', place: 'object', takes: READ, run: getObject },
  { method: 'HEAD', place: 'object', takes: READ, run: getObject },
  { method: 'DELETE', place: 'object', takes: ['versionId'], run: deleteObject },
];

/** `x-id` only repeats the name of the operation. */
const ALWAYS =
  /^(?:x-id|X-Amz-(?:Algorithm|Credential|Date|Expires|SignedHeaders|Signature|Content-Sha256|Security-Token))$/;

export function operationOf(method: string, { bucket, key, query }: RequestTarget, isCopy: boolean): OperationHandler {
  const place = bucket === '' ? 'server' : key === '' ? 'bucket' : 'object';
  const names = [...query.keys()].filter((name) => !ALWAYS.test(name));
  const found = TABLE.find(
    (entry) =>
      entry.method === method &&
      entry.place === place &&
      isCopy === (entry.copies ?? false) &&
      (entry.needs ?? []).every((name) => query.has(name)) &&
      names.every((name) => entry.needs?.includes(name) || entry.takes?.includes(name)),
  );
  if (!found) throw notImplemented(`this request (${[method, place, ...names].join(' ').slice(0, 200)})`);
  if (query.get('list-type') !== undefined && query.get('list-type') !== '2')
    throw new S3Error('InvalidArgument', 'list-type must be 2.');
  if ((query.get('versionId') ?? 'null') !== 'null')
    throw new S3Error('NoSuchVersion', 'Objects have no versions here.');
  return found.run;
}
