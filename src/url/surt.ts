/**
 * The complete SURT rules, for any string: the reference that the fast path of `url-key.ts` is tested against.
 *
 * Order of work, which is part of the contract because the steps do not commute: trim, delete TAB CR LF, default
 * scheme, repeated `http://`, split, host (unescape, IDNA, dots, IPv4, escape, lower case, one `www<digits>.`), port,
 * path (unescape, dot segments and slashes, escape, lower case, session ids, one trailing slash), query (unescape,
 * escape, session ids, lower case, sort).
 *
 * Known quirks of the rules are kept, because keys are only useful when they equal the keys of existing indexes: an
 * escaped `&` becomes a separator (`q=a%26b`), `example.com:80/x` without a scheme has the scheme `example.com`, IPv6
 * loses its brackets. docs/conformance-url.md lists the few inputs for which the reference implementation fails and
 * this one does not.
 *
 * The time is linear in the length of the input, except for sorting the query's parts. Nothing throws.
 */
import { idnaHost } from './idna.ts';
import { ipv4Of } from './ipv4.ts';
import { escapeLower, isAscii, toByteString, unescapeRepeatedly } from './percent.ts';
import { withoutPathSession, withoutQuerySession } from './session-id.ts';

/** The key of an empty URL, as CDX files write it. */
const NO_KEY = '-';

export function surt(url: string): string {
  if (url.startsWith('filedesc')) return url;
  const bytes = withScheme(cleaned(toByteString(url)));
  if (bytes === '') return NO_KEY;
  const parts = split(bytes);
  const host = parts.host && canonicalHost(parts.host, parts.scheme);
  const path = canonicalPath(parts.path, host !== '');
  const query = canonicalQuery(escapeLower(unescapeRepeatedly(parts.query)));
  const before = host === '' ? `${parts.scheme}:` : `${reversed(host)}${canonicalPort(parts.port, parts.scheme)})`;
  return query === '' ? before + path : `${before}${path || '/'}?${query}`;
}

/** Trims ASCII white space at both ends and deletes TAB, CR and LF everywhere. */
function cleaned(bytes: string): string {
  let from = 0;
  let to = bytes.length;
  while (from < to && isSpace(bytes.charCodeAt(from))) from++;
  while (to > from && isSpace(bytes.charCodeAt(to - 1))) to--;
  const trimmed = bytes.slice(from, to);
  return /[\t\n\r]/.test(trimmed) ? trimmed.replace(/[\t\n\r]/g, '') : trimmed;
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
}

/** Adds `http://` to a URL without a scheme, and keeps the last of repeated schemes (`http://https://`). */
function withScheme(bytes: string): string {
  if (bytes === '') return bytes;
  const whole = schemeLength(bytes) > 0 ? bytes : `http://${bytes}`;
  let kept = 0;
  for (let at = 0; ; ) {
    const length = whole.startsWith('http://', at) ? 7 : whole.startsWith('https://', at) ? 8 : 0;
    if (length === 0) return whole.slice(kept);
    kept = at;
    at += length;
  }
}

/** The length of the scheme before the first colon; 0 when there is no scheme. */
function schemeLength(bytes: string): number {
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes.charCodeAt(at);
    const isLetter = (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a;
    if (isLetter) continue;
    if (at === 0) return 0;
    if (byte === 0x3a) return at;
    const isOther = (byte >= 0x30 && byte <= 0x39) || byte === 0x2b || byte === 0x2d || byte === 0x2e;
    if (!isOther) return 0;
  }
  return 0;
}

type UrlParts = { scheme: string; host: string; port: string; path: string; query: string };

function split(bytes: string): UrlParts {
  const colon = schemeLength(bytes);
  const scheme = bytes.slice(0, colon);
  const hash = indexOrEnd(bytes, '#', colon);
  const question = Math.min(indexOrEnd(bytes, '?', colon), hash);
  const query = bytes.slice(question + 1, hash);
  let pathAt = colon + 1;
  let authority = '';
  if (bytes.startsWith('//', pathAt)) {
    const slash = bytes.indexOf('/', pathAt + 2);
    const end = slash < 0 || slash > question ? question : slash;
    authority = bytes.slice(pathAt + 2, end);
    pathAt = end;
  }
  const path = bytes.slice(pathAt, question);
  const { host, port } = splitAuthority(authority);
  if (host === '' && path !== '' && scheme.startsWith('http')) return { scheme, port, query, ...hostFromPath(path) };
  return { scheme, host, port, path, query };
}

function indexOrEnd(text: string, part: string, from: number): number {
  const at = text.indexOf(part, from);
  return at < 0 ? text.length : at;
}

