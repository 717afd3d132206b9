/**
 * What came of visits, noted in groups: their links go into the queue and their URLs out of it in one transaction, so
 * at any moment a URL is either queued, or done with its links taken in. To be told of a visit only after its captures
 * were acknowledged.
 */
import type { Clock, EpochMs } from '../base/index.ts';
import type { Frontier } from './frontier/frontier.ts';
import { frontierUrl, hostName } from './frontier/frontier-url.ts';
import type { QueuedUrl } from './frontier/known-url.ts';
import { type ChoiceParts, offerLinks, offerSitemap, REDIRECTS_MAX } from './frontier/link-choice.ts';
import { Scope } from './frontier/scope.ts';
import { SitemapBounds } from './frontier/sitemap-bounds.ts';
import { SitemapNeeds } from './frontier/sitemap-needs.ts';
import type { CrawlState } from './frontier/state.ts';
import type { Learned, Settled, Visited } from './outcome.ts';
import type { ActiveHost, Taken } from './politeness/active-host.ts';
import type { ActiveHosts } from './politeness/active-hosts.ts';
import type { RedirectCookies } from './politeness/redirect-cookies.ts';
import type { RobotsRules } from './politeness/robots-rules.ts';
import type { Tally } from './report.ts';
import { noteCounts, noteGrownSeeds, type Run } from './run.ts';

/** Outcomes that may wait to be noted, and the links they bring. */
const UNNOTED_MAX = 256;
const UNNOTED_LINKS_MAX = 10_000;
const NOTE_AFTER_MS = 500;

export type VisitLogParts = {
  readonly state: CrawlState;
  readonly run: Run;
  readonly frontier: Frontier;
  readonly hosts: ActiveHosts;
  readonly tally: Tally;
  readonly cookies: RedirectCookies;
  /** For how long notes wait. */
  readonly clock: Clock;
  /** The day it is, by which endless calendars are known. */
  readonly calendar: Clock;
};

type Unnoted = {
  /** Where the URL was queued; undefined for what a page asked for while it was rendered: that never was. */
  readonly from: { readonly host: ActiveHost; readonly rank: number } | undefined;
  readonly item: QueuedUrl;
  readonly outcome: Settled;
  readonly learned: Learned;
};

export class VisitLog {
  readonly #parts: VisitLogParts;
  readonly scope: Scope;
  readonly #needs: SitemapNeeds;
  readonly sitemaps = new SitemapBounds();
  readonly #grownSeeds: string[];
  /** Rules whose sitemaps were offered. */
  readonly #sitemapsOffered = new WeakSet<RobotsRules>();
  #unnoted: Unnoted[] = [];
  #links = 0;
  #dueAt: EpochMs | undefined;

  constructor(parts: VisitLogParts) {
    this.#parts = parts;
    const { settings, seeds, grownSeeds } = parts.run;
    this.scope = new Scope(settings, [...seeds, ...grownSeeds]);
    this.#needs = new SitemapNeeds(parts.state);
    this.#grownSeeds = [...grownSeeds];
  }

  /** When what waits is to be written; infinity when nothing waits. */
  get dueAt(): EpochMs {
    return this.#dueAt ?? Number.POSITIVE_INFINITY;
  }

  /** Queues the seeds. */
  offerSeeds(): void {
    const { frontier, run, state, tally } = this.#parts;
    frontier.transaction(() => {
      for (const url of run.seeds) frontier.offer({ url, role: 'page', depth: 0, hops: 0 }, false);
      noteCounts(state, run, tally.counts);
    });
  }

  /**
   * Offers the sitemaps that rules name when they are first used, which an earlier crawl may have fetched. Says whether
   * there were any.
   */
  offerSitemaps(origin: string, rules: RobotsRules): boolean {
    if (rules.sitemaps.length === 0 || this.#sitemapsOffered.has(rules)) return false;
    this.#sitemapsOffered.add(rules);
    const choice = { ...this.#choice(), orGone: true };
    this.#parts.frontier.transaction(() => {
      for (const sitemap of rules.sitemaps) {
        const url = URL.parse(sitemap, `${origin}/robots.txt`)?.href;
        if (url !== undefined) offerSitemap(choice, url, 0);
      }
    });
    return true;
  }

  /** What came of a URL that stood in a host's queue. */
  add(host: ActiveHost, item: Taken, outcome: Settled, learned: Learned = {}): void {
    this.#add({ from: { host, rank: item.rank }, item, outcome, learned });
  }

  /** What came of a URL that a page asked for while it was rendered. */
  addAsked(item: QueuedUrl, outcome: Settled, learned: Learned = {}): void {
    this.#add({ from: undefined, item, outcome, learned });
  }

  #add(unnoted: Unnoted): void {
    const { outcome, learned } = unnoted;
    this.#parts.tally.add(outcome, learned);
    this.#unnoted.push(unnoted);
    this.#dueAt ??= this.#parts.clock() + NOTE_AFTER_MS;
    this.#links += linkCount(learned);
    if (this.#unnoted.length >= UNNOTED_MAX || this.#links >= UNNOTED_LINKS_MAX) this.write();
  }

  write(): void {
    this.#dueAt = undefined;
    const unnoted = this.#unnoted;
    if (unnoted.length === 0) return;
    this.#unnoted = [];
    this.#links = 0;
    const { frontier, run, state, tally } = this.#parts;
    const choice = this.#choice();
    const grown = this.#grownSeeds.length;
    frontier.transaction(() => {
      for (const { from, item, outcome, learned } of unnoted) {
        if (outcome.kind === 'visited') offerLinks(choice, outcome, learned);
        const { settlement } = outcome;
        const known = from ? settlement : { ...settlement, item: frontier.admit(item) };
        if (frontier.settle(known, from?.rank, from?.host.movedTo(from.rank)))
          choice.onQueued(hostName(item.url), frontier.lastRank);
        if (outcome.kind === 'visited') this.#askAgain(choice, outcome);
      }
      // All of them at once: of a list of many seeds nearly every one may lead elsewhere.
      if (this.#grownSeeds.length > grown) noteGrownSeeds(state, run, this.#grownSeeds);
      noteCounts(state, run, tally.counts);
    });
    for (const { from } of unnoted) from?.host.settled(from.rank);
  }

  /** Where a redirect leads to what was asked for without a cookie, that is asked for with it. */
  #askAgain({ frontier, onQueued }: ChoiceParts, { redirect, settlement }: Visited): void {
    const url = redirect === undefined ? undefined : frontierUrl(redirect);
    const since = url === undefined ? undefined : this.#parts.cookies.sinceFor(url);
    const { hops } = settlement.item;
    if (since === undefined || hops >= REDIRECTS_MAX || !frontier.askAgain(url!, hops + 1, since)) return;
    this.#parts.cookies.need(url!);
    onQueued(hostName(url!), frontier.lastRank);
  }

  #choice(): ChoiceParts {
    const { calendar, frontier, hosts, run, tally } = this.#parts;
    return {
      frontier,
      needs: this.#needs,
      sitemaps: this.sitemaps,
      scope: this.scope,
      settings: run.settings,
      counts: tally.counts,
      onlyNew: run.kind === 'again',
      now: calendar(),
      onSeedMoved: (url) => this.#grownSeeds.push(url),
      onQueued: (host, rank, movedFrom) => hosts.refill(host, rank, movedFrom),
    };
  }
}

function linkCount({ reading, sitemap }: Learned): number {
  let count = (reading?.links.length ?? 0) + (sitemap?.pages.length ?? 0);
  for (const links of sitemap?.needs.values() ?? []) count += links.length;
  return count;
}
