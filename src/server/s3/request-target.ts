/**
 * The target of a request: bucket, key and query, decoded. Names are UTF-8; other bytes are refused. A plus sign stands
 * for itself, as in the paths and queries that are signed.
 */
import { S3Error } from '../objects/s3-error.ts';

export type RequestTarget = {
  /** Path and query as received, for the signature. */
  readonly rawPath: string;
  readonly rawQuery: string;
  /** Empty for the list of buckets. */
  readonly bucket: string;
  /** Empty for the bucket itself. */
  readonly key: string;
  readonly query: ReadonlyMap<string, string>;
};

export function readTarget(url: string): RequestTarget {
  const queryAt = url.indexOf('?');
  const rawPath = queryAt < 0 ? url : url.slice(0, queryAt);
  const rawQuery = queryAt < 0 ? '' : url.slice(queryAt + 1);
  if (!rawPath.startsWith('/')) throw invalidUri();
  const slash = rawPath.indexOf('/', 1);
  const bucket = decodeText(slash < 0 ? rawPath.slice(1) : rawPath.slice(1, slash));
  const key = slash < 0 ? '' : decodeText(rawPath.slice(slash + 1));
  const query = new Map(queryPairs(rawQuery).map(([name, value]) => [decodeText(name), decodeText(value)]));
  return { rawPath, rawQuery, bucket, key, query };
}

/** Names and values, still encoded. */
export function queryPairs(rawQuery: string): [string, string][] {
  if (rawQuery === '') return [];
  return rawQuery.split('&').map((pair) => {
    const at = pair.indexOf('=');
    return at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)];
  });
}

/** The text of a percent-encoded name. */
export function decodeText(encoded: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(percentDecoded(encoded));
  } catch {
    throw invalidUri();
  }
}

/** The bytes of a percent-encoded name. A percent sign without two digits stands for itself. */
export function percentDecoded(encoded: string): Buffer {
  const text = encoded.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(text, 'latin1');
}

const UNRESERVED = /^[A-Za-z0-9\-._~]$/;
const ENCODED = Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  return UNRESERVED.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
});

/** Percent-encodes all bytes but letters, digits and `-._~`, as signatures and `encoding-type=url` need it. */
export function percentEncoded(bytes: Uint8Array, kept = ''): string {
  let text = '';
  for (const byte of bytes) {
    const character = String.fromCharCode(byte);
    text += kept.includes(character) ? character : ENCODED[byte]!;
  }
  return text;
}

function invalidUri(): S3Error {
  return new S3Error('InvalidURI', 'The URI could not be read: it must be a path in percent-encoded UTF-8.');
}
