/**
 * Writes the outcomes of visits in groups. In one transaction, the found links enter the queue and the visited URLs
 * leave it. So a URL stays queued until its links are queued. A visit must not be added before its captures are
 * acknowledged.
 */
import { type Clock, type EpochMs, Exclusive } from '../base/index.ts';
import type { FoundUrl, Frontier, Refusal, TakenUrl } from './frontier/frontier.ts';
import { frontierUrl, hostName } from './frontier/frontier-url.ts';
import type { HostFacts } from './frontier/host-facts.ts';
import type { QueuedUrl } from './frontier/known-url.ts';
import { LinkChoice, REDIRECTS_MAX } from './frontier/link-choice.ts';
import { Scope } from './frontier/scope.ts';
import { SitemapBounds } from './frontier/sitemap-bounds.ts';
import type { PageFindings } from './links/link-batch.ts';
import type { Settled, Visited } from './outcome.ts';
import type { ActiveHost } from './politeness/active-host.ts';
import type { ActiveHosts } from './politeness/active-hosts.ts';
import type { HostDelay } from './politeness/host-delay.ts';
import type { RedirectCookies } from './politeness/redirect-cookies.ts';
import type { RobotsRules } from './politeness/robots-rules.ts';
import { addCount, type CrawlCounts, type CrawlTally } from './report.ts';
import type { CrawlRun } from './run.ts';

/** How many outcomes may wait to be written, and how many links they may have. */
const PENDING_MAX = 256;
const PENDING_LINKS_MAX = 10_000;
const WRITE_AFTER_MS = 500;

