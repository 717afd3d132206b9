/** Decides which of the URLs that a visit brought up are offered to the frontier, and as what. */
import type { EpochMs } from '../../base/index.ts';
import { type FoundLink, isHint, MENU_LINKS_MAX, needDistance, type SitemapReading } from '../links/page-links.ts';
import type { Learned, Visited } from '../outcome.ts';
import { type CrawlCounts, count } from '../report.ts';
import type { CrawlSettings } from '../settings.ts';
import type { Frontier } from './frontier.ts';
import { frontierUrl, hostName } from './frontier-url.ts';
import { isGone, isPageRole, type Offer, type QueuedUrl, type Role } from './known-url.ts';
import { type Scope, SITEMAP_DEPTH } from './scope.ts';
import type { SitemapBounds } from './sitemap-bounds.ts';
import type { SitemapNeeds } from './sitemap-needs.ts';
import { trapOf } from './trap.ts';

export const REDIRECTS_MAX = 20;
const EMBED_HOPS_MAX = 8;
/** Modules that nothing put together import one another in longer rows. */
const SCRIPT_HOPS_MAX = 32;

export type ChoiceParts = {
  readonly frontier: Frontier;
  readonly needs: SitemapNeeds;
  readonly sitemaps: SitemapBounds;
  readonly scope: Scope;
  readonly settings: CrawlSettings;
  readonly counts: CrawlCounts;
  /** Whether only URLs that the collection does not know are taken. */
  readonly onlyNew: boolean;
  /** Whether what was gone is taken too. */
  readonly orGone?: boolean;
  readonly now: EpochMs;
  /** A seed redirected here. */
  readonly onSeedMoved: (url: string) => void;
  /** Something was queued for this host, and may have stood at another rank before. */
  readonly onQueued: (host: string, rank: number, movedFrom?: number) => void;
};

/**
 * Whether what is decided about the links of a page is what would be decided about them on any other: it is not too
 * deep, and the scope cannot grow any more.
 */
export function isDecisive(frontier: Frontier, settings: CrawlSettings, item: QueuedUrl): boolean {
  return item.depth < settings.depthMax && item.hops < EMBED_HOPS_MAX && !frontier.hasSeedsLeft;
}

/** Offers everything that a visit brought up. To be called within a transaction. */
export function offerLinks(choice: ChoiceParts, visited: Visited, { reading, sitemap }: Learned): void {
  const { item } = visited.settlement;
  // What went together may be back together.
  const parts = isGone(item.status) ? { ...choice, orGone: true } : choice;
  if (visited.redirect !== undefined) offerRedirect(parts, item, visited.redirect);
  if (item.role === 'sitemap') countSitemap(parts, visited, sitemap);
  if (sitemap) {
    for (const url of sitemap.sitemaps) offerSitemap(parts, url, item.hops + 1);
    for (const url of sitemap.pages) offerPage(parts, url, SITEMAP_DEPTH, 0);
    for (const [page, links] of sitemap.needs) offerNeeds(parts, page, links);
  }
  const isList = (reading?.links.length ?? 0) > MENU_LINKS_MAX;
  for (const link of reading?.links ?? []) {
    const isUnwanted = !link.isEmbed && (link.isNofollow || reading!.isNofollow);
    if (isUnwanted && parts.settings.nofollow === 'obey') parts.counts.nofollow++;
    else offerLink(parts, item, link, !isList);
  }
  const { status } = visited.settlement;
  // What is gone needs nothing; what is broken may be whole the next time.
  const needs = isKept(status) || isGone(status) ? parts.needs.take(item) : [];
  if (isKept(status)) for (const link of needs) offerLink(parts, item, link, true);
}

/** What a recrawl finds unchanged, and what leads elsewhere, says nothing of its pages. */
function countSitemap({ scope, sitemaps }: ChoiceParts, { settlement }: Visited, sitemap: SitemapReading | undefined) {
  const { item, status } = settlement;
  if (!sitemap && isKept(status)) return;
  const isOfCrawl = (page: string) => {
    const url = frontierUrl(page);
    return url !== undefined && scope.hasPage(url, SITEMAP_DEPTH);
  };
  sitemaps.countVisited(item.url, sitemap?.pages.some(isOfCrawl) ?? false);
}

/** Whether a status says that there is something to show. */
function isKept(status: number): boolean {
  return status < 400;
}

/**
 * Offers what a sitemap says is shown on a page, or has it wait until the page is kept. What a crawl does not take in
 * needs nothing.
 */
function offerNeeds(parts: ChoiceParts, page: string, links: readonly FoundLink[]): void {
  const url = frontierUrl(page);
  if (parts.settings.htmlOnly || url === undefined) return;
  // A recrawl need not come by a page that it knows; a crawl from seeds takes in anew whatever it wants.
  const item = parts.frontier.find(url, parts.onlyNew);
  if (item?.isDone && isKept(item.status)) for (const link of links) offerLink(parts, item, link, true);
  else if (item) {
    const leftOut = parts.needs.put(item, links);
    parts.counts.trapped += leftOut;
    if (leftOut > 0) count(parts.counts.traps, 'embeds', leftOut);
  }
}

