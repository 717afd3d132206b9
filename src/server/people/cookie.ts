/**
 * Cookies of the web page and of the replay origin. Both have 32 random bytes. With TLS their names begin with
 * `__Host-`: browsers then take them only from this very host. So another host of the domain, such as that of replay
 * with its archived scripts, can neither read nor replace them.
 */
import type { IncomingMessage } from 'node:http';
import { newSecretBytes } from './secret.ts';

const SECRET_BYTES = 32;
/** 32 bytes in base64url. */
const SECRET = /^[\w-]{43}$/;

export function newSecret(): string {
  return newSecretBytes(SECRET_BYTES).toString('base64url');
}

/** The value of a cookie; undefined when the request has none, or several, which a hostile page could have added. */
export function cookieOf({ headers }: IncomingMessage, name: string): string | undefined {
  if (headers.cookie === undefined) return undefined;
  const values = headers.cookie.split(';').flatMap((pair) => {
    const at = pair.indexOf('=');
    return pair.slice(0, at).trim() === name ? [pair.slice(at + 1).trim()] : [];
  });
  return values.length === 1 ? values[0] : undefined;
}

export function secretOf(request: IncomingMessage, name: string): string | undefined {
  const value = cookieOf(request, name);
  return value !== undefined && SECRET.test(value) ? value : undefined;
}

export function cookieName(origin: string, name: string): string {
  return origin.startsWith('https:') ? `__Host-${name}` : name;
}

/**
 * A cookie for pages of this origin. A `Strict` cookie is sent only with requests that our own pages make; the web page
 * needs no other, since it is the same for everybody and then asks who is signed in. Only the sign-in itself needs
 * `Lax`: it ends with a navigation from the provider. `seconds` 0 removes the cookie.
 */
export function ownCookie(
  origin: string,
  { name, value, seconds, sameSite = 'Strict' }: OwnCookie & { readonly sameSite?: 'Strict' | 'Lax' },
): string {
  const secure = origin.startsWith('https:') ? '; Secure' : '';
  return `${cookieName(origin, name)}=${value}; Path=/; HttpOnly; SameSite=${sameSite}; Max-Age=${seconds}${secure}`;
}

export type OwnCookie = { readonly name: string; readonly value: string; readonly seconds: number };

/**
 * A cookie of the replay origin, whose pages are in a frame of the web page. The two may be of different sites; the
 * cookie is then kept for frames of this web page only (`Partitioned`). Over plain HTTP beyond this machine, browsers
 * allow that for hosts of one site only.
 */
export function framedCookie(origin: string, { name, value, seconds }: OwnCookie): string {
  const { protocol, hostname } = new URL(origin);
  const isTrusted = protocol === 'https:' || hostname === 'localhost' || hostname.startsWith('127.');
  const rules = isTrusted ? 'SameSite=None; Secure; Partitioned' : 'SameSite=Lax';
  return `${cookieName(origin, name)}=${value}; Path=/; HttpOnly; ${rules}; Max-Age=${seconds}`;
}
