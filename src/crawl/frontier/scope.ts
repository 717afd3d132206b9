/**
 * Decides which URLs belong to a crawl. For a page the URL decides. An embed of a page belongs to the crawl on any
 * host. The redirect target of a seed counts as a seed: if `http://example.org/` redirects to
 * `https://www.example.org/`, both are seeds.
 */

import type { CrawlSettings } from '../settings.ts';
import { domainOf, hostName } from './frontier-url.ts';
import type { Offer } from './known-url.ts';
import { UrlExpression } from './url-expression.ts';

/** URLs of a sitemap are one link away from the seeds. */
export const SITEMAP_DEPTH = 1;

/** The fields of a known URL that decide whether it is wanted. */
export type KnownUrl = Pick<Offer, 'url' | 'role' | 'depth'>;

const URL_LENGTH_MAX = 2048;
const REQUEST_LENGTH_MAX = 64 * 1024;

export class Scope {
  readonly #settings: CrawlSettings;
  readonly #include: readonly UrlExpression[];
  readonly #exclude: readonly UrlExpression[];
  readonly #hosts = new Set<string>();
  readonly #domains = new Set<string>();
  /** The beginnings of URLs. They are kept by host, because a crawl may have very many seeds. */
  readonly #prefixes = new Map<string, Set<string>>();
  readonly #seeds = new Set<string>();

  constructor(settings: CrawlSettings, seeds: readonly string[]) {
    this.#settings = settings;
    this.#include = settings.include.map((pattern) => new UrlExpression(pattern, '--include'));
    this.#exclude = settings.exclude.map((pattern) => new UrlExpression(pattern, '--exclude'));
    for (const seed of seeds) this.addSeed(seed);
  }

  /** Returns whether the scope grew. */
  addSeed(url: string): boolean {
    if (this.#seeds.has(url)) return false;
    this.#seeds.add(url);
    const host = bareHost(url);
    this.#hosts.add(host);
    this.#domains.add(domainOf(url));
    const prefixes = this.#prefixes.get(host) ?? new Set();
    this.#prefixes.set(host, prefixes.add(withoutScheme(url).replace(/[^/]*$/, '')));
    return true;
  }

  /** Whether this is a seed, or the target of redirects from a seed. */
  isSeed(url: string): boolean {
    return this.#seeds.has(url);
  }

  hasPage(url: string, depth: number): boolean {
    if (url.length > URL_LENGTH_MAX || this.#isExcluded(url)) return false;
    if (this.#seeds.has(url)) return true;
    if (depth > this.#settings.depthMax) return false;
    if (this.#include.length > 0 && !this.#include.some((pattern) => pattern.test(url))) return false;
    switch (this.#settings.scope) {
      case 'host':
        return this.#hosts.has(bareHost(url));
      case 'domain':
        return this.#domains.has(domainOf(url));
      case 'prefix': {
        const bare = withoutScheme(url);
        return (
          this.#prefixes
            .get(bareHost(url))
            ?.values()
            .some((prefix) => bare.startsWith(prefix)) ?? false
        );
      }
      case 'list':
        return false;
    }
  }

  hasEmbed(url: string): boolean {
    return url.length <= URL_LENGTH_MAX && !this.#isExcluded(url);
  }

  /** Whether a rendered page may request a URL. URLs that scripts build may be long, so REQUEST_LENGTH_MAX applies. */
  hasRequest(url: string): boolean {
    return url.length <= REQUEST_LENGTH_MAX && !this.#isExcluded(url);
  }

  /**
   * Whether the settings of this run want a known URL. The run that found the URL may have had other settings.
   * `isNear`: whether pages must also be within reach of the seeds.
   */
  hasKnown({ url, role, depth }: KnownUrl, isNear = true): boolean {
    const { htmlOnly, sitemaps, depthMax } = this.#settings;
    switch (role) {
      case 'page':
        return isNear ? this.hasPage(url, depth) : !this.#isExcluded(url);
      case 'sitemap':
        return sitemaps && depthMax >= SITEMAP_DEPTH && this.hasEmbed(url);
      default:
        return !htmlOnly && this.hasRequest(url);
    }
  }

  #isExcluded(url: string): boolean {
    return this.#exclude.some((pattern) => pattern.test(url));
  }
}

/** The host without `www.`, because people write hosts with and without it. */
function bareHost(url: string): string {
  return hostName(url).replace(/^www\./, '');
}

function withoutScheme(url: string): string {
  return url.replace(/^https?:\/\/(?:www\.)?/, '').replace(/[?#].*$/s, '');
}