/** Host and port of the text between `//` and the path; userinfo is dropped. */
function splitAuthority(authority: string): { host: string; port: string } {
  let end = authority.length;
  while (end > 0 && authority.charCodeAt(end - 1) === 0x3a) end--;
  const hostAndPort = authority.slice(authority.lastIndexOf('@', end) + 1, end);
  const bracket = hostAndPort.indexOf('[');
  if (bracket < 0) {
    const colon = indexOrEnd(hostAndPort, ':', 0);
    return { host: hostAndPort.slice(0, colon), port: hostAndPort.slice(colon + 1) };
  }
  const close = indexOrEnd(hostAndPort, ']', bracket);
  const colon = indexOrEnd(hostAndPort, ':', close);
  return { host: hostAndPort.slice(bracket + 1, close), port: hostAndPort.slice(colon + 1) };
}

/** In `http:/example.com/a` and `http://///example.com/a` the first segment is the host. */
function hostFromPath(path: string): { host: string; path: string } {
  let from = 0;
  while (path.charCodeAt(from) === 0x2f) from++;
  const slash = indexOrEnd(path, '/', from);
  return { host: path.slice(from, slash), path: `/${path.slice(slash + 1)}` };
}

function canonicalHost(raw: string, scheme: string): string {
  let host = unescapeRepeatedly(raw);
  if (!isAscii(host)) host = idnaHost(host) ?? host;
  host = withoutOuterDots(host.replaceAll('..', '.'));
  host = ipv4Of(host) ?? escapeLower(host);
  return scheme === 'dns' ? host : host.slice(wwwLength(host));
}

function withoutOuterDots(host: string): string {
  let from = 0;
  let to = host.length;
  while (from < to && host.charCodeAt(from) === 0x2e) from++;
  while (to > from && host.charCodeAt(to - 1) === 0x2e) to--;
  return host.slice(from, to);
}

/** The length of a leading `www.`, `www2.` or the like in a lower-case host; 0 when there is none. */
export function wwwLength(host: string): number {
  if (!host.startsWith('www')) return 0;
  let at = 3;
  while (host.charCodeAt(at) >= 0x30 && host.charCodeAt(at) <= 0x39) at++;
  return host.charCodeAt(at) === 0x2e ? at + 1 : 0;
}

/** The labels of a host from last to first, joined by commas: `example.com` becomes `com,example`. */
export function reversed(host: string): string {
  let end = host.length;
  let dot = host.lastIndexOf('.');
  if (dot < 0) return host;
  let labels = '';
  while (dot >= 0) {
    labels += `${host.slice(dot + 1, end)},`;
    end = dot;
    dot = end === 0 ? -1 : host.lastIndexOf('.', end - 1);
  }
  return labels + host.slice(0, end);
}

/**
 * `:` and the port, unless it is the scheme's default. A port that is not a number is kept as text, so that different
 * URLs keep different keys.
 */
function canonicalPort(port: string, scheme: string): string {
  if (port === '') return '';
  const number = /^[0-9]{1,4000}$/.test(port) ? Number(port) : Number.NaN;
  if (!(number <= 65535)) return `:${escapeLower(port)}`;
  const name = scheme.toLowerCase();
  const isDefault = number === 0 || (name === 'http' && number === 80) || (name === 'https' && number === 443);
  return isDefault ? '' : `:${number}`;
}

function canonicalPath(raw: string, hasHost: boolean): string {
  const unescaped = unescapeRepeatedly(raw);
  const path = withoutPathSession(escapeLower(hasHost ? resolvedPath(unescaped) : unescaped));
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

/**
 * Resolves `.` and `..` and merges slashes. A `..` at the root stays, and the next `..` removes it.
 */
function resolvedPath(path: string): string {
  if (!path.includes('//') && !path.includes('/.')) return path === '' ? '/' : path;
  const kept: string[] = [];
  const segments = path.split('/');
  for (let index = 1; index < segments.length; index++) {
    const segment = segments[index]!;
    if (segment === '.') continue;
    if (segment === '..' && kept.length > 0) kept.pop();
    else kept.push(segment);
  }
  const last = kept.pop() ?? '';
  const directories = kept.filter((segment) => segment !== '');
  return directories.length === 0 ? `/${last}` : `/${directories.join('/')}/${last}`;
}

/** Drops session ids from a query, already escaped and in lower case, and sorts its parts by name, then value. */
export function canonicalQuery(query: string): string {
  const bare = withoutQuerySession(query);
  if (!bare.includes('&')) return bare;
  return bare.split('&').sort(compareParts).join('&');
}

/**
 * Name before value: `a=2` precedes `a-b=1` although `=` sorts after `-`. A name without `=` precedes the same name
 * with `=`.
 */
function compareParts(a: string, b: string): number {
  const aEnd = a.indexOf('=');
  const bEnd = b.indexOf('=');
  const aName = aEnd < 0 ? a : a.slice(0, aEnd);
  const bName = bEnd < 0 ? b : b.slice(0, bEnd);
  if (aName !== bName) return aName < bName ? -1 : 1;
  // When the names are equal, each rest is empty or begins with `=`.
  return a < b ? -1 : a > b ? 1 : 0;
}
