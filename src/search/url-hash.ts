/**
 * What URLs are told apart by in the link graph: 52 bits of the SHA-1 of the URL key, a number that JavaScript and SQLite hold exactly. Keys that are different and
 * hash alike would make one edge too many; nothing else rests on it.
 */
import { hash } from 'node:crypto';
import { type UrlKey, urlKey } from '../url/index.ts';

const HEX_DIGITS = 13;

/** The hash as a word of 13 hexadecimal digits: how it stands in the index of targets. */
export function targetWord(key: UrlKey): string {
  return hash('sha1', key).slice(0, HEX_DIGITS);
}

export function hashOfWord(word: string): number {
  return Number.parseInt(word, 16);
}

export function hashOfKey(key: UrlKey): number {
  return hashOfWord(targetWord(key));
}

const CACHE_URLS = 100_000;

/** Words of URLs, the recent ones remembered: a site's pages link to the same places over and over. */
export class TargetWords {
  #recent = new Map<string, string>();
  #older = new Map<string, string>();

  get(url: string): string {
    const known = this.#recent.get(url) ?? this.#older.get(url);
    if (known !== undefined) return known;
    const value = targetWord(urlKey(url));
    if (this.#recent.size >= CACHE_URLS) {
      this.#older = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(url, value);
    return value;
  }
}
