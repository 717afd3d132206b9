/**
 * The normal form of a URL: the text that identifies a page.
 *
 * It is finer than the key: two URLs have the same normal form only when the standards call them the same URL. So
 * scheme, port, `www.`, letter case and order in path and query, trailing slash and userinfo all count. Scheme and host
 * are in lower case, the default port and the fragment are removed, and dot segments are resolved. Escapes are normal
 * (RFC 3986, 6.2.2): unreserved characters are not escaped, characters that are not allowed in a URL are, the digits of
 * escapes are in upper case, and a `%` that does not begin an escape is `%25`.
 *
 * The parser is the platform's (WHATWG). A URL that it rejects is normalised as far as its text allows. The normal form
 * of a normal form is itself, for any string; nothing throws.
 */
import { isAscii, toByteString } from './percent.ts';

export function normalUrl(url: string): string {
  let current = url;
  // Normalising can make a text acceptable to the platform. A few rounds are always enough.
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const parsed = parse(current);
    if (parsed) return fromParsed(parsed);
    const next = fromText(current);
    if (next === current) break;
    current = next;
  }
  return current;
}

const ROUNDS_MAX = 8;
const SCHEME_LENGTH_MAX = 64;
const HAS_SCHEME = /^[\x00-\x20]*[a-z][a-z0-9+.-]*:/i;

function hasScheme(url: string): boolean {
  return HAS_SCHEME.test(url.slice(0, SCHEME_LENGTH_MAX));
}

function parse(url: string): URL | null {
  if (hasEndlessHost(url)) return null;
  return URL.parse(url) ?? (hasScheme(url) ? null : URL.parse(`http://${url}`));
}

const HOST_LENGTH_MAX = 1024;
const HOST = /^[\x00-\x20]*(?:(?:https?|wss?|ftp|file):)?[/\\]*([^/\\?#]*)/i;

/**
 * The platform's time for a host of non-ASCII characters grows with the square of its length. No real host is longer
 * than this.
 */
function hasEndlessHost(url: string): boolean {
  if (url.length <= HOST_LENGTH_MAX) return false;
  const host = HOST.exec(url.replace(/[\t\n\r]/g, ''))?.[1] ?? '';
  return host.length > HOST_LENGTH_MAX && !isAscii(host.replaceAll('%', '\u0100'));
}

function fromParsed(parsed: URL): string {
  const { href, protocol, username, password, pathname, search } = parsed;
  const end = indexOrEnd(href, '#');
  // Only the whole text shows whether a query is empty or missing.
  const query = search === '' && href.charCodeAt(end - 1) === 0x3f ? '?' : search;
  const rest = normalEscapes(pathname + query);
  if (!href.startsWith('//', protocol.length)) {
    // A path that begins with two slashes would be read as an authority.
    return protocol + (pathname.startsWith('//') ? '/.' : '') + rest;
  }
  const secret = password === '' ? '' : `:${password}`;
  const userinfo = username === '' && secret === '' ? '' : `${normalEscapes(username + secret)}@`;
  return `${protocol}//${userinfo}${normalHost(parsed.host)}${rest}`;
}

function indexOrEnd(text: string, part: string): number {
  const at = text.indexOf(part);
  return at < 0 ? text.length : at;
}

/**
 * The platform writes the host in lower case only for the schemes that it knows. For other schemes it is done here;
 * escapes keep their upper case.
 */
function normalHost(host: string): string {
  return normalEscapes(host).replace(/%..|[A-Z]+/g, (found) => (found.startsWith('%') ? found : found.toLowerCase()));
}

const ESCAPE_OR_ILLEGAL = /%[0-9a-fA-F]{2}|[^!$&-;=?-Z_a-z~[\]#]/g;
const ESCAPES = Array.from({ length: 256 }, (_, byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`);

/** The normal form of each escaped byte: the character itself if it is unreserved, else the escape. */
const NORMAL = ESCAPES.map((escaped, byte) => {
  const character = String.fromCharCode(byte);
  return /[A-Za-z0-9._~-]/.test(character) ? character : escaped;
});

/** Normalises every escape, and escapes characters that are not allowed. */
function normalEscapes(text: string): string {
  return toByteString(text).replace(ESCAPE_OR_ILLEGAL, (found) =>
    found.length === 1 ? ESCAPES[found.charCodeAt(0)]! : NORMAL[Number.parseInt(found.slice(1), 16)]!,
  );
}

/** Normalises a URL that the platform rejects, as far as its text alone allows. */
function fromText(url: string): string {
  const bare = withoutEndControls(url).replace(/[\t\n\r]/g, '');
  const whole = bare.slice(0, indexOrEnd(bare, '#'));
  const colon = hasScheme(whole) ? whole.indexOf(':') : -1;
  const scheme = whole.slice(0, colon + 1).toLowerCase();
  const rest = normalEscapes(whole.slice(colon + 1));
  const authorityLength = /^\/\/[^/?]*/.exec(rest)?.[0].length ?? 0;
  return scheme + normalHost(rest.slice(0, authorityLength)) + rest.slice(authorityLength);
}

/** Trims the same characters as the platform: controls and spaces, no other white space. */
function withoutEndControls(url: string): string {
  let from = 0;
  let to = url.length;
  while (from < to && url.charCodeAt(from) <= 0x20) from++;
  while (to > from && url.charCodeAt(to - 1) <= 0x20) to--;
  return url.slice(from, to);
}