export type VisitLogOptions = {
  readonly run: CrawlRun;
  readonly frontier: Frontier;
  readonly hosts: ActiveHosts;
  readonly delayOf: (host: string) => HostDelay;
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
  /** How many moved seeds are written. */
  #movedWritten: number;
  /** The robots.txt rules whose sitemaps were offered. */
  readonly #sitemapsOffered = new WeakSet<RobotsRules>();
  #pending: PendingVisit[] = [];
  #urls: FoundUrl[] = [];
  #tries: QueuedUrl[] = [];
  /** Hosts whose facts must be written. */
  #touched = new Set<string>();
  #links = 0;
  #dueAt: EpochMs | undefined;
  readonly #writing = new Exclusive();

  constructor(options: VisitLogOptions) {
    this.#options = options;
    const { settings, seeds, movedSeeds } = options.run;
    this.scope = new Scope(settings, [...seeds, ...movedSeeds]);
    this.#movedSeeds = [...movedSeeds];
    this.#movedWritten = movedSeeds.length;
    this.#choice = new LinkChoice({
      sitemaps: this.sitemaps,
      scope: this.scope,
      settings,
      counts: options.tally.counts,
      calendar: options.calendar,
      onSeedMoved: (url) => this.#movedSeeds.push(url),
    });
  }

  /** When the waiting outcomes must be written; infinity if no outcome waits. */
  get dueAt(): EpochMs {
    return this.#dueAt ?? Number.POSITIVE_INFINITY;
  }

  /** Whether URLs wait to be queued that come before those in the queue. */
  get hasUrls(): boolean {
    return this.#urls.length > 0;
  }

  /** Queues the seeds. */
  async offerSeeds(): Promise<void> {
    const { run, tally, frontier } = this.#options;
    const urls = run.seeds.map((url): FoundUrl => ({ offer: { url, role: 'page', depth: 0, hops: 0 }, orGone: false }));
    const counts = () => tally.counts;
    await frontier.write({ ...this.#batch(), visits: [], urls, tries: [], onlyNew: false, counts });
  }

  /** Takes the URLs that seeds redirected to in visits of other crawlers. */
  addMovedSeeds(urls: readonly string[]): void {
    for (const url of urls) if (this.scope.addSeed(url)) this.#choice.forget();
  }

  /**
   * Offers the sitemaps that robots.txt rules name. They are offered when this run first uses the rules, even if an
   * earlier crawl fetched them. Returns whether it offered any.
   */
  offerSitemaps(origin: string, rules: RobotsRules): boolean {
    if (rules.sitemaps.length === 0 || this.#sitemapsOffered.has(rules)) return false;
    this.#sitemapsOffered.add(rules);
    for (const sitemap of rules.sitemaps) {
      const url = URL.parse(sitemap, `${origin}/robots.txt`)?.href;
      if (url !== undefined) this.#urls.push(...this.#choice.sitemap(url));
    }
    return this.hasUrls;
  }

  /** Adds the outcome of a URL from the queue of a host. Waits while too many are not written. */
  async add(host: ActiveHost, item: TakenUrl, outcome: Settled, findings: PageFindings = {}): Promise<void> {
    if (this.addSoon(host, item, outcome, findings)) await this.write();
  }

  /** Adds an outcome. Returns whether so many wait that they must be written. */
  addSoon(host: ActiveHost, item: TakenUrl, outcome: Settled, findings: PageFindings = {}): boolean {
    return this.#add({ from: { host, rank: item.rank }, item, outcome, findings });
  }

  /** Adds the outcome of a request of a rendered page. */
  async addPageRequest(item: QueuedUrl, outcome: Settled, findings: PageFindings = {}): Promise<void> {
    if (this.#add({ from: undefined, item, outcome, findings })) await this.write();
  }

  /** Notes that the visit of a URL failed, and will be tried again. */
  addTry(item: QueuedUrl): void {
    this.#tries.push(item);
    this.#dueAt ??= this.#options.clock() + WRITE_AFTER_MS;
  }

  /** Notes that the facts of a host have changed. */
  touch({ name }: ActiveHost): void {
    if (!this.#options.frontier.isShared) return;
    this.#touched.add(name);
    this.#dueAt ??= this.#options.clock() + WRITE_AFTER_MS;
  }

  #add(pending: PendingVisit): boolean {
    const { outcome, findings } = pending;
    const now = this.#options.clock();
    this.#options.tally.add(outcome, findings);
    this.#pending.push(pending);
    this.#dueAt ??= now + WRITE_AFTER_MS;
    this.#links += linkCount(findings);
    const isFull = this.#pending.length >= PENDING_MAX || this.#links >= PENDING_LINKS_MAX;
    if (isFull) this.#dueAt = now;
    return isFull;
  }

  write(): Promise<void> {
    return this.#writing.run(() => this.#write());
  }

  async #write(): Promise<void> {
    this.#dueAt = undefined;
    const [pending, urls, tries] = [this.#pending, this.#urls, this.#tries];
    if (pending.length + urls.length + tries.length + this.#touched.size === 0) return;
    [this.#pending, this.#urls, this.#tries] = [[], [], []];
    this.#links = 0;
    const { frontier, hosts, tally, cookies } = this.#options;
    const visits = pending.map(({ from, item, outcome, findings }) => ({
      item,
      rank: from?.rank,
      settlement: outcome.settlement,
      findings:
        outcome.kind === 'visited' ? this.#choice.findings(outcome, findings, this.#againOf(outcome)) : undefined,
    }));
    const moved = this.#movedSeeds.length;
    const counts = (refused: readonly Refusal[]) => withRefusals(tally.counts, refused);
    const written = await frontier.write({ ...this.#batch(pending, tries), visits, urls, tries, counts });
    this.#movedWritten = moved;
    for (const { host, rank } of written.queued) hosts.noteQueued(host, rank);
    for (const url of written.unqueuedSitemaps) this.sitemaps.uncountQueued(url);
    for (const url of written.again) cookies.markNeeded(url);
    const { trapped, traps } = withRefusals(tally.counts, written.refused);
    Object.assign(tally.counts, { trapped, traps });
    const lost = new Set(written.lost.map(({ item }) => item));
    for (const { from, item, outcome, findings } of pending) {
      if (lost.has(item)) tally.remove(outcome, findings);
      from?.host.settled(item.url);
    }
  }

  #batch(pending: readonly PendingVisit[] = [], tries: readonly QueuedUrl[] = []) {
    const { frontier, run, cookies, delayOf, clock } = this.#options;
    const facts = new Map<string, HostFacts>();
    if (frontier.isShared) {
      const now = clock();
      for (const { item } of pending) this.#touched.add(hostName(item.url));
      for (const { url } of tries) this.#touched.add(hostName(url));
      for (const name of this.#touched) facts.set(name, delayOf(name).facts(now));
    }
    this.#touched.clear();
    return {
      facts,
      cookies: cookies.takeChanges(),
      // They are written once for all pending visits, since nearly every seed of a long list may redirect.
      movedSeeds: this.#movedSeeds.length > this.#movedWritten ? this.#movedSeeds : undefined,
      onlyNew: run.kind === 'again',
      offersOf: this.#choice.offersOf.bind(this.#choice),
    };
  }

  /** When a redirect leads to a URL that was visited before its cookie was set, the URL is visited again. */
  #againOf({ redirect, settlement }: Visited) {
    const { cookies } = this.#options;
    const url = redirect === undefined ? undefined : frontierUrl(redirect);
    const since = url === undefined ? undefined : cookies.newestFor(url);
    const { hops } = settlement.item;
    return since === undefined || hops >= REDIRECTS_MAX ? undefined : { url: url!, hops: hops + 1, since };
  }
}

/** The counts after URLs were not queued. */
function withRefusals(counts: CrawlCounts, refused: readonly Refusal[]): CrawlCounts {
  if (refused.length === 0) return counts;
  const traps = { ...counts.traps };
  let { trapped } = counts;
  for (const { reason, count } of refused) {
    trapped += count;
    addCount(traps, reason, count);
  }
  return { ...counts, trapped, traps };
}

function linkCount({ reading, sitemap }: PageFindings): number {
  let count = (reading?.links.length ?? 0) + (sitemap?.pages.length ?? 0);
  for (const links of sitemap?.needs.values() ?? []) count += links.length;
  return count;
}
