/**
 * Page ids: 64 bits of the normal form of a URL (WebBase, section 2.2), the first 8 bytes of its SHA-256, big-endian.
 *
 * WebBase drops the scheme and all trailing slashes before it hashes; here they count, because pages under `http` and
 * `https`, or with and without the slash, do differ. SHA-256 rather than a checksum: nobody can make two URLs fall
 * together on purpose by less than 2^32 work, and the ids spread evenly over ranges of storage nodes. Chance alone: 100
 * million pages share an id with probability 0.0003. An id is therefore a way to a page, never proof of its URL.
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

/** The id written as 16 hexadecimal digits, or undefined when the text is none. */
export function parsePageId(text: string): PageId | undefined {
  return /^[0-9a-f]{16}$/i.test(text) ? BigInt(`0x${text}`) : undefined;
}
