/**
 * Bounds on the sitemaps of a site. Sitemaps come before pages. A server whose sitemaps always name further sitemaps
 * would keep a crawl from its pages.
 *
 * After BARREN_MAX sitemaps in a row without a page of the crawl, further sitemaps of the site are not read. A site has
 * at most SITEMAPS_MAX sitemaps, which is the limit of one sitemap index. A site is a registered domain, because a
 * server can also invent hosts.
 */
import { LruCache } from '../../base/index.ts';
import { domainOf } from './frontier-url.ts';

const SITEMAPS_MAX = 50_000;
const BARREN_MAX = 500;
const SITES_REMEMBERED_MAX = 10_000;

type Site = { queued: number; barren: number };

export class SitemapBounds {
  readonly #sites = new LruCache<string, Site>(SITES_REMEMBERED_MAX, () => 1);

  /** Whether no further sitemap of this site may be queued. */
  isReached(url: string): boolean {
    const { queued, barren } = this.#siteOf(url);
    return queued >= SITEMAPS_MAX || barren >= BARREN_MAX;
  }

  /** Whether the queued sitemaps of this site are no longer read. */
  isBarren(url: string): boolean {
    return this.#siteOf(url).barren >= BARREN_MAX;
  }

  countQueued(url: string): void {
    this.#siteOf(url).queued++;
  }

  /** Takes `countQueued` back, because the sitemap was queued before. */
  uncountQueued(url: string): void {
    this.#siteOf(url).queued--;
  }

  /** Counts a visited sitemap. `hasPages`: whether it names a page of the crawl. */
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
