/** Decides which of the URLs that a visit found are offered to the frontier, and in which role. */
import type { Clock } from '../../base/index.ts';
import type { PageFindings } from '../links/link-batch.ts';
import { type FoundLink, isHint, MENU_LINKS_MAX, needDistance, type SitemapReading } from '../links/page-links.ts';
import type { Visited } from '../outcome.ts';
import { addCount, type CrawlCounts } from '../report.ts';
import type { CrawlSettings } from '../settings.ts';
import type { Frontier } from './frontier.ts';
import { frontierUrl, hostName } from './frontier-url.ts';
import { isGoneStatus, isPageRole, type Offer, type QueuedUrl, type Role } from './known-url.ts';
import { type Scope, SITEMAP_DEPTH } from './scope.ts';
import type { SitemapBounds } from './sitemap-bounds.ts';
import type { SitemapNeeds } from './sitemap-needs.ts';
import { trapOf } from './trap.ts';

export const REDIRECTS_MAX = 20;
const EMBED_HOPS_MAX = 8;
/** Unbundled modules import each other in long chains. */
const SCRIPT_HOPS_MAX = 32;

export type LinkChoiceOptions = {
  readonly frontier: Frontier;
  readonly needs: SitemapNeeds;
  readonly sitemaps: SitemapBounds;
  readonly scope: Scope;
  readonly settings: CrawlSettings;
  readonly counts: CrawlCounts;
  /** Whether URLs that the collection knows are left out. */
  readonly onlyNew: boolean;
  /** The clock that gives today's date, from which endless calendars are recognised. */
  readonly calendar: Clock;
  /** Called with the URL that a seed redirected to. */
  readonly onSeedMoved: (url: string) => void;
  /** Called when a URL was queued: with its host, its rank, and its former rank if it was queued already. */
  readonly onQueued: (host: string, rank: number, movedFrom?: number) => void;
};

/**
 * Whether links that were found on another page may be left out for this page. They may be left out if the decision
 * about a link does not depend on its page. That holds when the page is not at the limit of depth or hops, and the
 * scope can no longer grow.
 */
export function mayOmitReported(frontier: Frontier, settings: CrawlSettings, item: QueuedUrl): boolean {
  return item.depth < settings.depthMax && item.hops < EMBED_HOPS_MAX && !frontier.hasQueuedSeeds;
}

/** In its methods, `orGone` means that URLs which the collection knows as gone are offered too. */
export class LinkChoice {
  readonly #options: LinkChoiceOptions;

  constructor(options: LinkChoiceOptions) {
    this.#options = options;
  }

  /** Offers every URL that a visit found. Must be called within a transaction. */
  offerLinks(visited: Visited, { reading, sitemap }: PageFindings): void {
    const { settings, counts, needs } = this.#options;
    const { item, status } = visited.settlement;
    // If a page that was gone is back, the gone URLs that it links to may be back too.
    const orGone = isGoneStatus(item.status);
    if (visited.redirect !== undefined) this.#offerRedirect(item, visited.redirect, orGone);
    if (item.role === 'sitemap') this.#countSitemap(visited, sitemap);
    if (sitemap) {
      for (const url of sitemap.sitemaps) this.offerSitemap(url, item.hops + 1, orGone);
      for (const url of sitemap.pages) this.#offerPage(url, SITEMAP_DEPTH, 0, orGone);
      for (const [page, links] of sitemap.needs) this.#offerNeeds(page, links, orGone);
    }
    const isList = (reading?.links.length ?? 0) > MENU_LINKS_MAX;
    for (const link of reading?.links ?? []) {
      const isNofollow = !link.isEmbed && (link.isNofollow || reading!.isNofollow);
      if (isNofollow && settings.nofollow === 'obey') counts.nofollow++;
      else this.#offerLink(item, link, !isList, orGone);
    }
    // The stored embeds of a gone page are deleted. The embeds of a page with an error stay, since its next visit may
    // succeed.
    const needed = isKept(status) || isGoneStatus(status) ? needs.take(item) : [];
    if (isKept(status)) for (const link of needed) this.#offerLink(item, link, true, orGone);
  }

