/** URLs of the frontier: their normal form, their host for politeness, and the numbers that they are stored under. */
import { hash } from 'node:crypto';
import { getDomain } from 'tldts';
import { normalUrl, urlKey } from '../../url/index.ts';

/**
 * Host and port of a URL in normal form, to which a delay applies. `http` and `https` at their default ports give the
 * same name.
 */
export function hostName(url: string): string {
  const start = url.indexOf('//') + 2;
  const end = url.indexOf('/', start);
  return url.slice(start, end < 0 ? url.length : end);
}

/** The registered domain of a URL, or its host if it has none. */
export function domainOf(url: string): string {
  return getDomain(url, { allowPrivateDomains: true }) ?? hostName(url);
}

/** Scheme, host and port of a URL in normal form. */
export function originOf(url: string): string {
  const end = url.indexOf('/', url.indexOf('//') + 2);
  return end < 0 ? url : url.slice(0, end);
}

/** The form of a URL in the frontier; undefined when it cannot be fetched. */
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
 * Matches a percent sign that does not begin an escape. In normal form this sign would become `%25`, which means
 * something else to a server. Browsers send the sign unchanged.
 */
const STRAY_PERCENT = /%(?![0-9a-f]{2})/i;

/**
 * Matches URLs that the parser would not change: with an ordinary name or address, and without a short port, dot
 * segments, escapes or a query. Skipping the parser saves 1.4 of 1.5 microseconds for each link.
 */
const PLAIN_URL = new RegExp(
  `^https?://${[
    '(?:(?:(?!xn--)[a-z0-9][a-z0-9-]*\\.)+[a-z]{2,}|(?:(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)(?:\\.(?!:|/)|(?=[:/]))){4})',
    '(?::[1-9]\\d{3}|:[1-5]\\d{4})?/',
    '(?:[A-Za-z0-9_~-][A-Za-z0-9_~.-]*/)*(?:[A-Za-z0-9_~-][A-Za-z0-9_~.-]*)?$',
  ].join('')}`,
);

/** The number that stands for the key of a URL. */
export function keyHash(url: string): number {
  return firstSixBytes(hash('sha256', urlKey(url), 'hex'));
}

/** The number that stands for the URL itself. */
export function pageHash(url: string): number {
  return firstSixBytes(hash('sha256', url, 'hex'));
}

/** The first six bytes of a hash, as a number. */
function firstSixBytes(hex: string): number {
  return Number.parseInt(hex.slice(0, 12), 16);
}
