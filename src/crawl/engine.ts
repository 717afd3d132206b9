/**
 * Runs a crawl: picks hosts whose delay is over, visits their URLs, and passes the outcomes to the visit log.
 *
 * Small pages are read in batches and large ones one at a time. So memory holds at most the links of one large page,
 * small bodies being received, and bodies that the store has not acknowledged.
 */
import { type Clock, type EpochMs, Exclusive } from '../base/index.ts';
import type { BrowserPool } from './browser/browser-pool.ts';
import { Renderer } from './browser/browser-renderer.ts';
import { PageRequests, type PageRequestsOptions } from './browser/browser-requests.ts';
import { CrawlCaptures } from './crawl-captures.ts';
import type { CrawlEngineOptions } from './engine-options.ts';
import { type Exchange, type FailureReason, NotSent } from './fetch/exchange.ts';
import type { Frontier, TakenUrl } from './frontier/frontier.ts';
import { hostName, originOf } from './frontier/frontier-url.ts';
import { READ_AGAIN } from './frontier/known-url.ts';
import { mayOmitReported } from './frontier/link-choice.ts';
import { InterruptibleSleep } from './interruptible-sleep.ts';
import { failedSettlement, forbidden, outOfScope, type Retry, trapped, type Unreachable } from './outcome.ts';
import type { ActiveHost } from './politeness/active-host.ts';
import { ActiveHosts } from './politeness/active-hosts.ts';
import { BUSY_STATUSES, type HostDelay, retryAfterMs } from './politeness/host-delay.ts';
import { HostDelays } from './politeness/host-delays.ts';
import { HostTurns, type Turn } from './politeness/host-turns.ts';
import { RedirectCookies } from './politeness/redirect-cookies.ts';
import { RobotsCache } from './politeness/robots-cache.ts';
import type { RobotsRules } from './politeness/robots-rules.ts';
import { RobotsVisitor } from './politeness/robots-visit.ts';
import { type CrawlReport, CrawlTally, crawlProgress, type FrontierTotals } from './report.ts';
import { RobotsFetches } from './robots-fetches.ts';
import type { CrawlProgress } from './settings.ts';
import { steadyClock } from './steady-clock.ts';
import { type VisitOptions, Visitor } from './visit.ts';
import { VisitLog } from './visit-log.ts';

/** How many received bodies may wait to be stored and read for links, and how many bytes these bodies may have. */
const UNACKNOWLEDGED_MAX = 768;
const UNACKNOWLEDGED_BYTES_MAX = 16 * 1024 * 1024;
/**
 * How many URLs of a host are settled without a request before other hosts have their turn, and the crawl can be
 * stopped. A host can have millions of such URLs.
 */
const SETTLED_AT_ONCE_MAX = 256;
/** How often the queues of hosts are read and their URLs begun before the crawl looks at everything else again. */
const ROUNDS_MAX = 8;
const PROGRESS_MS = 500;
/** How long a crawler without work waits before it asks the others again. */
const IDLE_MS = 200;
/** How often the hosts of this crawler are read again, since other crawlers queue URLs too. */
const READ_AGAIN_MS = 2000;
/** Shorter pauses are usual between two requests and are not reported. */
const WAIT_MS_MIN = 5000;
/** How long running visits may still take after the time limit is reached. */
const GRACE_MS = 5000;
/**
 * Further tries of a request while the network may be down. With the growing pauses between them they last about ten
 * minutes.
 */
const OFFLINE_TRIES = 3;

