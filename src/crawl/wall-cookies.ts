/**
 * Cookies that stand before a page: a site that answers with a redirect until its cookie comes back. Only cookies of redirects are kept, for the time of a run, and sent to the hosts that they are for;
 * so a site that asks for no more than that is captured, and no page is another because of what was visited before it.
 */
import { getDomain } from 'tldts';
import type { EpochMs } from '../base/index.ts';
import type { HttpHead } from '../warc/index.ts';

type Cookie = { readonly name: string; readonly value: string; readonly since: EpochMs; readonly isSecure: boolean };

const DOMAINS_MAX = 1000;
const COOKIES_MAX = 50;
const LENGTH_MAX = 4096;
/** A name may be missing, as it is for browsers; what cannot be sent back is no cookie. */
const COOKIE = /^\s*([\x21-\x3a\x3c\x3e-\x7e]*?)\s*=\s*([\x20-\x3a\x3c-\x7e]*?)\s*(?:;|$)/;

export class WallCookies {
  /** By the host that has them alone, or by `.` and the domain whose hosts have them; and by name. */
  readonly #byDomain = new Map<string, Map<string, Cookie>>();

  /** Takes the cookies of a redirect. */
  take(url: string, head: HttpHead, now: EpochMs): void {
    const { hostname } = new URL(url);
    for (const { name, value } of head.fields)
      if (name.toLowerCase() === 'set-cookie' && value.length <= LENGTH_MAX) this.#set(hostname, value, now);
  }

  #set(hostname: string, text: string, now: EpochMs): void {
    const [, name, value] = COOKIE.exec(text) ?? [];
    const domain = attributeOf(text, 'domain')?.replace(/^\./, '').toLowerCase() ?? '';
    const isForAll =
      domain !== '' &&
      getDomain(domain, { allowPrivateDomains: true }) !== null &&
      `.${hostname}`.endsWith(`.${domain}`);
    if (!name || value === undefined || (domain !== '' && domain !== hostname && !isForAll)) return;
    const place = isForAll ? `.${domain}` : hostname;
    const cookies = this.#byDomain.get(place) ?? new Map<string, Cookie>();
    const isOver =
      Number(attributeOf(text, 'max-age') ?? 1) <= 0 || Date.parse(attributeOf(text, 'expires') ?? '') < now;
    if (isOver) cookies.delete(name);
    else if (cookies.has(name) || cookies.size < COOKIES_MAX)
      cookies.set(name, {
        name,
        value,
        since: cookies.get(name)?.since ?? now,
        isSecure: /;\s*secure\s*(;|$)/i.test(text),
      });
    if (this.#byDomain.size >= DOMAINS_MAX) this.#byDomain.clear();
    this.#byDomain.set(place, cookies);
  }

  /** What a request for a URL says of them; undefined when there is nothing to say. */
  fieldFor(url: string): string | undefined {
    const cookies = this.#for(url);
    return cookies.length === 0 ? undefined : cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  }

  /** When the last of those came up that a request for a URL has; undefined when it has none. */
  sinceFor(url: string): EpochMs | undefined {
    const cookies = this.#for(url);
    return cookies.length === 0 ? undefined : Math.max(...cookies.map(({ since }) => since));
  }

  #for(url: string): readonly Cookie[] {
    if (this.#byDomain.size === 0) return [];
    const { hostname, protocol } = new URL(url);
    const found = new Map(this.#byDomain.get(hostname));
    const parts = hostname.split('.');
    for (let at = 0; at < parts.length; at++)
      for (const [name, cookie] of this.#byDomain.get(`.${parts.slice(at).join('.')}`) ?? [])
        if (!found.has(name)) found.set(name, cookie);
    return [...found.values()].filter(({ isSecure }) => !isSecure || protocol === 'https:');
  }
}

function attributeOf(text: string, name: string): string | undefined {
  return new RegExp(`;\\s*${name}\\s*=\\s*([^;]*)`, 'i').exec(text)?.[1]?.trim();
}
