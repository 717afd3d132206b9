/**
 * The host of a key, by which captures are routed.
 *
 * It is the host as the key contains it: lower case, ASCII, without port, userinfo and a leading `www.`, IPv6 without
 * brackets. `hostOf(url)` is by definition `hostOfKey(urlKey(url))`, so a capture and a lookup for this capture always
 * have the same host. A key without a host (`dns:example.com`, `urn:...`) has the host ''.
 */
import { type UrlKey, urlKey } from './url-key.ts';

export function hostOf(url: string): string {
  return hostOfKey(urlKey(url));
}

export function hostOfKey(key: UrlKey): string {
  const labels = hostPartOfKey(key);
  return labels.includes(',') ? labels.split(',').reverse().join('.') : labels;
}

/** The host part of the key, labels reversed, without port: `com,example` of `com,example:8080)/`. */
export function hostPartOfKey(key: UrlKey): string {
  const end = key.indexOf(')/');
  if (end < 0) return '';
  const part = key.slice(0, end);
  const colon = part.indexOf(':');
  if (colon < 0 || IPV6.test(part)) return part;
  // The text before the colon is a scheme, not a host, unless a port follows or a comma precedes.
  const isHost = /^[0-9]+$/.test(part.slice(colon + 1)) || part.lastIndexOf(',', colon) >= 0;
  return isHost ? part.slice(0, colon) : '';
}

/** An IPv6 address, with or without a dotted tail. A port after it looks like a last group and counts as a group. */
const IPV6 = /^[0-9a-f,]*:[0-9a-f]*:[0-9a-f:,]*$/;
