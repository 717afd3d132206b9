/** The operations that list objects: ListObjectsV2, and ListObjects of earlier clients. */
import { byteString, fromByteString } from '../objects/folder-names.ts';
import { type ListPage, listKeys } from '../objects/key-listing.ts';
import type { ObjectInfo } from '../objects/object-store.ts';
import { S3Error } from '../objects/s3-error.ts';
import { quoted } from './object-conditions.ts';
import { type Operation, requireBucketRight, requireExistingBucket, sendXml } from './operation.ts';
import { percentEncoded } from './request-target.ts';
import { element, group, xmlDocument } from './xml-text.ts';

const ENTRIES_MAX = 1000;
const INFOS_AT_ONCE = 16;
/** Sorts after every key that begins with the text before it. */
const AFTER_ALL = '\xff';

export async function listObjectsV2(operation: Operation): Promise<void> {
  const { query, bucket } = operation;
  const token = query.get('continuation-token');
  const startAfter = query.get('start-after');
  const after = token === undefined ? positionAfter(startAfter ?? '', query) : positionOf(token);
  const entriesMax = countOf(query, 'max-keys', ENTRIES_MAX);
  const { page, encode, inside } = await listed(operation, after, entriesMax);
  const head =
    element('Name', bucket) +
    element('Prefix', encode(query.get('prefix') ?? '')) +
    element('Delimiter', query.has('delimiter') ? encode(query.get('delimiter')!) : undefined) +
    element('StartAfter', startAfter === undefined ? undefined : encode(startAfter)) +
    element('EncodingType', query.get('encoding-type')) +
    element('KeyCount', page.entries.length) +
    element('MaxKeys', entriesMax) +
    element('IsTruncated', page.next !== undefined) +
    element('ContinuationToken', token) +
    element('NextContinuationToken', page.next === undefined ? undefined : tokenOf(page.next));
  sendXml(operation, xmlDocument('ListBucketResult', head + inside));
}

export async function listObjects(operation: Operation): Promise<void> {
  const { query, bucket } = operation;
  const marker = query.get('marker') ?? '';
  const delimiter = query.get('delimiter') ?? '';
  const entriesMax = countOf(query, 'max-keys', ENTRIES_MAX);
  const after = positionAfter(marker, query);
  const { page, encode, inside } = await listed(operation, after, entriesMax);
  const last = page.next === undefined ? undefined : page.entries.at(-1);
  const head =
    element('Name', bucket) +
    element('Prefix', encode(query.get('prefix') ?? '')) +
    element('Marker', encode(marker)) +
    element('Delimiter', delimiter === '' ? undefined : encode(delimiter)) +
    element('EncodingType', query.get('encoding-type')) +
    element('MaxKeys', entriesMax) +
    element('IsTruncated', page.next !== undefined) +
    element('NextMarker', last && encode(fromByteString(last.text)));
  sendXml(operation, xmlDocument('ListBucketResult', head + inside));
}

/** Where a list begins that continues after a key, or after all keys of a common prefix. */
function positionAfter(marker: string, query: ReadonlyMap<string, string>): string {
  const prefix = query.get('prefix') ?? '';
  const delimiter = query.get('delimiter') ?? '';
  const end = delimiter === '' ? -1 : marker.indexOf(delimiter, prefix.length);
  const isPrefix = end >= 0 && marker.startsWith(prefix) && end + delimiter.length === marker.length;
  return byteString(marker) + (isPrefix ? AFTER_ALL : '');
}

type Listed = {
  readonly page: ListPage;
  readonly encode: (text: string) => string;
  /** The entries as XML. */
  readonly inside: string;
};

async function listed(operation: Operation, after: string, entriesMax: number): Promise<Listed> {
  requireBucketRight(operation);
  const { query, store, bucket, signed } = operation;
  await requireExistingBucket(operation);
  const encode = encoder(query.get('encoding-type'));
  const page = await listKeys(store.names, {
    bucketFolder: store.bucketFolder(bucket),
    prefix: byteString(query.get('prefix') ?? ''),
    rightsPrefix: byteString(signed.accessKey.prefix),
    delimiter: byteString(query.get('delimiter') ?? ''),
    after,
    entriesMax,
  });
  const texts: string[] = new Array(page.entries.length).fill('');
  const waiting = page.entries.entries();
  const work = async () => {
    for (const [at, { kind, text }] of waiting) {
      const key = fromByteString(text);
      const info = kind === 'key' ? await store.listed({ bucket, key }) : undefined;
      if (kind === 'prefix') texts[at] = group('CommonPrefixes', element('Prefix', encode(key)));
      // An object that has just been deleted is left out.
      else if (info) texts[at] = group('Contents', contents(info, encode));
    }
  };
  await Promise.all(Array.from({ length: INFOS_AT_ONCE }, work));
  return { page, encode, inside: texts.join('') };
}

function contents(
  { key, mtimeMs, etag, bytes, checksums, checksumType }: ObjectInfo,
  encode: Listed['encode'],
): string {
  const algorithms = Object.keys(checksums);
  return (
    element('Key', encode(key)) +
    element('LastModified', new Date(mtimeMs).toISOString()) +
    element('ETag', quoted(etag)) +
    algorithms.map((name) => element('ChecksumAlgorithm', name.toUpperCase())).join('') +
    element('ChecksumType', algorithms.length > 0 ? checksumType : undefined) +
    element('Size', bytes) +
    element('StorageClass', 'STANDARD')
  );
}

/** A number of the query, at most `max`. */
export function countOf(query: ReadonlyMap<string, string>, name: string, max: number): number {
  const text = query.get(name);
  if (text === undefined || text === '') return max;
  if (!/^\d{1,10}$/.test(text)) throw new S3Error('InvalidArgument', `${name} must be a number.`);
  return Math.min(Number(text), max);
}

export function encoder(type: string | undefined): (text: string) => string {
  if (type === undefined) return (text) => text;
  if (type !== 'url') throw new S3Error('InvalidArgument', 'encoding-type must be url.');
  return (text) => percentEncoded(Buffer.from(text), '/');
}

function tokenOf(position: string): string {
  return Buffer.from(position, 'latin1').toString('base64url');
}

function positionOf(token: string): string {
  if (!/^[\w-]+$/.test(token))
    throw new S3Error('InvalidArgument', 'The continuation token is not one of this server.');
  return Buffer.from(token, 'base64url').toString('latin1');
}