  /** A sitemap that a recrawl found unchanged, or that redirects, says nothing about its pages. */
  #countSitemap({ settlement }: Visited, sitemap: SitemapReading | undefined): void {
    const { scope, sitemaps } = this.#options;
    const { item, status } = settlement;
    if (!sitemap && isKept(status)) return;
    const isInScope = (page: string) => {
      const url = frontierUrl(page);
      return url !== undefined && scope.hasPage(url, SITEMAP_DEPTH);
    };
    sitemaps.countVisited(item.url, sitemap?.pages.some(isInScope) ?? false);
  }

  /**
   * Offers the embeds that a sitemap lists for a page. Until the page is captured, the embeds are stored. Embeds of
   * pages that the crawl does not visit are ignored.
   */
  #offerNeeds(page: string, links: readonly FoundLink[], orGone: boolean): void {
    const { frontier, needs, settings, onlyNew } = this.#options;
    const url = frontierUrl(page);
    if (settings.htmlOnly || url === undefined) return;
    // A recrawl may leave out known pages, so it accepts pages of earlier runs. A crawl from seeds queues every wanted
    // page again.
    const item = frontier.find(url, onlyNew);
    if (item?.isDone && isKept(item.status)) for (const link of links) this.#offerLink(item, link, true, orGone);
    else if (item) this.#countTrapped('embeds', needs.put(item, links));
  }

  #offerLink(item: QueuedUrl, link: FoundLink, remembers: boolean, orGone: boolean): void {
    const { frontier, scope, settings, counts } = this.#options;
    if (link.kind === 'form') return;
    const isMoved = link.kind === 'refresh';
    const depth = isMoved ? item.depth : item.depth + 1;
    // Many pages have the same links, so a link that was recently decided on is skipped.
    const distance = link.isEmbed ? needDistance(link.kind) : depth;
    if (!orGone && frontier.remembers(link.url, link.isEmbed, distance)) return;
    if (!link.isEmbed) {
      const role = this.#isPicture(item, link) ? 'embed' : 'page';
      if (link.kind === 'sitemap') this.offerSitemap(link.url, 1, orGone);
      else this.#offerPage(link.url, depth, isMoved ? item.hops + 1 : 0, orGone, role);
      if (remembers && depth <= settings.depthMax) frontier.remember(link.url, false, depth);
      return;
    }
    if (settings.htmlOnly) return;
    // The hops of an embed are counted from its page, without the redirects that led to the page. Frames and objects
    // can contain pages in pages without end, so their hops are added to those of the page.
    const isFirst = item.role === 'page' && link.kind !== 'frame' && link.kind !== 'object';
    const hops = isFirst ? 1 : item.hops + 1;
    if (hops > (link.kind === 'script' ? SCRIPT_HOPS_MAX : EMBED_HOPS_MAX)) {
      this.#countTrapped('embeds');
      return;
    }
    const url = frontierUrl(link.url);
    if (url === undefined) return;
    const isPage = link.kind === 'frame' && scope.hasPage(url, item.depth);
    const role = isPage ? 'frame' : 'embed';
    if (isPage || scope.hasEmbed(url))
      this.#offer({ url, role, depth: item.depth, hops, isHint: isHint(link.kind) }, orGone);
    else counts.outOfScope++;
    if (remembers) frontier.remember(link.url, true, distance);
  }

  #offerRedirect(item: QueuedUrl, target: string, orGone: boolean): void {
    const { frontier, scope, counts, onSeedMoved } = this.#options;
    const url = frontierUrl(target);
    if (url === undefined || item.hops >= REDIRECTS_MAX) {
      this.#countTrapped('redirects');
      return;
    }
    const isPage = isPageRole(item.role);
    if (isPage && scope.isSeed(item.url) && scope.addSeed(url)) {
      frontier.forget();
      onSeedMoved(url);
    }
    const { role, depth } = item;
    const hops = item.hops + 1;
    if (isPage ? scope.hasPage(url, depth) : scope.hasEmbed(url)) this.#offer({ url, role, depth, hops }, orGone);
    // A frame that redirects out of scope is needed to show its page, like an image.
    else if (role === 'frame' && scope.hasEmbed(url)) this.#offer({ url, role: 'embed', depth, hops }, orGone);
    else counts.outOfScope++;
  }

  #offerPage(target: string, depth: number, hops: number, orGone: boolean, role: Role = 'page'): void {
    const { scope, counts } = this.#options;
    const url = frontierUrl(target);
    if (url === undefined) return;
    if (hops <= REDIRECTS_MAX && scope.hasPage(url, depth)) this.#offer({ url, role, depth, hops }, orGone);
    else counts.outOfScope++;
  }

  /**
   * Whether a link names a picture or a film that its page does not show, such as a preview for other sites. Such a
   * file is captured as an embed, if it is within the scope of pages. But it may turn out to be HTML, such as a player.
   * So it counts as a page when HTML pages alone are kept, or when pages are rendered. It also counts as a page when
   * the link is not on a page. Otherwise a chain of such links could escape the limit of pages.
   */
  #isPicture(item: QueuedUrl, { kind }: FoundLink): boolean {
    const { htmlOnly, browser } = this.#options.settings;
    return (kind === 'image' || kind === 'media') && isPageRole(item.role) && !htmlOnly && browser === 'none';
  }

  offerSitemap(target: string, hops: number, orGone: boolean): void {
    const { scope, settings, counts, sitemaps } = this.#options;
    const url = frontierUrl(target);
    if (url === undefined || !settings.sitemaps || settings.depthMax < SITEMAP_DEPTH) return;
    if (!scope.hasEmbed(url)) counts.outOfScope++;
    else if (hops > EMBED_HOPS_MAX || sitemaps.isReached(url)) this.#countTrapped('sitemaps');
    else if (this.#offer({ url, role: 'sitemap', depth: 0, hops }, orGone)) sitemaps.countQueued(url);
  }

  /** Returns whether the URL was queued. */
  #offer(offer: Offer, orGone: boolean): boolean {
    const { frontier, onlyNew, calendar, onQueued } = this.#options;
    const trap = trapOf(offer.url, calendar());
    const verdict = trap ?? frontier.offer(offer, onlyNew, orGone);
    if (verdict === 'queued') onQueued(hostName(offer.url), frontier.lastRank, frontier.movedFrom);
    else if (verdict !== 'known') this.#countTrapped(verdict);
    return verdict === 'queued';
  }

  #countTrapped(trap: string, more = 1): void {
    const { counts } = this.#options;
    counts.trapped += more;
    if (more > 0) addCount(counts.traps, trap, more);
  }
}

/** Whether a response with this status is content or a redirect, and not an error. */
function isKept(status: number): boolean {
  return status < 400;
}
