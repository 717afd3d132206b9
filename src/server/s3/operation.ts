/** What an operation of S3 gets: the request, what it is about, who sent it, and the objects. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../base/index.ts';
import { type AccessKey, isOfBucket, isWithin } from '../objects/access-keys.ts';
import type { MultipartUploads } from '../objects/multipart-uploads.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import { accessDenied, S3Error } from '../objects/s3-error.ts';
import type { RequestTarget } from './request-target.ts';
import type { SignedRequest } from './signature.ts';
import { element } from './xml-text.ts';

export type Operation = RequestTarget & {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly signed: SignedRequest;
  readonly store: ObjectStore;
  readonly uploads: MultipartUploads;
  readonly clock: Clock;
  /** The document for an error of the work, which is reported to the operator if it is a fault of the server. */
  readonly errorText: (error: unknown) => string;
};

export type OperationHandler = (operation: Operation) => Promise<void>;

/** Refuses an object that the key may not read or write, whether it exists or not. */
export function requireObjectRight({ signed, bucket, key }: Operation, right: AccessKey['rights']): void {
  requireRight(signed.accessKey, bucket, key, right);
}

export function requireRight(accessKey: AccessKey, bucket: string, key: string, right: AccessKey['rights']): void {
  if (!isWithin(accessKey, bucket, key)) throw accessDenied();
  if (right === 'write' && accessKey.rights !== 'write') throw accessDenied();
}

/** Refuses buckets that the key may not see anything of. */
export function requireBucketRight({ signed, bucket }: Operation): void {
  if (!isOfBucket(signed.accessKey, bucket)) throw accessDenied();
}

export async function requireExistingBucket({ store, bucket }: Pick<Operation, 'store' | 'bucket'>): Promise<void> {
  if (!(await store.hasBucket(bucket))) throw new S3Error('NoSuchBucket', 'The specified bucket does not exist.');
}

/** A key is the owner of what it sees. */
export function ownerElements({ accessKeyId, name }: AccessKey): string {
  return element('ID', accessKeyId) + element('DisplayName', name);
}

export function sendXml({ response }: Pick<Operation, 'response'>, xml: string, status = 200): void {
  const body = Buffer.from(xml);
  response.writeHead(status, { 'content-type': 'application/xml', 'content-length': body.length });
  response.end(response.req.method === 'HEAD' ? undefined : body);
}

export function sendNothing(
  { response }: Pick<Operation, 'response'>,
  status: number,
  fields: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, status === 204 ? fields : { ...fields, 'content-length': '0' });
  response.end();
}
