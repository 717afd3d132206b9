/**
 * Cookies that stand before a page: a site that answers with a redirect until its cookie comes back. Only cookies of
 * redirects are kept, for the time of a run. They are sent to where redirects lead; to other pages of the hosts that
 * they are for only when a redirect led in a circle without them. So a site that asks for no more than that is
 * captured, and no page is another because one was visited before that chooses a language.
 */
import { getDomain } from 'tldts';
import type { EpochMs } from '../../base/index.ts';
import type { HttpHead } from '../../warc/index.ts';

type Cookie = {
  readonly name: string;
  readonly value: string;
  readonly since: EpochMs;
  readonly isSecure: boolean;
  /** Whether a redirect led in a circle without it. */
  isNeeded: boolean;
};

type Pair = readonly [name: string, value: string | undefined];

const DOMAINS_MAX = 1000;
const COOKIES_MAX = 50;
const LENGTH_MAX = 4096;
/** What cannot be sent back is no cookie. */
const NAME = /^[\x21-\x7e]+$/;
const VALUE = /^[\x20-\x7e]*$/;

export class RedirectCookies {
  /** By the host that has them alone, or by `.` and the domain whose hosts have them; and by name. */
  readonly #byDomain = new Map<string, Map<string, Cookie>>();

  /** Takes the cookies of a redirect. */
  collect(url: string, head: HttpHead, now: EpochMs): void {
    const { hostname } = new URL(url);
    for (const { name, value } of head.fields)
      if (name.toLowerCase() === 'set-cookie' && value.length <= LENGTH_MAX) this.#set(hostname, value, now);
  }

  #set(hostname: string, text: string, now: EpochMs): void {
    const [[name, value], ...further] = text.split(';').map(nameAndValue) as [Pair, ...Pair[]];
    if (value === undefined || !NAME.test(name) || !VALUE.test(value)) return;
    const attributes = new Map(further.map(([attribute, said]) => [attribute.toLowerCase(), said]));
    const place = domainFor(hostname, (attributes.get('domain') ?? '').replace(/^\./, '').toLowerCase());
    if (place === undefined) return;
    const cookies = this.#byDomain.get(place) ?? new Map<string, Cookie>();
    const known = cookies.get(name);
    const isOver = Number(attributes.get('max-age') ?? 1) <= 0 || Date.parse(attributes.get('expires') ?? '') < now;
    if (isOver) cookies.delete(name);
    else if (known || cookies.size < COOKIES_MAX)
      cookies.set(name, {
        name,
        value,
        since: known?.since ?? now,
        isSecure: attributes.has('secure'),
        isNeeded: known?.isNeeded ?? false,
      });
    this.#byDomain.delete(place);
    if (this.#byDomain.size >= DOMAINS_MAX) this.#byDomain.delete(this.#byDomain.keys().next().value!);
    if (cookies.size > 0) this.#byDomain.set(place, cookies);
  }

  /**
   * What a request for a URL says of them; undefined when there is nothing to say. `isRedirected`: whether a redirect led
   * there.
   */
  fieldFor(url: string, isRedirected: boolean): string | undefined {
    const cookies = this.#for(url).filter(({ isNeeded }) => isRedirected || isNeeded);
    return cookies.length === 0 ? undefined : cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  }

  /** When the last of those came up that a request for a URL can have; undefined when there are none. */
  newestFor(url: string): EpochMs | undefined {
    const cookies = this.#for(url);
    return cookies.length === 0 ? undefined : Math.max(...cookies.map(({ since }) => since));
  }

  /** A redirect led back to a URL: those that it can have are needed. */
  markNeeded(url: string): void {
    for (const cookie of this.#for(url)) cookie.isNeeded = true;
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

/** Where a cookie of a host for a domain is kept; undefined when the host has no say there. */
function domainFor(hostname: string, domain: string): string | undefined {
  const isForAll = getDomain(domain, { allowPrivateDomains: true }) !== null && `.${hostname}`.endsWith(`.${domain}`);
  if (isForAll) return `.${domain}`;
  return domain === '' || domain === hostname ? hostname : undefined;
}

function nameAndValue(part: string): Pair {
  const at = part.indexOf('=');
  return at < 0 ? [part.trim(), undefined] : [part.slice(0, at).trim(), part.slice(at + 1).trim()];
}
