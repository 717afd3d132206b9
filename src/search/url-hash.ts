/**
 * The hash that identifies a URL in the link graph: 52 bits of the URL key, a number that JavaScript and SQLite hold
 * exactly. Two keys with the same hash would add one wrong edge and do no other harm. Attackers gain nothing from a
 * collision, because they can write the link itself.
 */
import type { Link } from '../page/index.ts';
import { type UrlKey, urlKey } from '../url/index.ts';
import { isCiting } from './document-links.ts';

const HEX_DIGITS = 13;

/** Two lanes of 32 bits with different multipliers. At the end each lane is mixed into the other. */
export function hashOfKey(key: UrlKey): number {
  let high = 0x2545f491;
  let low = 0x6c8e9cf5;
  for (let at = 0; at < key.length; at++) {
    const code = key.charCodeAt(at);
    high = Math.imul(high ^ code, 0x9e3779b1);
    low = Math.imul(low ^ code, 0x85ebca77);
  }
  high = mixed(high ^ Math.imul(low, 0xc2b2ae3d));
  low = mixed(low ^ high);
  return (high >>> 12) * 2 ** 32 + (low >>> 0);
}

function mixed(bits: number): number {
  const once = Math.imul(bits ^ (bits >>> 16), 0x7feb352d);
  const twice = Math.imul(once ^ (once >>> 15), 0x846ca68b);
  return twice ^ (twice >>> 16);
}

/** The hash as a word of 13 hexadecimal digits, as in the `targets` table. */
export function targetWord(key: UrlKey): string {
  return hashOfKey(key).toString(16).padStart(HEX_DIGITS, '0');
}

const DIGITS = Buffer.from('0123456789abcdef');

/** The words of many hashes, separated by spaces. */
export function targetWords(hashes: ArrayLike<number>): string {
  const words = Buffer.allocUnsafe(hashes.length * (HEX_DIGITS + 1));
  let at = 0;
  for (let index = 0; index < hashes.length; index++) {
    const hash = hashes[index]!;
    const high = Math.floor(hash / 2 ** 32);
    for (let shift = 16; shift >= 0; shift -= 4) words[at++] = DIGITS[(high >>> shift) & 15]!;
    const low = (hash % 2 ** 32) | 0;
    for (let shift = 28; shift >= 0; shift -= 4) words[at++] = DIGITS[(low >>> shift) & 15]!;
    words[at++] = 0x20;
  }
  return words.toString('latin1', 0, at);
}

const REMEMBERED_URLS = 20_000;

export type TargetSet = { readonly all: Float64Array; readonly cited: Float64Array };

/** Hashes of the targets of links. Recent URLs are cached, because the pages of a site link to the same URLs again. */
export class TargetHashes {
  readonly #recent = new Map<string, number>();

  /** The distinct hashes of all links, sorted, and separately the hashes of links that cite. */
  of(links: readonly Pick<Link, 'url' | 'kind'>[]): TargetSet {
    const all = new Float64Array(links.length);
    const cited = new Float64Array(links.length);
    let count = 0;
    let before = '';
    let hash = 0;
    for (const [index, link] of links.entries()) {
      // Neighbouring links often have the same target, such as a title and the words "read more" below it.
      if (link.url !== before) hash = this.#hashOf(link.url);
      before = link.url;
      all[index] = hash;
      if (isCiting(link)) cited[count++] = hash;
    }
    return { all: distinct(all), cited: distinct(cited.subarray(0, count)) };
  }

  #hashOf(url: string): number {
    const known = this.#recent.get(url);
    if (known !== undefined) return known;
    const hash = hashOfKey(urlKey(url));
    // Frequent URLs soon return to the cache.
    if (this.#recent.size >= REMEMBERED_URLS) this.#recent.clear();
    this.#recent.set(url, hash);
    return hash;
  }
}

function distinct(hashes: Float64Array): Float64Array {
  hashes.sort();
  let count = 0;
  for (let at = 0; at < hashes.length; at++)
    if (at === 0 || hashes[at] !== hashes[at - 1]) hashes[count++] = hashes[at]!;
  return hashes.slice(0, count);
}
