/**
 * Ranges of keys for scans over a sorted index.
 *
 * A range is half open, [from, to), in byte order. The ends are chosen so that a range works both on bare keys and on
 * CDX or CDXJ lines, where a space follows the key: no key contains a character below `!`, and a space sorts below it.
 *
 * A host in a key is followed by `)` and a path, `,` and a further label, or `:` and a port, in this order. Other
 * characters lie between these three, so one span from `)` to `:` would include `com,example-shop)/`. Hence there are
 * several ranges. They are sorted and do not overlap.
 *
 * Keys are coarser than URLs. A range never misses a capture that the query means, but it may include captures of other
 * URLs with the same key. Code that must be exact compares the URL itself.
 */
import { hostPartOfKey } from './host.ts';
import { type UrlKey, urlKey } from './url-key.ts';

export type MatchType = 'exact' | 'prefix' | 'host' | 'domain';

export type KeyRange = { readonly from: string; readonly to: string };

export function keyRange(url: string, matchType: MatchType): KeyRange[] {
  const key = urlKey(url);
  switch (matchType) {
    case 'exact':
      return [keyItself(key)];
    case 'prefix':
      return prefixRanges(key, url);
    case 'host':
      return hostRanges(key);
    case 'domain':
      return domainRanges(key);
  }
}

export function isInRanges(key: string, ranges: readonly KeyRange[]): boolean {
  return ranges.some((range) => range.from <= key && key < range.to);
}

/** The same keys in sorted ranges that do not overlap, for walking them one after the other. */
export function unitedRanges(ranges: readonly KeyRange[]): KeyRange[] {
  const united: KeyRange[] = [];
  for (const range of ranges.toSorted((a, b) => (a.from < b.from ? -1 : 1))) {
    const last = united.at(-1);
    if (last === undefined || last.to < range.from) united.push(range);
    else if (last.to < range.to) united[united.length - 1] = { from: last.from, to: range.to };
  }
  return united;
}

function keyItself(key: string): KeyRange {
  return { from: key, to: `${key}!` };
}

/**
 * All keys that begin with the key of `url`. A final slash, which keys lose, means a page with the pages below it. For
 * `/a/`, the ranges contain the page itself, whose key ends with `/a`, its queries, and the pages below it, but not
 * `/ab`. A final `?`, which keys lose as well, means the page with any query or an empty one.
 */
function prefixRanges(key: UrlKey, url: string): KeyRange[] {
  const last = url.trimEnd().at(-1);
  const isBare = key.endsWith('/') || key.includes('?');
  if (last === '/' && !isBare) return [keyItself(key), beginningWith(`${key}/`), beginningWith(`${key}?`)];
  if (last === '?' && !key.includes('?')) return [keyItself(key), beginningWith(`${key}?`)];
  return [beginningWith(key)];
}

function beginningWith(prefix: string): KeyRange {
  const last = prefix.charCodeAt(prefix.length - 1);
  // Only keys of ARC file names contain characters beyond printable ASCII.
  const to = last < 0x7f ? prefix.slice(0, -1) + String.fromCharCode(last + 1) : `${prefix}\u{10ffff}`;
  return { from: prefix, to };
}

/**
 * All keys of one host, on every port. When the URL names a port other than its scheme's default, only the keys on that
 * port.
 */
function hostRanges(key: UrlKey): KeyRange[] {
  const host = hostPartOfKey(key);
  if (host === '') return [keyItself(key)];
  if (key.startsWith(`${host}:`)) return [beginningWith(key.slice(0, key.indexOf(')/') + 1))];
  return [beginningWith(`${host})`), portsOf(host)];
}

/** A host and all hosts below it, on every port. */
function domainRanges(key: UrlKey): KeyRange[] {
  const host = hostPartOfKey(key);
  if (host === '') return [keyItself(key)];
  return [beginningWith(`${host})`), beginningWith(`${host},`), portsOf(host)];
}

/**
 * Keys of the host with a port. After an IPv6 address a port looks like a group, so some longer addresses are included.
 */
function portsOf(host: string): KeyRange {
  return host.includes(':') ? { from: `${host}:0`, to: `${host}::` } : beginningWith(`${host}:`);
}
