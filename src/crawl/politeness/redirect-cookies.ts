/**
 * Cookies of redirects. Some sites redirect until the browser returns their cookie, and with these cookies such sites
 * can be captured. Cookies of other responses are ignored: a page must not look different because the crawl visited a
 * page that sets a language before. Cookies are kept until the end of the run, and sent to the targets of redirects.
 * Other URLs of the host get a cookie after a redirect without it led in a circle.
 */
import { getDomain } from 'tldts';
import type { EpochMs } from '../../base/index.ts';
import type { HttpHead } from '../../warc/index.ts';
import type { Cookie } from '../frontier/cookie.ts';

type HeldCookie = Omit<Cookie, 'domain' | 'value'> & { readonly value: string; isNeeded: boolean };

type Pair = readonly [name: string, value: string | undefined];

const DOMAINS_MAX = 1000;
const COOKIES_MAX = 50;
const LENGTH_MAX = 4096;
const CHANGES_MAX = DOMAINS_MAX * COOKIES_MAX;
/** A cookie that cannot be sent back is ignored. */
const NAME = /^[\x21-\x7e]+$/;
const VALUE = /^[\x20-\x7e]*$/;

export class RedirectCookies {
  /** By domain, the cookies by name. The key is a host, or `.` and a domain for the cookies of all its hosts. */
  readonly #byDomain = new Map<string, Map<string, HeldCookie>>();
  /** Cookies that changed since `takeChanges`, by domain and name. */
  readonly #changed = new Map<string, { readonly domain: string; readonly name: string }>();

  /** Adds the cookies of a redirect. */
  collect(url: string, head: HttpHead, now: EpochMs): void {
    const { hostname } = new URL(url);
    for (const { name, value } of head.fields)
      if (name.toLowerCase() === 'set-cookie' && value.length <= LENGTH_MAX) this.#set(hostname, value, now);
  }

  #set(hostname: string, text: string, now: EpochMs): void {
    const [[name, value], ...further] = text.split(';').map(nameAndValue) as [Pair, ...Pair[]];
    if (value === undefined || !NAME.test(name) || !VALUE.test(value)) return;
    const attributes = new Map(further.map(([attribute, given]) => [attribute.toLowerCase(), given]));
    const key = domainFor(hostname, (attributes.get('domain') ?? '').replace(/^\./, '').toLowerCase());
    if (key === undefined) return;
    const cookies = this.#byDomain.get(key) ?? new Map<string, HeldCookie>();
    const known = cookies.get(name);
    const isOver = Number(attributes.get('max-age') ?? 1) <= 0 || Date.parse(attributes.get('expires') ?? '') < now;
    if (isOver) cookies.delete(name);
    else if (known || cookies.size < COOKIES_MAX)
      cookies.set(name, {
        name,
        value,
        setAt: known?.setAt ?? now,
        isSecure: attributes.has('secure'),
        isNeeded: known?.isNeeded ?? false,
      });
    this.#noteChanged(key, name);
    this.#keep(key, cookies);
  }

  #keep(key: string, cookies: Map<string, HeldCookie>): void {
    this.#byDomain.delete(key);
    if (this.#byDomain.size >= DOMAINS_MAX) this.#byDomain.delete(this.#byDomain.keys().next().value!);
    if (cookies.size > 0) this.#byDomain.set(key, cookies);
  }

  /**
   * The Cookie field of a request; undefined when no cookie is sent. `isRedirected`: whether a redirect led to the URL.
   */
  fieldFor(url: string, isRedirected: boolean): string | undefined {
    const cookies = this.#for(url).filter(({ isNeeded }) => isRedirected || isNeeded);
    return cookies.length === 0 ? undefined : cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  }

  /** The time when the newest cookie for this URL was set; undefined when it has no cookie. */
  newestFor(url: string): EpochMs | undefined {
    const cookies = this.#for(url);
    return cookies.length === 0 ? undefined : Math.max(...cookies.map(({ setAt }) => setAt));
  }

  /** Marks the cookies of a URL as needed, because a redirect led back to it. */
  markNeeded(url: string): void {
    for (const cookie of this.#for(url)) cookie.isNeeded = true;
    for (const [domain, cookies] of this.#byDomain)
      for (const [name, { isNeeded }] of cookies) if (isNeeded) this.#noteChanged(domain, name);
  }

  #noteChanged(domain: string, name: string): void {
    if (this.#changed.size < CHANGES_MAX) this.#changed.set(`${domain} ${name}`, { domain, name });
  }

  /** The cookies that changed since the last call. */
  takeChanges(): Cookie[] {
    if (this.#changed.size === 0) return [];
    const changes = [...this.#changed.values()].map(({ domain, name }): Cookie => {
      const held = this.#byDomain.get(domain)?.get(name);
      return held
        ? { domain, ...held }
        : { domain, name, value: undefined, setAt: 0, isSecure: false, isNeeded: false };
    });
    this.#changed.clear();
    return changes;
  }

  /** Takes cookies that other crawlers of the run have got. */
  merge(cookies: readonly Cookie[]): void {
    for (const { domain, value, ...cookie } of cookies) {
      const held = this.#byDomain.get(domain) ?? new Map<string, HeldCookie>();
      if (value === undefined) held.delete(cookie.name);
      else if (held.has(cookie.name) || held.size < COOKIES_MAX)
        held.set(cookie.name, {
          ...cookie,
          value,
          isNeeded: cookie.isNeeded || (held.get(cookie.name)?.isNeeded ?? false),
        });
      this.#keep(domain, held);
    }
  }

  #for(url: string): readonly HeldCookie[] {
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

/** The key for a cookie that a host sets for a domain; undefined when the host may not set cookies for that domain. */
function domainFor(hostname: string, domain: string): string | undefined {
  const isForAll = getDomain(domain, { allowPrivateDomains: true }) !== null && `.${hostname}`.endsWith(`.${domain}`);
  if (isForAll) return `.${domain}`;
  return domain === '' || domain === hostname ? hostname : undefined;
}

function nameAndValue(part: string): Pair {
  const at = part.indexOf('=');
  return at < 0 ? [part.trim(), undefined] : [part.slice(0, at).trim(), part.slice(at + 1).trim()];
}
