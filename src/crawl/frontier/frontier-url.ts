/**
 * URLs as the frontier has them: their normal form, what of them politeness is about, and the numbers they are found
 * by.
 */
import { hash } from 'node:crypto';
import { getDomain } from 'tldts';
import { normalUrl, urlKey } from '../../url/index.ts';

/**
 * Host and port of a URL in normal form, the same for `http` and `https` at their usual ports: what politeness is
 * about.
 */
export function hostName(url: string): string {
  const start = url.indexOf('//') + 2;
  const end = url.indexOf('/', start);
  return url.slice(start, end < 0 ? url.length : end);
}

/** The registered domain of a URL, or its host where it has none. */
export function domainOf(url: string): string {
  return getDomain(url, { allowPrivateDomains: true }) ?? hostName(url);
}

/** Scheme, host and port of a URL in normal form. */
export function originOf(url: string): string {
  const end = url.indexOf('/', url.indexOf('//') + 2);
  return end < 0 ? url : url.slice(0, end);
}

/** A URL as the frontier knows it; undefined when it is none that can be fetched. */
export function frontierUrl(url: string): string | undefined {
  if (PLAIN_URL.test(url)) return url;
  const parsed = URL.parse(url);
  if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.hostname === '' || parsed.port === '0') return undefined;
  parsed.username = '';
  parsed.password = '';
  const [asked = ''] = parsed.href.split('#', 1);
  return STRAY_PERCENT.test(asked) ? asked : normalUrl(asked);
}

/**
 * Begins no escape. The normal form makes `%25` of it, which is something else to a server; browsers ask for it as it
 * is.
 */
const STRAY_PERCENT = /%(?![0-9a-f]{2})/i;

/**
 * URLs that the parser would leave as they are: an ordinary name or address, no port of few digits, and no dot
 * segments, escapes or queries.
 */
const PLAIN_URL = new RegExp(
  `^https?://${[
    '(?:(?:(?!xn--)[a-z0-9][a-z0-9-]*\\.)+[a-z]{2,}|(?:(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)(?:\\.(?!:|/)|(?=[:/]))){4})',
    '(?::[1-9]\\d{3}|:[1-5]\\d{4})?/',
    '(?:[A-Za-z0-9_~-][A-Za-z0-9_~.-]*/)*(?:[A-Za-z0-9_~-][A-Za-z0-9_~.-]*)?$',
  ].join('')}`,
);

/** The number of a URL's key. */
export function keyHash(url: string): number {
  return firstSixBytes(hash('sha256', urlKey(url), 'hex'));
}

/** The number of the URL itself. */
export function pageHash(url: string): number {
  return firstSixBytes(hash('sha256', url, 'hex'));
}

/** The first six bytes of a digest, as a number. */
function firstSixBytes(hex: string): number {
  return Number.parseInt(hex.slice(0, 12), 16);
}