function offerLink(parts: ChoiceParts, item: QueuedUrl, link: FoundLink, remembers: boolean): void {
  if (link.kind === 'form') return;
  const isMoved = link.kind === 'refresh';
  const depth = isMoved ? item.depth : item.depth + 1;
  // The same links stand on page after page; what was decided a moment ago need not be decided anew.
  const distance = link.isEmbed ? needDistance(link) : depth;
  if (!parts.orGone && parts.frontier.remembers(link.url, link.isEmbed, distance)) return;
  if (!link.isEmbed) {
    if (link.kind === 'sitemap') offerSitemap(parts, link.url, 1);
    else
      offerPage(parts, link.url, depth, isMoved ? item.hops + 1 : 0, isPicture(parts, item, link) ? 'embed' : 'page');
    if (remembers && depth <= parts.settings.depthMax) parts.frontier.remember(link.url, false, depth);
    return;
  }
  if (parts.settings.htmlOnly) return;
  // However many redirects led to a page, what it needs begins anew; but not what can hold pages again, which could go
  // on without an end.
  const isFirst = item.role === 'page' && link.kind !== 'frame' && link.kind !== 'object';
  const hops = isFirst ? 1 : item.hops + 1;
  if (hops > (link.kind === 'script' ? SCRIPT_HOPS_MAX : EMBED_HOPS_MAX)) {
    parts.counts.trapped++;
    count(parts.counts.traps, 'embeds');
    return;
  }
  const url = frontierUrl(link.url);
  if (url === undefined) return;
  const isPage = link.kind === 'frame' && parts.scope.hasPage(url, item.depth);
  if (isPage || parts.scope.hasEmbed(url))
    offer(parts, { url, role: isPage ? 'frame' : 'embed', depth: item.depth, hops, isHint: isHint(link) });
  else parts.counts.outOfScope++;
  if (remembers) parts.frontier.remember(link.url, true, distance);
}

function offerRedirect(parts: ChoiceParts, item: QueuedUrl, target: string): void {
  const url = frontierUrl(target);
  if (url === undefined || item.hops >= REDIRECTS_MAX) {
    count(parts.counts.traps, 'redirects');
    parts.counts.trapped++;
    return;
  }
  const hops = item.hops + 1;
  if (isPageRole(item.role) && parts.scope.isSeed(item.url) && parts.scope.addSeed(url)) {
    parts.frontier.forget();
    parts.onSeedMoved(url);
  }
  const isIn = isPageRole(item.role) ? parts.scope.hasPage(url, item.depth) : parts.scope.hasEmbed(url);
  if (isIn) offer(parts, { url, role: item.role, depth: item.depth, hops });
  // A frame that leads out of scope is needed to show its page, as an image is.
  else if (item.role === 'frame' && parts.scope.hasEmbed(url))
    offer(parts, { url, role: 'embed', depth: item.depth, hops });
  else parts.counts.outOfScope++;
}

function offerPage(parts: ChoiceParts, target: string, depth: number, hops: number, role: Role = 'page'): void {
  const url = frontierUrl(target);
  if (url === undefined) return;
  if (hops <= REDIRECTS_MAX && parts.scope.hasPage(url, depth)) offer(parts, { url, role, depth, hops });
  else parts.counts.outOfScope++;
}

/**
 * Whether a link is a picture or a film that a page names without showing it, as it does for those who link to it: that
 * is no page, but keeps to where pages are. It may be HTML after all, such as that of a player. So it is a page where
 * only pages are kept or rendered, and where no page names it: else a row of them would know no limit of pages.
 */
function isPicture({ settings: { htmlOnly, browser } }: ChoiceParts, item: QueuedUrl, { kind }: FoundLink): boolean {
  return (kind === 'image' || kind === 'media') && isPageRole(item.role) && !htmlOnly && browser === 'none';
}

export function offerSitemap(parts: ChoiceParts, target: string, hops: number): void {
  const { sitemaps, depthMax } = parts.settings;
  const url = frontierUrl(target);
  if (url === undefined || !sitemaps || depthMax < SITEMAP_DEPTH) return;
  if (!parts.scope.hasEmbed(url)) parts.counts.outOfScope++;
  else if (hops <= EMBED_HOPS_MAX && !parts.sitemaps.isReached(url)) {
    if (offer(parts, { url, role: 'sitemap', depth: 0, hops })) parts.sitemaps.countQueued(url);
  } else {
    parts.counts.trapped++;
    count(parts.counts.traps, 'sitemaps');
  }
}

/** Says whether the URL was queued. */
function offer(parts: ChoiceParts, chosen: Offer): boolean {
  const trap = trapOf(chosen.url, parts.now);
  if (trap) {
    parts.counts.trapped++;
    count(parts.counts.traps, trap);
    return false;
  }
  const verdict = parts.frontier.offer(chosen, parts.onlyNew, parts.orGone);
  if (verdict === 'queued') parts.onQueued(hostName(chosen.url), parts.frontier.lastRank, parts.frontier.movedFrom);
  else if (verdict !== 'known') {
    parts.counts.trapped++;
    count(parts.counts.traps, verdict);
  }
  return verdict === 'queued';
}
