/**
 * Decides which of the URLs that a visit found are offered to the frontier, and in which role.
 *
 * URLs that were recently decided on are remembered, so that links which all pages of a site share cost almost nothing.
 */
import type { Clock } from '../../base/index.ts';
import type { PageFindings } from '../links/link-batch.ts';
import { type FoundLink, isHint, MENU_LINKS_MAX, needDistance, type SitemapReading } from '../links/page-links.ts';
import { RecentTexts } from '../links/recent-texts.ts';
import type { Visited } from '../outcome.ts';
import { addCount, type CrawlCounts } from '../report.ts';
import { type CrawlSettings, depthMatters } from '../settings.ts';
import type { Findings, FoundUrl } from './frontier.ts';
import { frontierUrl } from './frontier-url.ts';
import { isGoneStatus, isKeptStatus, isPageRole, type Offer, type QueuedUrl, type Role } from './known-url.ts';
import { type Scope, SITEMAP_DEPTH } from './scope.ts';
import type { SitemapBounds } from './sitemap-bounds.ts';
import { trapOf } from './trap.ts';

export const REDIRECTS_MAX = 20;
const EMBED_HOPS_MAX = 8;
/** Unbundled modules import each other in long chains. */
const SCRIPT_HOPS_MAX = 32;
const SEEN_REMEMBERED_MAX = 64_000;

export type LinkChoiceOptions = {
  readonly sitemaps: SitemapBounds;
  readonly scope: Scope;
  readonly settings: CrawlSettings;
  readonly counts: CrawlCounts;
  /** The clock that gives today's date, from which endless calendars are recognised. */
  readonly calendar: Clock;
  /** Called with the URL that a seed redirected to. */
  readonly onSeedMoved: (url: string) => void;
};

/**
 * Whether links that were found on another page may be left out for this page. They may be left out if the decision
 * about a link does not depend on its page. That holds when the page is not at the limit of depth or hops, and the
 * scope can no longer grow.
 */
export function mayOmitReported(hasQueuedSeeds: boolean, settings: CrawlSettings, item: QueuedUrl): boolean {
  return item.depth < settings.depthMax && item.hops < EMBED_HOPS_MAX && !hasQueuedSeeds;
}

/** In its methods, `orGone` means that URLs which the collection knows as gone are offered too. */
export class LinkChoice {
  readonly #options: LinkChoiceOptions;
  readonly #depthMatters: boolean;
  /** URLs that were recently offered as pages (`#seenEmbeds`: as embeds). */
  readonly #seen = new RecentTexts(SEEN_REMEMBERED_MAX);
  readonly #seenEmbeds = new RecentTexts(SEEN_REMEMBERED_MAX / 4);
  #urls: FoundUrl[] = [];

  constructor(options: LinkChoiceOptions) {
    this.#options = options;
    this.#depthMatters = depthMatters(options.settings);
  }

  /** Forgets the remembered URLs, because the scope grew. */
  forget(): void {
    this.#seen.clear();
    this.#seenEmbeds.clear();
  }

