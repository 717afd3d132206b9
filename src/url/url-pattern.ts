/**
 * URL patterns as people write them for CDX servers: a URL, `example.com/news/*` for all URLs with this beginning,
 * `*.example.com` for a domain with all its hosts.
 */
import type { MatchType } from './key-range.ts';

export type UrlPattern = { readonly url: string; readonly matchType: MatchType };

/**
 * The meaning of a pattern. As in other CDX servers, a `*` is a wildcard only as the first label of the host or as the
 * last character. Elsewhere it is a character of the URL, and so is `%2A` everywhere.
 */
export function parseUrlPattern(pattern: string): UrlPattern {
  const text = pattern.trim();
  const schemeEnd = /^[a-z][a-z0-9+.-]{0,63}:\/\//i.exec(text)?.[0].length ?? 0;
  if (text.startsWith('*.', schemeEnd)) {
    const rest = text.slice(schemeEnd + 2);
    const host = rest.slice(0, indexOrEnd(rest, '/'));
    return { url: typedUrl(text.slice(0, schemeEnd) + host), matchType: 'domain' };
  }
  if (text.endsWith('*')) return { url: typedUrl(text.slice(0, -1)), matchType: 'prefix' };
  return { url: typedUrl(text), matchType: 'exact' };
}

function indexOrEnd(text: string, part: string): number {
  const at = text.indexOf(part);
  return at < 0 ? text.length : at;
}

const HOST_AND_PORT = /^(?:localhost|[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63}){1,126}):\d{1,5}(?=[/?#]|$)/i;

/**
 * A URL typed by a person. `example.com:8080/a` then means a host and a port, although by the rules `example.com` is a
 * scheme. All URLs that people type pass through this function, since lookups would fail otherwise. URLs from records
 * do not.
 */
export function typedUrl(url: string): string {
  const text = url.trim();
  return HOST_AND_PORT.test(text) ? `http://${text}` : text;
}