export class CrawlEngine {
  readonly #options: CrawlEngineOptions;
  readonly #clock: Clock;
  readonly #frontier: Frontier;
  readonly #robots: RobotsCache;
  readonly #captures: CrawlCaptures;
  readonly #visitor: Visitor;
  readonly #robotsFetches: RobotsFetches;
  readonly tally: CrawlTally;
  readonly #delays: HostDelays;
  readonly #turns: HostTurns;
  readonly #renderer: Renderer | undefined;
  readonly #hosts: ActiveHosts;
  readonly #visitLog: VisitLog;
  /** Visits that have not ended. */
  #running = 0;
  /** Running visits that still receive their response. */
  #receiving = 0;
  #unacknowledgedBytes = 0;
  /** Large pages are read one at a time, each until its links are in the visit log. */
  readonly #reading = new Exclusive();
  readonly #sleeping = new InterruptibleSleep();
  #failure: unknown;
  #limit: CrawlReport['limit'];
  #progressAt: EpochMs = 0;
  #lastUrl = '';
  /**
   * Set when a host that had answered can no longer be connected to, and cleared by the next answer of any host. While
   * it is set, the network may be down, and not the hosts.
   */
  #mayBeOffline = false;
  /** When the next request may be sent, as `#visitAll` last computed it. */
  #nextAt: EpochMs = 0;
  /** Elapsed time is counted from here, since an interrupted crawl did not run in between. */
  readonly #resumedAt: EpochMs;
  readonly #stop = new AbortController();
  readonly #cookies = new RedirectCookies();
  #totals: FrontierTotals = { known: 0, queued: 0, fullest: [] };
  #readAgainAt: EpochMs = 0;

