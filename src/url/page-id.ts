/**
 * Page ids: 64 bits of the normal form of a URL (WebBase, section 2.2), the first 8 bytes of its SHA-256, big-endian.
 *
 * WebBase drops the scheme and all trailing slashes before it hashes. Here they count, because pages under `http` and
 * `https`, or with and without the slash, do differ. SHA-256 is used rather than a checksum, so that a collision on
 * purpose takes 2^32 work, and so that ids are spread evenly over ranges. Among 100 million pages two share an id by
 * chance with probability 0.0003. An id therefore leads to a page, but does not prove its URL.
 */
import { hash } from 'node:crypto';
import { assert } from '../base/index.ts';
import { normalUrl } from './normal-url.ts';

export const PAGE_ID_VERSION = 1;

/** An unsigned integer of 64 bits. */
export type PageId = bigint;

export function pageId(url: string): PageId {
  return hash('sha256', normalUrl(url), 'buffer').readBigUInt64BE(0);
}

/** 16 hexadecimal digits in lower case; their order is the order of the ids. */
export function formatPageId(id: PageId): string {
  assert(id >= 0n && id < 1n << 64n, 'a page id has 64 bits');
  return id.toString(16).padStart(16, '0');
}

/** The id written as 16 hexadecimal digits; undefined for any other text. */
export function parsePageId(text: string): PageId | undefined {
  return /^[0-9a-f]{16}$/i.test(text) ? BigInt(`0x${text}`) : undefined;
}
