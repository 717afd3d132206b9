/** The header fields of objects: what clients give with an object, and what they get back with it. */
import type { IncomingHttpHeaders } from 'node:http';
import { httpDate } from '../../replay/index.ts';
import { algorithmNamed, type ChecksumAlgorithm } from '../objects/checksum.ts';
import type { ObjectFacts } from '../objects/object-facts.ts';
import type { ObjectInfo } from '../objects/object-store.ts';
import { notImplemented, S3Error } from '../objects/s3-error.ts';
import { quoted } from './object-conditions.ts';
import { element } from './xml-text.ts';

const METADATA = 'x-amz-meta-';
const METADATA_BYTES_MAX = 2048;
const FIELD_BYTES_MAX = 4096;
const KEPT_FIELDS = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-type',
  'expires',
];
/** Fields that change what an object is or who may see it. To ignore them would be a false promise. */
const REFUSED_FIELDS =
  /^x-amz-(?:server-side-encryption|object-lock-|tagging$|website-redirect-location$|grant-|copy-source-server-side-|write-offset-bytes$)/;

/** What a client says about a new object. */
export function givenFields(headers: IncomingHttpHeaders): Pick<ObjectFacts, 'fields' | 'metadata'> {
  refuseUnknown(headers);
  const fields: Record<string, string> = {};
  const metadata: Record<string, string> = {};
  let bytes = 0;
  for (const [name, value] of Object.entries(headers)) {
    const text = String(value ?? '');
    if (KEPT_FIELDS.includes(name)) {
      if (text.length > FIELD_BYTES_MAX) throw new S3Error('MetadataTooLarge', `The field ${name} is too long.`);
      const kept = name === 'content-encoding' ? withoutChunked(text) : text;
      if (kept !== '') fields[name] = kept;
    } else if (name.startsWith(METADATA)) {
      bytes += name.length - METADATA.length + text.length;
      metadata[name.slice(METADATA.length)] = text;
    }
  }
  if (bytes > METADATA_BYTES_MAX)
    throw new S3Error('MetadataTooLarge', `The metadata of an object may have ${METADATA_BYTES_MAX} bytes.`);
  return { fields, metadata };
}

/** The fields of a reply about an object, without those of its length. */
export function objectFields(info: ObjectInfo): Record<string, string> {
  const fields: Record<string, string> = {
    'content-type': 'binary/octet-stream',
    ...info.fields,
    etag: quoted(info.etag),
    'last-modified': httpDate(info.mtimeMs),
    'accept-ranges': 'bytes',
  };
  for (const [name, value] of Object.entries(info.metadata)) fields[METADATA + name] = value;
  return fields;
}

export function checksumReplyFields({
  checksums,
  checksumType,
}: Pick<ObjectFacts, 'checksums' | 'checksumType'>): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const [name, value] of Object.entries(checksums)) fields[`x-amz-checksum-${name}`] = value;
  return Object.keys(fields).length === 0 ? {} : { ...fields, 'x-amz-checksum-type': checksumType };
}

export function refuseUnknown(headers: IncomingHttpHeaders): void {
  const refused = Object.keys(headers).find((name) => REFUSED_FIELDS.test(name));
  if (refused !== undefined) throw notImplemented(`the field ${refused}`);
  const { 'x-amz-storage-class': storageClass = 'STANDARD', 'x-amz-acl': acl = 'private' } = headers;
  if (storageClass !== 'STANDARD') throw notImplemented(`the storage class ${storageClass}`);
  if (acl !== 'private' && acl !== 'bucket-owner-full-control') throw notImplemented(`the access rule ${acl}`);
}

/** `aws-chunked` is about the transfer and not about the object. */
function withoutChunked(coding: string): string {
  const codings = coding.split(',').map((one) => one.trim());
  return codings.filter((one) => one !== '' && one.toLowerCase() !== 'aws-chunked').join(',');
}

/** The checksum that the server is to compute. */
export function requestedChecksum(headers: IncomingHttpHeaders): ChecksumAlgorithm | undefined {
  const field = headers['x-amz-checksum-algorithm'];
  if (field === undefined) return undefined;
  const algorithm = algorithmNamed(String(field));
  if (!algorithm) throw notImplemented(`the checksum ${field}`);
  return algorithm;
}

export function checksumElements({ checksums }: Pick<ObjectFacts, 'checksums'>): string {
  return Object.entries(checksums)
    .map(([name, value]) => element(`Checksum${name.toUpperCase()}`, value))
    .join('');
}