  constructor(options: CrawlEngineOptions) {
    this.#options = options;
    const { archive, state, frontier, run, fetcher, links } = options;
    this.#clock = steadyClock(() => archive.clock());
    const { settings } = run;
    this.#frontier = frontier;
    // A recrawl reads changed pages only.
    frontier.rereadsNearer = run.kind === 'first';
    this.#robots = new RobotsCache(state, settings.productToken);
    this.#captures = new CrawlCaptures(archive, settings, run.startedAt);
    const isAgain = run.kind === 'again';
    const cookies = this.#cookies;
    this.#visitor = new Visitor({ archive, captures: this.#captures, fetcher, links, settings, cookies, isAgain });
    this.tally = new CrawlTally(frontier.countsBefore, run.startedAt, frontier.isShared ? undefined : run.report);
    this.#resumedAt = this.#clock() - frontier.elapsedMsBefore;
    // A killed process wrote no end time.
    const lastRequestAt = options.isResumed ? Math.min(run.endedAt ?? this.#clock(), this.#clock()) : undefined;
    this.#delays = new HostDelays(settings, this.#clock, lastRequestAt);
    this.#hosts = new ActiveHosts(frontier, settings.hostConcurrency, this.#delays);
    this.#visitLog = new VisitLog({
      run,
      frontier,
      delayOf: (host) => this.#delayOf(host),
      hosts: this.#hosts,
      tally: this.tally,
      cookies,
      clock: this.#clock,
      calendar: archive.clock,
    });
    this.#turns = new HostTurns({
      clock: this.#clock,
      delayOf: (host) => this.#delayOf(host),
      reserve: (host, signal) => this.#reserve(host, signal),
      mayAsk: (host) => frontier.mayAsk(host),
      rulesOf: async (origin) => {
        await this.#robots.load([origin]);
        const rules = this.#rulesOf(origin);
        return typeof rules === 'string' ? undefined : rules;
      },
      fetchRules: (origin, turn, tries) => this.#fetchRules(origin, turn, tries),
      wake: () => this.#sleeping.wake(),
    });
    this.#robotsFetches = new RobotsFetches({
      archive,
      robots: this.#robots,
      visitor: new RobotsVisitor({
        archive,
        fetcher,
        captures: this.#captures,
        turnAt: (host) => this.#turns.next(host, this.#stop.signal),
      }),
      tally: this.tally,
      clock: this.#clock,
      isLastTry: (tries) => this.#isLastTry(tries),
      isNameMissing: (delay, failure) => this.#isNameMissing(delay, failure),
      mayBeDoneBy: (host) => this.#mayBeDoneBy(host),
      onRetry: (host, url, why) => {
        this.#visitLog.touch(host);
        options.onRetry?.(url, why);
      },
    });
    this.#renderer = options.browsers && this.#newRenderer(options.browsers);
  }

  #newRenderer(pool: BrowserPool): Renderer {
    const { archive, run } = this.#options;
    const { signal } = this.#stop;
    const requestsOptions: PageRequestsOptions = {
      archive,
      visitor: this.#visitor,
      captures: this.#captures,
      frontier: this.#frontier,
      scope: this.#visitLog.scope,
      turns: this.#turns,
      tally: this.tally,
      signal,
      runningVisits: new Map(),
      unreachable: (origin) => this.#unreachable(origin),
      note: (item, outcome) =>
        this.#reading.run(async () => {
          const findings = outcome.kind === 'visited' ? await outcome.findLinks() : {};
          await this.#visitLog.addPageRequest(item, outcome, findings);
          // The failure must be written before the next page requests this URL. A capture can be written later: the
          // next page finds it in the archive.
          if (outcome.kind !== 'visited') await this.#visitLog.write();
        }),
    };
    return new Renderer({
      archive,
      pool,
      settings: run.settings,
      captures: this.#captures,
      tally: this.tally,
      signal,
      newRequests: (page, capture) => new PageRequests(requestsOptions, page, capture),
    });
  }

  #delayOf(host: string): HostDelay {
    return this.#hosts.get(host)?.delay ?? this.#delays.of(host);
  }

  /** Why no URL of an origin can be fetched in this run; undefined when URLs can be fetched. */
  #unreachable(origin: string): Unreachable | undefined {
    const delay = this.#delayOf(hostName(origin));
    if (delay.isPostponed || delay.isNameMissing)
      return this.#robots.unreachable(origin) ?? { reason: 'dns', detail: 'the name of the host has no address' };
    if (!delay.isGivenUp) return this.#robots.unreachable(origin);
    return {
      reason: 'busy',
      detail: 'the host refuses all requests, asks for too long pauses, or cannot be reached',
    };
  }

  offerSeeds(): Promise<void> {
    return this.#visitLog.offerSeeds();
  }

  /** Waits until no other crawler asks a host. */
  async #reserve(host: string, signal: AbortSignal): Promise<void> {
    const earlier = await this.#frontier.reserve(host, signal);
    if (earlier && !this.#hosts.get(host)) this.#delays.of(host, earlier);
  }

  async run(): Promise<{ outcome: CrawlReport['outcome']; limit: CrawlReport['limit'] }> {
    const { signal } = this.#options;
    const onAbort = () => {
      this.#stop.abort(signal!.reason);
      this.#sleeping.wake();
    };
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
    try {
      await this.#visitAll();
      if (this.#limit === 'pages' && this.#failure === undefined) {
        await this.#continueWithNeeds();
        await this.#visitAll();
      }
      if (this.#failure !== undefined) throw this.#failure;
      await this.#visitLog.write();
      const isInterrupted = signal?.aborted ?? false;
      return { outcome: isInterrupted ? 'interrupted' : this.#limit ? 'limited' : 'done', limit: this.#limit };
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Visits queued URLs until none are left or a limit is reached. */
  async #visitAll(): Promise<void> {
    while (this.#failure === undefined && !this.#stop.signal.aborted) {
      const limit = this.#reachedLimit();
      if (limit) {
        this.#limit = limit;
        break;
      }
      await this.#takeNews();
      if (this.#frontier.isShared && this.#isFull()) await this.#frontier.askForPages(this.#used);
      const nextAt = Math.min(this.#startTurns(), await this.#startReadable());
      this.#nextAt = nextAt;
      await this.#reportProgress();
      if (this.#running === 0 && nextAt === Number.POSITIVE_INFINITY) {
        await this.#visitLog.write();
        if (this.#isFull()) await this.#sleep(this.#clock() + IDLE_MS);
        if ((await this.#hosts.hasWork(this.#clock())) || this.#hosts.lookUpPostponed()) continue;
        if (this.#hosts.hasRetired) await this.#hosts.release(this.#clock());
        if (await this.#frontier.isFinished()) break;
        await this.#sleep(this.#clock() + IDLE_MS);
        continue;
      }
      await this.#sleep(nextAt);
      if (this.#visitLog.dueAt <= this.#clock()) await this.#visitLog.write();
    }
    await this.#waitForVisits();
  }

  /** Follows what other crawlers have done, and gives hosts back that they need. */
  async #takeNews(): Promise<void> {
    if (!this.#frontier.isShared) return;
    const now = this.#clock();
    const news = this.#frontier.news();
    if (news) {
      for (const bucket of news.lost) this.#hosts.lose(bucket);
      for (const bucket of news.wanted) this.#hosts.leave(bucket);
      this.#visitLog.addMovedSeeds(news.movedSeeds);
      this.#cookies.merge(news.cookies);
    }
    if (now >= this.#readAgainAt) {
      this.#readAgainAt = now + READ_AGAIN_MS;
      this.#hosts.readAgain();
      this.#robots.forgetMissing();
    }
    if (!this.#hosts.hasRetired && !this.#hosts.isAnyLeaving) return;
    await this.#visitLog.write();
    await this.#hosts.release(now);
  }

  /** Called at the limit of pages. From now on only the embeds that captured pages need are visited. */
  async #continueWithNeeds(): Promise<void> {
    await this.#visitLog.write();
    this.#frontier.onlyNeeds = true;
    this.#hosts.clear();
  }

  /**
   * Waits for the running visits. They are aborted when the crawl failed or was interrupted, and GRACE_MS after its
   * time limit.
   */
  async #waitForVisits(): Promise<void> {
    if (this.#failure !== undefined) this.#stop.abort();
    const graceEnd = this.#limit === 'time' ? this.#clock() + GRACE_MS : Number.POSITIVE_INFINITY;
    while (this.#running > 0) {
      await this.#sleep(Math.min(graceEnd, this.#startTurns()));
      // URLs whose body has not been received at the end of GRACE_MS stay queued.
      if (this.#clock() >= graceEnd) this.#stop.abort();
    }
  }

  /** Starts requests of rendered pages. They go before the queue, since pages need them. */
  #startTurns(): EpochMs {
    return this.#turns.start(this.#options.run.settings.concurrency - this.#receiving);
  }

  #reachedLimit(): CrawlReport['limit'] {
    const { pagesMax, bytesMax, timeMsMax } = this.#options.run.settings;
    const { counts } = this.tally;
    const { others, onlyNeeds } = this.#frontier;
    if (counts.pages + others.pages >= pagesMax && !onlyNeeds) return 'pages';
    if (counts.bytes + others.bytes >= bytesMax) return 'bytes';
    return this.#clock() - this.#resumedAt >= timeMsMax ? 'time' : undefined;
  }

  /** Reads the queues of hosts that may be visited, and starts all requests that may be sent now. */
  async #startReadable(): Promise<EpochMs> {
    await this.#hosts.fill(this.#clock());
    for (let round = 1; ; round++) {
      const nextAt = this.#startAll();
      const hosts = this.#hasRoom() && !this.#isFull() ? this.#hosts.hostsToRead(this.#clock()) : [];
      const mustWrite = hosts.length > 0 || this.#visitLog.hasUrls;
      if (!mustWrite && !this.#robots.isWanted && !this.#hosts.canFill) return nextAt;
      // Other work has its turn too.
      if (round > ROUNDS_MAX) return Math.min(nextAt, this.#clock());
      // What visits have found comes before what is queued already.
      if (mustWrite) await this.#visitLog.write();
      if (hosts.length > 0) await this.#hosts.read(hosts);
      if (this.#robots.isWanted) await this.#robots.load();
      if (this.#hosts.canFill) await this.#hosts.fill(this.#clock());
    }
  }

  /** Starts all requests that may be sent now, and returns the time when the next one may be sent. */
  #startAll(): EpochMs {
    let nextAt = Number.POSITIVE_INFINITY;
    this.#hosts.endWaits(this.#clock());
    for (let isBusy = true; isBusy && this.#hasRoom(); ) {
      isBusy = false;
      nextAt = Number.POSITIVE_INFINITY;
      for (const host of this.#hosts.inRotation()) {
        if (!this.#hasRoom()) break;
        if (this.#isFull()) return Number.POSITIVE_INFINITY;
        if (this.#startOne(host)) isBusy = true;
        if (host.isIdle) this.#hosts.retire(host);
        else if (host.delay.isPostponed && this.#hosts.postpone(host)) continue;
        else if (!this.#hosts.letWait(host, this.#clock())) nextAt = Math.min(nextAt, this.#readyAt(host));
      }
      if (this.#hosts.endWaits(this.#clock())) isBusy = true;
    }
    return Math.min(nextAt, this.#hosts.wakeAt);
  }

  #readyAt({ name, readyAt }: ActiveHost): EpochMs {
    return this.#frontier.mayAsk(name) ? readyAt : Math.max(readyAt, this.#clock() + IDLE_MS);
  }

  #hasRoom(): boolean {
    const { concurrency } = this.#options.run.settings;
    const waiting = this.#running - this.#receiving;
    const hasMemory = waiting < UNACKNOWLEDGED_MAX && this.#unacknowledgedBytes < UNACKNOWLEDGED_BYTES_MAX;
    const isFree = this.#receiving + this.#turns.running < concurrency;
    return isFree && hasMemory && !(this.#renderer?.isFull ?? false);
  }

  /** Whether the visited pages and the running visits together reach the limit of pages. */
  #isFull(): boolean {
    return !this.#frontier.onlyNeeds && this.#used >= this.#frontier.pagesAllowed(this.#used);
  }

  /** How many pages this crawler has visited or may be visiting. */
  get #used(): number {
    return this.tally.counts.pages + this.#running;
  }

  /**
   * Starts one request to a host if one may be sent now. Forbidden URLs before it in the queue are settled without a
   * request.
   */
  #startOne(host: ActiveHost): boolean {
    const now = this.#clock();
    if (this.#visitLog.hasUrls || host.isLeaving) return false;
    for (let settled = 0; settled < SETTLED_AT_ONCE_MAX && host.readyAt <= now; settled++) {
      const next = host.peek(now);
      if (!next) return false;
      const origin = originOf(next.url);
      const rules = this.#rulesOf(origin);
      if (rules === 'unread') return false;
      // A page that is only read again needs no request.
      if (host.delay.isGivenUp && !(rules !== 'missing' && next.tries === READ_AGAIN)) {
        this.#settleForbidden(host, host.take());
        continue;
      }
      if (!this.#frontier.mayAsk(host.name)) return false;
      if (rules === 'missing') {
        this.#startRobots(host, next.url, now);
        return true;
      }
      // The queued sitemaps come before `next`, so peek again.
      if (this.#visitLog.offerSitemaps(origin, rules)) return false;
      host.delay.useCrawlDelay(rules.crawlDelayMs);
      if (host.readyAt > now) return false;
      const item = host.take();
      // The settings of a resumed crawl may exclude URLs that were queued before.
      if (this.#options.isResumed && !this.#visitLog.scope.hasKnown(item) && !this.#options.isWantedKnown(item)) {
        this.#visitLog.addSoon(host, item, outOfScope(item));
        continue;
      }
      if (item.role === 'sitemap' && this.#visitLog.sitemaps.isBarren(item.url)) {
        this.#visitLog.addSoon(host, item, trapped(item, 'sitemaps'));
        continue;
      }
      if (rules.isAllowed(item.url)) {
        this.#startVisit(host, item, now);
        return true;
      }
      this.#settleForbidden(host, item);
    }
    return false;
  }

  /** Settles a URL without a request. */
  #settleForbidden(host: ActiveHost, item: TakenUrl): void {
    this.#visitLog.addSoon(host, item, forbidden(item, this.#unreachable(originOf(item.url))));
  }

  #mayBeDoneBy(host?: ActiveHost): VisitOptions['mayBeDoneBy'] {
    const { isResumed, run } = this.#options;
    return isResumed || host?.mayBeVisited
      ? 'earlier-process'
      : run.settings.browser === 'none'
        ? undefined
        : 'rendered-page';
  }

  #rulesOf(origin: string): RobotsRules | 'missing' | 'unread' {
    const { archive, run } = this.#options;
    return run.settings.robots === 'ignore' ? this.#robots.allowAll : this.#robots.get(origin, archive.clock());
  }

  #isLastTry(tries: number): boolean {
    return tries >= this.#options.run.settings.retries + (this.#mayBeOffline ? OFFLINE_TRIES : 0);
  }

  /** Fetches the robots.txt that a URL waits for. */
  #startRobots(host: ActiveHost, url: string, now: EpochMs): void {
    host.delay.begin(now);
    this.#launch(host, (options) => this.#robotsFetches.fetch(host, url, options));
  }

  /** Fetches the robots.txt that a request of a rendered page waits for. */
  async #fetchRules(origin: string, turn: Turn, tries: number): Promise<RobotsRules | undefined> {
    this.#running++;
    try {
      const delay = this.#delayOf(hostName(`${origin}/`));
      return await this.#robotsFetches.fetchInTurn(origin, turn, tries, delay, this.#stop.signal);
    } finally {
      this.#running--;
      this.#sleeping.wake();
    }
  }

  #startVisit(host: ActiveHost, item: TakenUrl, now: EpochMs): void {
    const { run } = this.#options;
    host.delay.begin(now, item.tries !== READ_AGAIN);
    this.#launch(host, async (options) => {
      const isLastTry = this.#isLastTry(item.tries) || host.delay.hasRefusedMany;
      const onUnconnected = (reason: FailureReason) => this.#noteConnectionFailure(host, originOf(item.url), reason);
      const whole = { ...options, isLastTry, mayBeDoneBy: this.#mayBeDoneBy(host), onUnconnected };
      const outcome = await this.#visitor.visit(item, whole).catch((error: unknown) => {
        if (error instanceof NotSent) host.putBack(item);
        throw error;
      });
      this.#lastUrl = item.url;
      if (outcome.kind === 'retry') this.#retry(host, item, outcome);
      else if (outcome.kind === 'visited') {
        // The host must be free before rendering, because the page sends further requests to it.
        options.onReceived(undefined, 0);
        const rendered = await this.#renderer?.render(outcome);
        const { visited, findLinks } = rendered ?? { visited: outcome, findLinks: outcome.findLinks };
        if (visited.isInMemory && !rendered) {
          // A recrawl must not omit links: it reads changed pages only, and does not visit seeds first.
          const { hasQueuedSeeds } = this.#frontier;
          const omitsReported = run.kind === 'first' && mayOmitReported(hasQueuedSeeds, run.settings, item);
          await this.#visitLog.add(host, item, visited, await findLinks(omitsReported));
        } else await this.#reading.run(async () => this.#visitLog.add(host, item, visited, await findLinks()));
      } else await this.#visitLog.add(host, item, outcome);
    });
  }

  #noteConnectionFailure({ delay }: ActiveHost, origin: string, reason: FailureReason): void {
    if (this.#isNameMissing(delay, { reason })) return;
    if (delay.answeredLast(origin)) this.#mayBeOffline = true;
    delay.noteConnectionFailure(this.#clock(), origin);
  }

  /** Whether the name of a host does not resolve although the network works. */
  #isNameMissing(delay: HostDelay, failure: Pick<Unreachable, 'reason'> | undefined): boolean {
    return failure?.reason === 'dns' && !delay.hasEverAnswered && !this.#mayBeOffline;
  }

  #retry(host: ActiveHost, item: TakenUrl, { isBusy, waitMs, why, failure }: Retry): void {
    const { run } = this.#options;
    const now = this.#clock();
    const isNameMissing = this.#isNameMissing(host.delay, failure);
    if (isNameMissing && !host.delay.noteMissingName(now)) {
      this.#visitLog.addSoon(host, item, { kind: 'failed', settlement: failedSettlement(item), ...failure! });
      return;
    }
    this.tally.counts.retried++;
    this.#options.onRetry?.(item.url, why);
    this.#visitLog.addTry(item);
    if (isBusy) host.delay.noteRefusal(now, waitMs);
    host.retryLater(item, now + (isBusy || isNameMissing ? 0 : run.settings.retryDelayMs * 2 ** item.tries));
  }

  /**
   * Runs a visit. The host and the connection are free as soon as the response is received, even if storing takes
   * longer.
   */
  #launch(
    host: ActiveHost,
    work: (options: Pick<VisitOptions, 'signal' | 'mayBeSent' | 'onReceived'>) => Promise<void>,
  ): void {
    this.#running++;
    this.#receiving++;
    let isReceiving = true;
    let heldBytes = 0;
    const onReceived = (exchange: Exchange | undefined, bytes: number) => {
      if (!isReceiving) return;
      isReceiving = false;
      this.#receiving--;
      heldBytes = bytes;
      this.#unacknowledgedBytes += heldBytes;
      const now = this.#clock();
      if (exchange) this.#mayBeOffline = false;
      if (exchange && BUSY_STATUSES.has(exchange.status)) {
        // This was the last try, so the refusal is captured. The host still gets its pause.
        const waitMs = retryAfterMs(exchange.head.get('retry-after'), this.#options.archive.clock());
        host.delay.noteRefusal(now, waitMs, exchange.status);
      } else if (exchange) host.delay.noteAnswer(originOf(exchange.url));
      host.delay.end(now, exchange);
      this.#sleeping.wake();
    };
    const mayBeSent = this.#frontier.isShared ? () => this.#frontier.holds(host.name) : undefined;
    work({ signal: this.#stop.signal, mayBeSent, onReceived })
      .catch((error: unknown) => {
        // An aborted visit is not a failure: its URL stays queued.
        if (!this.#stop.signal.aborted && !(error instanceof NotSent)) this.#failure ??= error;
      })
      .finally(() => {
        onReceived(undefined, 0);
        this.#unacknowledgedBytes -= heldBytes;
        this.#running--;
        this.#sleeping.wake();
      });
  }

  #sleep(until: EpochMs): Promise<void> {
    const at = Math.min(until, this.#visitLog.dueAt, this.#progressAt + PROGRESS_MS);
    return this.#sleeping.sleep(Math.max(0, Math.min(at - this.#clock(), PROGRESS_MS)));
  }

  async #reportProgress(): Promise<void> {
    const now = this.#clock();
    if (now - this.#progressAt < PROGRESS_MS) return;
    this.#progressAt = now;
    if (!this.#options.onProgress) return;
    this.#totals = await this.#frontier.totals();
    this.#options.onProgress?.(this.progress());
  }

  /** What the frontier has at the end of the crawl. */
  async lastTotals(): Promise<FrontierTotals> {
    return (this.#totals = await this.#frontier.totals());
  }

  progress(): CrawlProgress {
    const now = this.#clock();
    const leftMs = this.#running === 0 && this.#nextAt < Number.POSITIVE_INFINITY ? this.#nextAt - now : 0;
    const waitMs = leftMs > WAIT_MS_MIN ? leftMs : 0;
    return crawlProgress(this.tally, this.#totals, { elapsedMs: now - this.#resumedAt, waitMs, url: this.#lastUrl });
  }
}