  /**
   * Whether this URL was recently decided on at this depth or a smaller one. For embeds, the depth is that of
   * `needDistance`.
   */
  #remembers(url: string, isEmbed: boolean, depth: number): boolean {
    return isEmbed ? this.#seenEmbeds.has(url, depth) : this.#seen.has(url, this.#depthMatters ? depth : 0);
  }

  #remember(url: string, isEmbed: boolean, depth: number): void {
    if (isEmbed) this.#seenEmbeds.add(url, depth);
    else this.#seen.add(url, this.#depthMatters ? depth : 0);
  }

  #take(): FoundUrl[] {
    const urls = this.#urls;
    this.#urls = [];
    return urls;
  }

  /** What is offered of the URLs that a visit found. `again`: the target of its redirect, if it is visited again. */
  findings(visited: Visited, { reading, sitemap }: PageFindings, again: Findings['again']): Findings {
    const { settings, counts } = this.#options;
    const { item, status } = visited.settlement;
    // If a page that was gone is back, the gone URLs that it links to may be back too.
    const orGone = isGoneStatus(item.status);
    if (visited.redirect !== undefined) this.#offerRedirect(item, visited.redirect, orGone);
    if (item.role === 'sitemap') this.#countSitemap(visited, sitemap);
    if (sitemap) {
      for (const url of sitemap.sitemaps) this.#offerSitemap(url, item.hops + 1, orGone);
      for (const url of sitemap.pages) this.#offerPage(url, SITEMAP_DEPTH, 0, orGone);
    }
    const isList = (reading?.links.length ?? 0) > MENU_LINKS_MAX;
    for (const link of reading?.links ?? []) {
      const isNofollow = !link.isEmbed && (link.isNofollow || reading!.isNofollow);
      if (isNofollow && settings.nofollow === 'obey') counts.nofollow++;
      else this.#offerLink(item, link, !isList, orGone);
    }
    // The embeds of a page with an error stay, since its next visit may succeed.
    const waitingEmbeds = isKeptStatus(status) ? 'offered' : isGoneStatus(status) ? 'deleted' : 'stay';
    return { urls: this.#take(), pageEmbeds: this.#pageEmbeds(sitemap), waitingEmbeds, again, orGone };
  }

  /** The offers for embeds that a sitemap lists for a page of the crawl. */
  offersOf(page: QueuedUrl, links: readonly FoundLink[], orGone: boolean): FoundUrl[] {
    for (const link of links) this.#offerLink(page, link, false, orGone);
    return this.#take();
  }

  /** The offer for a sitemap that a robots.txt file names. */
  sitemap(url: string): FoundUrl[] {
    this.#offerSitemap(url, 0, true);
    return this.#take();
  }

  /** A sitemap that a recrawl found unchanged, or that redirects, says nothing about its pages. */
  #countSitemap({ settlement }: Visited, sitemap: SitemapReading | undefined): void {
    const { scope, sitemaps } = this.#options;
    const { item, status } = settlement;
    if (!sitemap && isKeptStatus(status)) return;
    const isInScope = (page: string) => {
      const url = frontierUrl(page);
      return url !== undefined && scope.hasPage(url, SITEMAP_DEPTH);
    };
    sitemaps.countVisited(item.url, sitemap?.pages.some(isInScope) ?? false);
  }

  /** The embeds that a sitemap lists for pages. Those of pages that the crawl does not visit are ignored later. */
  #pageEmbeds(sitemap: SitemapReading | undefined): Findings['pageEmbeds'] {
    if (!sitemap || this.#options.settings.htmlOnly) return [];
    return [...sitemap.needs].flatMap(([typed, links]) => {
      const page = frontierUrl(typed);
      return page === undefined ? [] : [{ page, links }];
    });
  }

  #offerLink(item: QueuedUrl, link: FoundLink, remembers: boolean, orGone: boolean): void {
    const { scope, settings, counts } = this.#options;
    if (link.kind === 'form') return;
    const isMoved = link.kind === 'refresh';
    const depth = isMoved ? item.depth : item.depth + 1;
    // Many pages have the same links, so a link that was recently decided on is skipped.
    const distance = link.isEmbed ? needDistance(link.kind) : depth;
    if (!orGone && this.#remembers(link.url, link.isEmbed, distance)) return;
    if (!link.isEmbed) {
      const role = this.#isPicture(item, link) ? 'embed' : 'page';
      if (link.kind === 'sitemap') this.#offerSitemap(link.url, 1, orGone);
      else this.#offerPage(link.url, depth, isMoved ? item.hops + 1 : 0, orGone, role);
      if (remembers && depth <= settings.depthMax) this.#remember(link.url, false, depth);
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
    if (remembers) this.#remember(link.url, true, distance);
  }

  #offerRedirect(item: QueuedUrl, target: string, orGone: boolean): void {
    const { scope, counts, onSeedMoved } = this.#options;
    const url = frontierUrl(target);
    if (url === undefined || item.hops >= REDIRECTS_MAX) {
      this.#countTrapped('redirects');
      return;
    }
    const isPage = isPageRole(item.role);
    if (isPage && scope.isSeed(item.url) && scope.addSeed(url)) {
      this.forget();
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

  #offerSitemap(target: string, hops: number, orGone: boolean): void {
    const { scope, settings, counts, sitemaps } = this.#options;
    const url = frontierUrl(target);
    if (url === undefined || !settings.sitemaps || settings.depthMax < SITEMAP_DEPTH) return;
    if (!scope.hasEmbed(url)) counts.outOfScope++;
    else if (hops > EMBED_HOPS_MAX || sitemaps.isReached(url)) this.#countTrapped('sitemaps');
    else if (this.#offer({ url, role: 'sitemap', depth: 0, hops }, orGone)) sitemaps.countQueued(url);
  }

  /** Returns whether the URL is offered. */
  #offer(offer: Offer, orGone: boolean): boolean {
    const trap = trapOf(offer.url, this.#options.calendar());
    if (trap === undefined) this.#urls.push({ offer, orGone });
    else this.#countTrapped(trap);
    return trap === undefined;
  }

  #countTrapped(trap: string, more = 1): void {
    const { counts } = this.#options;
    counts.trapped += more;
    if (more > 0) addCount(counts.traps, trap, more);
  }
}
