/**
 * Bounds on the sitemaps of a site. Sitemaps come before pages, so a server whose sitemaps name ever new ones would
 * keep a crawl from its pages.
 *
 * Sitemaps without a page of the crawl end after BARREN_MAX in a row. A site that mixes pages in has SITEMAPS_MAX, as
 * many as one sitemap index may name. A site is a registered domain, since a server can make up hosts too.
 */
import { LruCache } from '../../base/index.ts';
import { domainOf } from './frontier-url.ts';

const SITEMAPS_MAX = 50_000;
const BARREN_MAX = 500;
const SITES_REMEMBERED_MAX = 10_000;

type Site = { queued: number; barren: number };

export class SitemapBounds {
  readonly #sites = new LruCache<string, Site>(SITES_REMEMBERED_MAX, () => 1);

  /** Whether no further sitemap of this site is queued or read. */
  isReached(url: string): boolean {
    const { queued, barren } = this.#siteOf(url);
    return queued >= SITEMAPS_MAX || barren >= BARREN_MAX;
  }

  /** Whether the sitemaps of this site that are queued are not read any more. */
  isBarren(url: string): boolean {
    return this.#siteOf(url).barren >= BARREN_MAX;
  }

  countQueued(url: string): void {
    this.#siteOf(url).queued++;
  }

  /** A sitemap was visited. `hasPages`: whether it names a page of the crawl. */
  countVisited(url: string, hasPages: boolean): void {
    const site = this.#siteOf(url);
    site.barren = hasPages ? 0 : site.barren + 1;
  }

  #siteOf(url: string): Site {
    const name = domainOf(url);
    const site = this.#sites.get(name) ?? { queued: 0, barren: 0 };
    this.#sites.keep(name, site);
    return site;
  }
}
