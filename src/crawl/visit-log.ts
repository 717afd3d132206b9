/**
 * Writes the outcomes of visits in groups. In one transaction, the found links enter the queue and the visited URLs
 * leave it. So a URL stays queued until its links are queued. A visit must not be added before its captures are
 * acknowledged.
 */
import type { Clock, EpochMs } from '../base/index.ts';
import type { Frontier } from './frontier/frontier.ts';
import { frontierUrl, hostName } from './frontier/frontier-url.ts';
import type { QueuedUrl } from './frontier/known-url.ts';
import { LinkChoice, REDIRECTS_MAX } from './frontier/link-choice.ts';
import { Scope } from './frontier/scope.ts';
import { SitemapBounds } from './frontier/sitemap-bounds.ts';
import { SitemapNeeds } from './frontier/sitemap-needs.ts';
import type { CrawlState } from './frontier/state.ts';
import type { PageFindings } from './links/link-batch.ts';
import type { Settled, Visited } from './outcome.ts';
import type { ActiveHost, TakenUrl } from './politeness/active-host.ts';
import type { ActiveHosts } from './politeness/active-hosts.ts';
import type { RedirectCookies } from './politeness/redirect-cookies.ts';
import type { RobotsRules } from './politeness/robots-rules.ts';
import type { CrawlTally } from './report.ts';
import { type CrawlRun, saveCounts, saveMovedSeeds } from './run.ts';

/** How many outcomes may wait to be written, and how many links they may have. */
const PENDING_MAX = 256;
const PENDING_LINKS_MAX = 10_000;
const WRITE_AFTER_MS = 500;

export type VisitLogOptions = {
  readonly state: CrawlState;
  readonly run: CrawlRun;
  readonly frontier: Frontier;
  readonly hosts: ActiveHosts;
  readonly tally: CrawlTally;
  readonly cookies: RedirectCookies;
  /** The clock that measures how long outcomes wait. */
  readonly clock: Clock;
  /** The clock that gives today's date, from which endless calendars are recognised. */
  readonly calendar: Clock;
};

type PendingVisit = {
  /** The host and rank of the URL in the queue. Undefined for a request of a rendered page, which was never queued. */
  readonly from: { readonly host: ActiveHost; readonly rank: number } | undefined;
  readonly item: QueuedUrl;
  readonly outcome: Settled;
  readonly findings: PageFindings;
};

export class VisitLog {
  readonly #options: VisitLogOptions;
  readonly scope: Scope;
  readonly sitemaps = new SitemapBounds();
  readonly #choice: LinkChoice;
  readonly #movedSeeds: string[];
  /** The robots.txt rules whose sitemaps were offered. */
  readonly #sitemapsOffered = new WeakSet<RobotsRules>();
  #pending: PendingVisit[] = [];
  #links = 0;
  #dueAt: EpochMs | undefined;

  constructor(options: VisitLogOptions) {
    this.#options = options;
    const { settings, seeds, movedSeeds } = options.run;
    this.scope = new Scope(settings, [...seeds, ...movedSeeds]);
    this.#movedSeeds = [...movedSeeds];
    this.#choice = new LinkChoice({
      frontier: options.frontier,
      needs: new SitemapNeeds(options.state),
      sitemaps: this.sitemaps,
      scope: this.scope,
      settings,
      counts: options.tally.counts,
      onlyNew: options.run.kind === 'again',
      calendar: options.calendar,
      onSeedMoved: (url) => this.#movedSeeds.push(url),
      onQueued: (host, rank, movedFrom) => options.hosts.noteQueued(host, rank, movedFrom),
    });
  }

  /** When the waiting outcomes must be written; infinity if no outcome waits. */
  get dueAt(): EpochMs {
    return this.#dueAt ?? Number.POSITIVE_INFINITY;
  }

  /** Queues the seeds. */
  offerSeeds(): void {
    const { frontier, run, state, tally } = this.#options;
    frontier.transaction(() => {
      for (const url of run.seeds) frontier.offer({ url, role: 'page', depth: 0, hops: 0 }, false);
      saveCounts(state, run, tally.counts);
    });
  }

  /**
   * Offers the sitemaps that robots.txt rules name. They are offered when this run first uses the rules, even if an
   * earlier crawl fetched them. Returns whether it offered any.
   */
  offerSitemaps(origin: string, rules: RobotsRules): boolean {
    if (rules.sitemaps.length === 0 || this.#sitemapsOffered.has(rules)) return false;
    this.#sitemapsOffered.add(rules);
    this.#options.frontier.transaction(() => {
      for (const sitemap of rules.sitemaps) {
        const url = URL.parse(sitemap, `${origin}/robots.txt`)?.href;
        if (url !== undefined) this.#choice.offerSitemap(url, 0, true);
      }
    });
    return true;
  }

  /** Adds the outcome of a URL from the queue of a host. */
  add(host: ActiveHost, item: TakenUrl, outcome: Settled, findings: PageFindings = {}): void {
    this.#add({ from: { host, rank: item.rank }, item, outcome, findings });
  }

  /** Adds the outcome of a request of a rendered page. */
  addPageRequest(item: QueuedUrl, outcome: Settled, findings: PageFindings = {}): void {
    this.#add({ from: undefined, item, outcome, findings });
  }

  #add(pending: PendingVisit): void {
    const { outcome, findings } = pending;
    this.#options.tally.add(outcome, findings);
    this.#pending.push(pending);
    this.#dueAt ??= this.#options.clock() + WRITE_AFTER_MS;
    this.#links += linkCount(findings);
    if (this.#pending.length >= PENDING_MAX || this.#links >= PENDING_LINKS_MAX) this.write();
  }

  write(): void {
    this.#dueAt = undefined;
    const pending = this.#pending;
    if (pending.length === 0) return;
    this.#pending = [];
    this.#links = 0;
    const { frontier, hosts, run, state, tally } = this.#options;
    const moved = this.#movedSeeds.length;
    frontier.transaction(() => {
      for (const { from, item, outcome, findings } of pending) {
        if (outcome.kind === 'visited') this.#choice.offerLinks(outcome, findings);
        const { settlement } = outcome;
        const known = from ? settlement : { ...settlement, item: frontier.addUnqueued(item) };
        if (frontier.settle(known, from?.rank, from?.host.movedTo(from.rank)))
          hosts.noteQueued(hostName(item.url), frontier.lastRank);
        if (outcome.kind === 'visited') this.#retryWithCookie(outcome);
      }
      // Write them once for all pending visits, since nearly every seed of a long list may redirect.
      if (this.#movedSeeds.length > moved) saveMovedSeeds(state, run, this.#movedSeeds);
      saveCounts(state, run, tally.counts);
    });
    for (const { from } of pending) from?.host.settled(from.rank);
  }

  /** When a redirect leads to a URL that was visited before its cookie was set, queues the URL again. */
  #retryWithCookie({ redirect, settlement }: Visited): void {
    const { cookies, frontier, hosts } = this.#options;
    const url = redirect === undefined ? undefined : frontierUrl(redirect);
    const since = url === undefined ? undefined : cookies.newestFor(url);
    const { hops } = settlement.item;
    if (since === undefined || hops >= REDIRECTS_MAX || !frontier.requeueRedirect(url!, hops + 1, since)) return;
    cookies.markNeeded(url!);
    hosts.noteQueued(hostName(url!), frontier.lastRank);
  }
}

function linkCount({ reading, sitemap }: PageFindings): number {
  let count = (reading?.links.length ?? 0) + (sitemap?.pages.length ?? 0);
  for (const links of sitemap?.needs.values() ?? []) count += links.length;
  return count;
}
