/**
 * Digests as web archives write them: `algorithm:value`, in any letter case, hexadecimal or base32, padded or not.
 *
 * Two digests are equal when algorithm and decoded bytes are equal. Their texts are never compared: real files write
 * the same SHA-1 in at least four ways. The length of the value shows its encoding, except for MD5: there, 32
 * characters are hexadecimal unless they are padded.
 */
import { createHash, type Hash, hash } from 'node:crypto';
import { equal, fromBase32, fromHex, toBase32, toHex } from './bytes.ts';

export type DigestAlgorithm = 'md5' | 'sha1' | 'sha256' | 'sha512';

export const DIGEST_ALGORITHMS: readonly DigestAlgorithm[] = ['md5', 'sha1', 'sha256', 'sha512'];

const BYTE_LENGTH: Record<DigestAlgorithm, number> = { md5: 16, sha1: 20, sha256: 32, sha512: 64 };

export type Digest = { readonly algorithm: DigestAlgorithm; readonly bytes: Uint8Array };

/** Whether collisions of the algorithm are known: equal digests then do not prove equal contents (I7). */
export function isCollisionProne(algorithm: DigestAlgorithm): boolean {
  return algorithm === 'md5' || algorithm === 'sha1';
}

/** Reads a digest field's value; undefined when the algorithm is unknown or the value does not fit it. */
export function parseDigest(text: string): Digest | undefined {
  const colon = text.indexOf(':');
  if (colon < 0) return undefined;
  const algorithm = algorithmOf(text.slice(0, colon));
  return algorithm && parseDigestValue(algorithm, text.slice(colon + 1).trim());
}

/** Reads a value whose algorithm is known from elsewhere, as in CDX lines, which have SHA-1 without a label. */
export function parseDigestValue(algorithm: DigestAlgorithm, value: string): Digest | undefined {
  const length = BYTE_LENGTH[algorithm];
  const isHex = value.length === length * 2 && !value.includes('=');
  const bytes = isHex ? fromHex(value) : fromBase32(value);
  return bytes?.length === length ? { algorithm, bytes } : undefined;
}

function algorithmOf(label: string): DigestAlgorithm | undefined {
  const name = label
    .trim()
    .toLowerCase()
    .replace(/^(md|sha)-/, '$1');
  return DIGEST_ALGORITHMS.find((algorithm) => algorithm === name);
}

/**
 * The form that Pinakes writes: upper-case base32 for SHA-1, as is usual, lower-case hexadecimal for other algorithms.
 */
export function formatDigest(digest: Digest): string {
  const value = digest.algorithm === 'sha1' ? toBase32(digest.bytes) : toHex(digest.bytes);
  return `${digest.algorithm}:${value}`;
}

export function sameDigest(a: Digest, b: Digest): boolean {
  return a.algorithm === b.algorithm && equal(a.bytes, b.bytes);
}

export function digestOf(algorithm: DigestAlgorithm, bytes: Uint8Array): Digest {
  // If asked for bytes, the platform allocates a buffer for each digest, which takes longer than hashing a small page.
  return { algorithm, bytes: Buffer.from(hash(algorithm, bytes, 'binary'), 'latin1') };
}

/** A digest computed piece by piece. */
export class RunningDigest {
  readonly algorithm: DigestAlgorithm;
  #hash: Hash;

  constructor(algorithm: DigestAlgorithm) {
    this.algorithm = algorithm;
    this.#hash = createHash(algorithm);
  }

  update(bytes: Uint8Array): void {
    this.#hash.update(bytes);
  }

  finish(): Digest {
    return { algorithm: this.algorithm, bytes: Buffer.from(this.#hash.digest('binary'), 'latin1') };
  }
}

const EMPTY_DIGESTS = DIGEST_ALGORITHMS.map((algorithm) => digestOf(algorithm, new Uint8Array(0)));

/** Whether this is the digest of no bytes, which is never used to deduplicate or to resolve (I7). */
export function isDigestOfNothing(digest: Digest): boolean {
  return EMPTY_DIGESTS.some((empty) => sameDigest(empty, digest));
}
