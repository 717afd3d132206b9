/**
 * Addresses of S3 volumes: `s3://bucket` or `s3://bucket/prefix`, and endpoints of servers. An address never has
 * credentials in it. The text of a refused address is not repeated when it may have a secret.
 */
import { badArgument } from '../../base/index.ts';

export type S3Place = {
  readonly bucket: string;
  /** Empty, or one or more parts joined by `/`, without a `/` at the end. */
  readonly prefix: string;
};

const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/;
/** A key has at most 1,024 bytes, and a name of an object up to 900. */
const PREFIX_BYTES_MAX = 120;
const UNSAFE = /[\u0000-\u001f\u007f\\?#%]/;

export function isS3Url(text: string): boolean {
  return /^s3:\/\//i.test(text);
}

export function parseS3Url(url: string): S3Place {
  const rest = isS3Url(url) ? url.slice('s3://'.length) : undefined;
  if (rest === undefined) throw badArgument(url, 'an address of a bucket looks like s3://bucket/prefix');
  if (rest.includes('@')) throw badArgument('s3://', 'credentials do not belong into the address of a bucket');
  const slash = rest.indexOf('/');
  const bucket = slash < 0 ? rest : rest.slice(0, slash);
  const prefix = slash < 0 ? '' : rest.slice(slash + 1).replace(/\/$/, '');
  if (!BUCKET.test(bucket)) throw badArgument(url, 'this is not a name of a bucket');
  if (UNSAFE.test(prefix)) throw badArgument(url, 'a prefix has no control characters and none of \\ ? # %');
  if (prefix !== '' && prefix.split('/').some((part) => part === '' || part === '.' || part === '..'))
    throw badArgument(url, 'no part of a prefix is empty, `.` or `..`');
  if (Buffer.byteLength(prefix) > PREFIX_BYTES_MAX)
    throw badArgument(url, `a prefix has at most ${PREFIX_BYTES_MAX} bytes`);
  return { bucket, prefix };
}

/** The address of a server, for example `https://s3.example.org:9000`. */
export function parseEndpoint(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && (url.username || url.password))
    throw badArgument('--endpoint', 'credentials do not belong into the address of a server');
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash)
    throw badArgument(text, 'the address of a server looks like https://s3.example.org');
  return url.href.replace(/\/$/, '');
}
