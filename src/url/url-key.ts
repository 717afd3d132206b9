/**
 * The key of a URL: its SURT (Sort-friendly URI Reordering Transform) by the rules of the Internet Archive,
 * `com,example)/path?a=b`.
 *
 * Captures are stored, sorted and found by this key, here and in all common CDX files. URLs that differ in scheme,
 * `www.`, letter case, trailing slash, order of query parts or session ids share a key on purpose. So the URL itself is
 * always kept beside the key and checked after a lookup. The key is derived: when the rules change, `URL_KEY_VERSION`
 * changes and keys are made again from the URLs.
 *
 * A key is printable ASCII without spaces, so that comparing strings and comparing bytes give the same order. The only
 * exceptions are the `filedesc` names of ARC files, which the rules pass through as they are.
 *
 * `urlKey` takes any string, in linear time, and never throws. It runs for every record, so plain URLs take a fast
 * path. `surt.ts` has the complete rules, and the two agree wherever the fast path answers.
 */
import { canonicalQuery, reversed, surt, wwwLength } from './surt.ts';

declare const brand: unique symbol;

export type UrlKey = string & { readonly [brand]: 'UrlKey' };

/** Changes whenever any URL's key changes. */
export const URL_KEY_VERSION = 1;

export function urlKey(url: string): UrlKey {
  return (fastKey(url) ?? surt(url)) as UrlKey;
}

const LETTER = 1;
const HOST_OTHER = 2;
const DOT = 3;
const SLASH = 4;
const QUESTION = 5;
const PARENTHESIS = 6;
const PRINTABLE = 7;

/** What each ASCII character means to the fast path; 0 means that the complete rules are needed. */
const CLASSES = new Uint8Array(128);
CLASSES.fill(PRINTABLE, 0x21, 0x7f);
CLASSES.fill(LETTER, 0x41, 0x5b);
CLASSES.fill(LETTER, 0x61, 0x7b);
CLASSES.fill(HOST_OTHER, 0x30, 0x3a);
for (const [character, meaning] of Object.entries({
  '-': HOST_OTHER,
  _: HOST_OTHER,
  '.': DOT,
  '/': SLASH,
  '?': QUESTION,
  '(': PARENTHESIS,
  '#': 0,
  '%': 0,
})) {
  CLASSES[character.charCodeAt(0)] = meaning;
}

/**
 * The key of a plain `http` URL; undefined when the complete rules are needed: for escapes, non-ASCII characters,
 * userinfo, ports, addresses, fragments, dot segments and doubled slashes.
 */
export function fastKey(url: string): string | undefined {
  const hostAt = url.startsWith('http://') ? 7 : url.startsWith('https://') ? 8 : 0;
  if (hostAt === 0) return undefined;
  const pathAt = plainHostEnd(url, hostAt);
  if (pathAt === 0) return undefined;
  const length = url.length;
  let queryAt = length;
  let before = 0;
  for (let at = pathAt; at < length; at++) {
    const code = url.charCodeAt(at);
    const meaning = code < 128 ? CLASSES[code]! : 0;
    if (meaning === 0) return undefined;
    if (queryAt === length) {
      if (before === SLASH && (meaning === SLASH || meaning === DOT || meaning === PARENTHESIS)) return undefined;
      if (meaning === QUESTION) queryAt = at;
      before = meaning;
    }
  }
  const host = url.slice(hostAt, pathAt).toLowerCase();
  const pathEnd = queryAt - pathAt > 1 && url.charCodeAt(queryAt - 1) === 0x2f ? queryAt - 1 : queryAt;
  const path = pathEnd === pathAt ? '/' : url.slice(pathAt, pathEnd).toLowerCase();
  const key = `${reversed(host.slice(wwwLength(host)))})${path}`;
  if (queryAt >= length - 1) return key;
  const query = canonicalQuery(url.slice(queryAt + 1).toLowerCase());
  return query === '' ? key : `${key}?${query}`;
}

/**
 * The end of a host of ordinary labels; 0 when the host has another form, has no letter (it may be an address), or is
 * followed by something other than a path.
 */
function plainHostEnd(url: string, from: number): number {
  let hasLetter = false;
  let before = DOT;
  let at = from;
  for (; at < url.length; at++) {
    const code = url.charCodeAt(at);
    const meaning = code < 128 ? CLASSES[code]! : 0;
    if (meaning === LETTER) hasLetter = true;
    else if (meaning === DOT) {
      if (before === DOT) return 0;
    } else if (meaning !== HOST_OTHER) {
      if (meaning !== SLASH) return 0;
      break;
    }
    before = meaning;
  }
  return hasLetter && before !== DOT ? at : 0;
}
