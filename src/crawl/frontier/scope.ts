/**
 * What belongs to a crawl. Pages belong by their URL; what pages need to be shown belongs wherever it lies. A seed that
 * redirects takes its scope along: who asks for `http://example.org/` means `https://www.example.org/` when the one
 * leads to the other.
 */

import type { CrawlSettings } from '../settings.ts';
import { domainOf, hostName } from './frontier-url.ts';
import type { Offer } from './known-url.ts';
import { UrlExpression } from './url-expression.ts';

/** What a sitemap names is one link away from the seeds. */
export const SITEMAP_DEPTH = 1;

/** What is known of a URL that says whether it is wanted. */
export type KnownUrl = Pick<Offer, 'url' | 'role' | 'depth'>;

const URL_LENGTH_MAX = 2048;
const REQUEST_LENGTH_MAX = 64 * 1024;

export class Scope {
  readonly #settings: CrawlSettings;
  readonly #include: readonly UrlExpression[];
  readonly #exclude: readonly UrlExpression[];
  readonly #hosts = new Set<string>();
  readonly #domains = new Set<string>();
  /** Beginnings of URLs by host: there may be very many. */
  readonly #prefixes = new Map<string, Set<string>>();
  readonly #seeds = new Set<string>();

  constructor(settings: CrawlSettings, seeds: readonly string[]) {
    this.#settings = settings;
    this.#include = settings.include.map((pattern) => new UrlExpression(pattern, '--include'));
    this.#exclude = settings.exclude.map((pattern) => new UrlExpression(pattern, '--exclude'));
    for (const seed of seeds) this.addSeed(seed);
  }

  /** Says whether the scope grew. */
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

  /** Whether this is a seed, or what one led to by redirects. */
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

  /** Whether a page that is rendered may have what it asks for. Scripts write long URLs, and mean them. */
  hasRequest(url: string): boolean {
    return url.length <= REQUEST_LENGTH_MAX && !this.#isExcluded(url);
  }

  /**
   * Whether a URL that the collection knows is wanted by the settings of this run, which may be others than those of
   * the run that found it. `isNear`: whether pages have to be within reach of the seeds too.
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

/** With and without `www.` a host is the same to people. */
function bareHost(url: string): string {
  return hostName(url).replace(/^www\./, '');
}

function withoutScheme(url: string): string {
  return url.replace(/^https?:\/\/(?:www\.)?/, '').replace(/[?#].*$/s, '');
}
