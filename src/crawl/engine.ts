/**
 * Runs a crawl: picks hosts that may be asked, visits their URLs, and hands what came of it to the notes.
 *
 * Small pages are read in batches and large ones one at a time, so what is in memory is bounded by one page's links,
 * small bodies on their way, and what the store has not acknowledged.
 */
import type { Archive } from '../archive/index.ts';
import type { Clock, EpochMs } from '../base/index.ts';
import type { BrowserPool } from './browser/browser-pool.ts';
import { Renderer } from './browser/browser-renderer.ts';
import { CrawlCaptures } from './crawl-captures.ts';
import type { Exchange, FailureReason, Fetcher } from './fetch/exchange.ts';
import { Frontier } from './frontier/frontier.ts';
import { hostName, originOf } from './frontier/frontier-url.ts';
import { READ_AGAIN } from './frontier/known-url.ts';
import { isDecisive } from './frontier/link-choice.ts';
import { wantedOfKnown } from './frontier/recrawl-plan.ts';
import type { KnownUrl } from './frontier/scope.ts';
import type { CrawlState } from './frontier/state.ts';
import type { LinkReader } from './links/link-reader.ts';
import { failedSettlement, forbidden, outOfScope, type Retry, trapped, type Unreachable } from './outcome.ts';
import type { ActiveHost, Taken } from './politeness/active-host.ts';
import { ActiveHosts } from './politeness/active-hosts.ts';
import { type Turn, Turns } from './politeness/browser-turns.ts';
import { type HostDelay, LATER, retryAfterMs } from './politeness/host-delay.ts';
import { HostDelays } from './politeness/host-delays.ts';
import { RedirectCookies } from './politeness/redirect-cookies.ts';
import { RobotsCache } from './politeness/robots-cache.ts';
import type { RobotsRules } from './politeness/robots-rules.ts';
import { forbidsAll, type RobotsOutcome, type RobotsRetry, RobotsVisitor } from './politeness/robots-visit.ts';
import { type CrawlReport, progressOf, Tally } from './report.ts';
import type { Run } from './run.ts';
import { type CrawlProgress, heedsDepth } from './settings.ts';
import { steadyClock } from './steady-clock.ts';
import { type VisitOptions, Visitor } from './visit.ts';
import { VisitLog } from './visit-log.ts';

/**
 * Visits that have received everything and wait for the store to acknowledge it and for their links to be read: how
 * many, and how many bytes, may be in memory.
 */
const UNACKNOWLEDGED_MAX = 768;
const UNACKNOWLEDGED_BYTES_MAX = 16 * 1024 * 1024;
/**
 * URLs of a host that are settled without a request before others have their turn, and whoever wants to stop the crawl:
 * a host can have millions.
 */
const SETTLED_AT_ONCE_MAX = 256;
const PROGRESS_MS = 500;
/** Shorter pauses than this are usual between two requests, and not told. */
const WAIT_MS_MIN = 5000;
/** How long visits that are under way when the time is over may still take. */
const GRACE_MS = 5000;
/** Further tries while the network may be gone: with their pauses, ever longer, some ten minutes. */
const CUT_OFF_TRIES = 3;

export type EngineParts = {
  readonly archive: Archive;
  readonly state: CrawlState;
  readonly run: Run;
  readonly fetcher: Fetcher;
  readonly links: LinkReader;
  /** Where pages are rendered, when they are. */
  readonly browsers?: BrowserPool | undefined;
  /** Ranks below this were queued by an earlier process, and their URLs may be done. */
  readonly isResumed: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: CrawlProgress) => void) | undefined;
  /** Called when a URL could not be had, and will be tried again. */
  readonly onRetry?: ((url: string, why: string) => void) | undefined;
};

export class Engine {
  readonly #parts: EngineParts;
  readonly #clock: Clock;
  readonly frontier: Frontier;
  readonly #robots: RobotsCache;
  readonly #captures: CrawlCaptures;
  readonly #visitor: Visitor;
  readonly #robotsVisitor: RobotsVisitor;
  readonly tally: Tally;
  readonly #delays: HostDelays;
  readonly #turns: Turns;
  readonly #renderer: Renderer | undefined;
  readonly #hosts: ActiveHosts;
  readonly #visitLog: VisitLog;
  /** Visits that have not ended. */
  #running = 0;
  /** Of those, the ones that have something to receive still. */
  #receiving = 0;
  #unacknowledgedBytes = 0;
  /** Settled when no page is being read. */
  #reading = Promise.resolve();
  #wake: (() => void) | undefined;
  #failure: unknown;
  #limit: CrawlReport['limit'];
  #progressAt: EpochMs = 0;
  #lastUrl = '';
  /**
   * Whether a host that had answered could not be connected to, and none has answered since: it may be the network that
   * is gone, and not the hosts.
   */
  #isCutOff = false;
  /** When something can be asked for that could not be a moment ago. */
  #nextAt: EpochMs = 0;
  /** Elapsed time counts from here: an interrupted crawl did not run in between. */
  readonly #resumedAt: EpochMs;
  readonly #stop = new AbortController();
  readonly #isWantedKnown: (known: KnownUrl) => boolean;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    const { archive, state, run, fetcher, links } = parts;
    this.#clock = steadyClock(() => archive.clock());
    const { settings } = run;
    this.frontier = new Frontier(state, run.collection, run.number, settings.urlsPerHostMax, heedsDepth(settings));
    // A recrawl reads only what has changed.
    this.frontier.readsAgain = run.kind === 'first';
    this.#robots = new RobotsCache(state, settings.productToken);
    this.#captures = new CrawlCaptures(archive, settings, run.startedAt);
    const isAgain = run.kind === 'again';
    this.#isWantedKnown = isAgain ? wantedOfKnown(state, run) : () => false;
    const cookies = new RedirectCookies();
    this.#visitor = new Visitor({ archive, captures: this.#captures, fetcher, links, settings, cookies, isAgain });
    this.#robotsVisitor = new RobotsVisitor(archive, fetcher, this.#captures, (host) =>
      this.#turns.next(host, this.#stop.signal),
    );
    this.tally = new Tally(run.counts, run.startedAt, run.report);
    this.#resumedAt = this.#clock();
    // Who was killed left no word of when it ended.
    const askedAt = parts.isResumed ? Math.min(run.endedAt ?? this.#resumedAt, this.#resumedAt) : undefined;
    this.#delays = new HostDelays(settings, this.#clock, askedAt);
    this.#hosts = new ActiveHosts(this.frontier, settings, this.#delays);
    this.#visitLog = new VisitLog({
      state,
      run,
      frontier: this.frontier,
      hosts: this.#hosts,
      tally: this.tally,
      cookies,
      clock: this.#clock,
      calendar: archive.clock,
    });
    this.#turns = new Turns({
      clock: this.#clock,
      delayOf: (host) => this.#delayOf(host),
      rulesOf: (origin) => this.#rulesOf(origin),
      fetchRules: (origin, turn, tries) => this.#fetchRules(origin, turn, tries),
      wake: () => this.#wake?.(),
    });
    this.#renderer = parts.browsers && this.#newRenderer(parts.browsers);
  }

  #newRenderer(pool: BrowserPool): Renderer {
    const { archive, run } = this.#parts;
    return new Renderer({
      archive,
      pool,
      settings: run.settings,
      visitor: this.#visitor,
      captures: this.#captures,
      frontier: this.frontier,
      scope: this.#visitLog.scope,
      turns: this.#turns,
      tally: this.tally,
      signal: this.#stop.signal,
      visiting: new Map(),
      unreachable: (origin) => this.#unreachable(origin),
      note: (item, outcome) =>
        this.#inTurn(async () => {
          this.#visitLog.addAsked(item, outcome, outcome.kind === 'visited' ? await outcome.learn() : {});
          // The next page must find that there is nothing to be had; what was captured it finds in the archive.
          if (outcome.kind !== 'visited') this.#visitLog.write();
        }),
    });
  }

  #delayOf(host: string): HostDelay {
    return this.#hosts.get(host)?.delay ?? this.#delays.of(host);
  }

  /** Why nothing can be had of an origin in this run. */
  #unreachable(origin: string): Unreachable | undefined {
    const delay = this.#delayOf(hostName(origin));
    if (delay.isAside || delay.isMissing)
      return this.#robots.unreachable(origin) ?? { reason: 'dns', detail: 'the name of the host leads to no address' };
    if (!delay.isGivenUp) return this.#robots.unreachable(origin);
    return {
      reason: 'busy',
      detail: 'the host refuses whatever it is asked for, or for too long, or cannot be reached',
    };
  }

  offerSeeds(): void {
    this.#visitLog.offerSeeds();
  }

  async run(): Promise<{ outcome: CrawlReport['outcome']; limit: CrawlReport['limit'] }> {
    const { signal } = this.#parts;
    const onAbort = () => {
      this.#stop.abort(signal!.reason);
      this.#wake?.();
    };
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
    try {
      await this.#visitAll();
      if (this.#limit === 'pages' && this.#failure === undefined) {
        this.#narrow();
        await this.#visitAll();
      }
      if (this.#failure !== undefined) throw this.#failure;
      this.#visitLog.write();
      const isInterrupted = signal?.aborted ?? false;
      return { outcome: isInterrupted ? 'interrupted' : this.#limit ? 'limited' : 'done', limit: this.#limit };
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Visits what is queued until nothing is left, or a limit is reached. */
  async #visitAll(): Promise<void> {
    while (this.#failure === undefined && !this.#stop.signal.aborted) {
      const limit = this.#reachedLimit();
      if (limit) {
        this.#limit = limit;
        break;
      }
      const nextAt = Math.min(this.#startTurns(), this.#startAll());
      this.#nextAt = nextAt;
      this.#tellProgress();
      if (this.#running === 0 && nextAt === Number.POSITIVE_INFINITY) {
        this.#visitLog.write();
        if (!this.#hosts.hasWork(this.#clock()) && !this.#hosts.lookUpAside()) break;
        continue;
      }
      await this.#sleep(nextAt);
      if (this.#visitLog.dueAt <= this.#clock()) this.#visitLog.write();
    }
    await this.#settleDown();
  }

  /** There are pages enough. What they need to be shown is not left behind. */
  #narrow(): void {
    this.#visitLog.write();
    this.frontier.onlyNeeds = true;
    this.#hosts.clear();
  }

  /**
   * Waits until nothing is under way. Visits that were begun are finished, unless the crawl is to stop at once, or
   * soon, since its time is over.
   */
  async #settleDown(): Promise<void> {
    if (this.#failure !== undefined) this.#stop.abort();
    const graceEnd = this.#limit === 'time' ? this.#clock() + GRACE_MS : Number.POSITIVE_INFINITY;
    while (this.#running > 0) {
      await this.#sleep(Math.min(graceEnd, this.#startTurns()));
      // What is not received by now stays queued.
      if (this.#clock() >= graceEnd) this.#stop.abort();
    }
  }

  /** What rendered pages ask for goes first, as what a page needs does. */
  #startTurns(): EpochMs {
    return this.#turns.start(this.#parts.run.settings.concurrency - this.#receiving);
  }

  #reachedLimit(): CrawlReport['limit'] {
    const { pagesMax, bytesMax, timeMsMax } = this.#parts.run.settings;
    const { counts } = this.tally;
    if (counts.pages >= pagesMax && !this.frontier.onlyNeeds) return 'pages';
    if (counts.bytes >= bytesMax) return 'bytes';
    return this.#clock() - this.#resumedAt >= timeMsMax ? 'time' : undefined;
  }

  /** Starts what can be started, and says when more can be. */
  #startAll(): EpochMs {
    let nextAt = Number.POSITIVE_INFINITY;
    this.#hosts.fill(this.#clock());
    for (let isBusy = true; isBusy && this.#hasRoom(); ) {
      isBusy = false;
      nextAt = Number.POSITIVE_INFINITY;
      for (const host of this.#hosts.inTurn()) {
        if (!this.#hasRoom()) break;
        if (this.#isFull()) return Number.POSITIVE_INFINITY;
        if (this.#startOne(host)) isBusy = true;
        if (host.isIdle) this.#hosts.retire(host);
        else if (host.delay.isAside && this.#hosts.setAside(host)) continue;
        else if (!this.#hosts.rest(host, this.#clock())) nextAt = Math.min(nextAt, host.readyAt);
      }
      if (this.#hosts.fill(this.#clock())) isBusy = true;
    }
    return Math.min(nextAt, this.#hosts.wakeAt);
  }

  #hasRoom(): boolean {
    const { concurrency } = this.#parts.run.settings;
    const waiting = this.#running - this.#receiving;
    const hasMemory = waiting < UNACKNOWLEDGED_MAX && this.#unacknowledgedBytes < UNACKNOWLEDGED_BYTES_MAX;
    const isFree = this.#receiving + this.#turns.under < concurrency;
    return isFree && hasMemory && !(this.#renderer?.isFull ?? false);
  }

  /** Whether as many pages are done or under way as may be. */
  #isFull(): boolean {
    const { pagesMax } = this.#parts.run.settings;
    return !this.frontier.onlyNeeds && this.tally.counts.pages + this.#running >= pagesMax;
  }

  /** Starts one request to a host, if one may go out now. What is forbidden is settled on the way. */
  #startOne(host: ActiveHost): boolean {
    const now = this.#clock();
    // Where nothing is left, there is nothing to wait for.
    if (host.waits(now)) host.peek(now, () => this.#visitLog.write());
    for (let settled = 0; settled < SETTLED_AT_ONCE_MAX && host.readyAt <= now; settled++) {
      const next = host.peek(now, () => this.#visitLog.write());
      if (!next) return false;
      const origin = originOf(next.url);
      const rules = this.#rulesOf(origin);
      // Nobody is asked for what is only read again.
      if (host.delay.isGivenUp && !(rules && next.tries === READ_AGAIN)) {
        this.#leave(host, host.take());
        continue;
      }
      if (!rules) {
        this.#startRobots(host, next.url, now);
        return true;
      }
      // Sitemaps come before what was looked at.
      if (this.#visitLog.offerSitemaps(origin, rules)) continue;
      host.delay.heedCrawlDelay(rules.crawlDelayMs);
      if (host.readyAt > now) return false;
      const item = host.take();
      // What was queued before the crawl was interrupted may be left out by the settings that it goes on with.
      if (this.#parts.isResumed && !this.#visitLog.scope.hasKnown(item) && !this.#isWantedKnown(item)) {
        this.#visitLog.add(host, item, outOfScope(item));
        continue;
      }
      if (item.role === 'sitemap' && this.#visitLog.sitemaps.isBarren(item.url)) {
        this.#visitLog.add(host, item, trapped(item, 'sitemaps'));
        continue;
      }
      if (rules.isAllowed(item.url)) {
        this.#startVisit(host, item, now);
        return true;
      }
      this.#leave(host, item);
    }
    return false;
  }

  /** Settles a URL that is not asked for. */
  #leave(host: ActiveHost, item: Taken): void {
    this.#visitLog.add(host, item, forbidden(item, this.#unreachable(originOf(item.url))));
  }

  get #maybeDone(): VisitOptions['maybeDone'] {
    const { isResumed, run } = this.#parts;
    return isResumed ? 'resumed' : run.settings.browser === 'none' ? undefined : 'asked';
  }

  #rulesOf(origin: string): RobotsRules | undefined {
    const { archive, run } = this.#parts;
    return run.settings.robots === 'ignore' ? this.#robots.everything : this.#robots.get(origin, archive.clock());
  }

  #isLastTry(tries: number): boolean {
    return tries >= this.#parts.run.settings.retries + (this.#isCutOff ? CUT_OFF_TRIES : 0);
  }

  /** Fetches the robots.txt that a URL waits for. */
  #startRobots(host: ActiveHost, url: string, now: EpochMs): void {
    const origin = originOf(url);
    const tries = host.robotsTries.get(origin) ?? 0;
    const isLastTry = this.#isLastTry(tries);
    host.robotsUnderWay = origin;
    host.delay.begin(now);
    this.#launch(host, async (options) => {
      try {
        const outcome = await this.#robotsVisitor.visit(origin, { ...options, isLastTry, maybeDone: this.#maybeDone });
        if (outcome.kind === 'robots') this.#takeRules(origin, outcome);
        else this.#retryRobots(host, origin, url, outcome, tries);
      } finally {
        host.robotsUnderWay = undefined;
      }
    });
  }

  #retryRobots(
    host: ActiveHost,
    origin: string,
    url: string,
    { failure, waitMs, why }: RobotsRetry,
    tries: number,
  ): void {
    const now = this.#clock();
    const isUnresolved = this.#isUnresolved(host.delay, failure);
    if (isUnresolved && !host.delay.missName(now)) {
      this.#takeRules(origin, forbidsAll(failure!, this.#parts.archive.clock()));
      return;
    }
    this.tally.counts.retried++;
    host.robotsTries.set(origin, tries + 1);
    if (!isUnresolved) host.delay.refuse(now, waitMs);
    this.#parts.onRetry?.(url, why);
  }

  #takeRules(origin: string, outcome: RobotsOutcome): RobotsRules {
    this.tally.counts.captures += outcome.captures;
    this.tally.counts.bytes += outcome.bytes;
    return this.#robots.put(origin, outcome);
  }

  /** Fetches robots.txt for what a page asks for. */
  async #fetchRules(origin: string, turn: Turn, tries: number): Promise<RobotsRules | undefined> {
    this.#running++;
    try {
      const outcome = await this.#robotsVisitor.visit(origin, {
        signal: this.#stop.signal,
        isLastTry: this.#isLastTry(tries),
        maybeDone: this.#maybeDone,
        onReceived: (exchange) => turn.end(exchange),
      });
      if (outcome.kind === 'robots') return this.#takeRules(origin, outcome);
      this.tally.counts.retried++;
      const delay = this.#delayOf(hostName(`${origin}/`));
      // A page does not wait for a name to be looked up once more.
      if (this.#isUnresolved(delay, outcome.failure)) delay.missName(this.#clock());
      else turn.refuse(outcome.waitMs);
      return undefined;
    } finally {
      this.#running--;
      this.#wake?.();
    }
  }

  #startVisit(host: ActiveHost, item: Taken, now: EpochMs): void {
    const { run } = this.#parts;
    host.delay.begin(now, item.tries !== READ_AGAIN);
    this.#launch(host, async (options) => {
      const isLastTry = this.#isLastTry(item.tries) || host.delay.isTired;
      const onUnconnected = (reason: FailureReason) => this.#miss(host, originOf(item.url), reason);
      const whole = { ...options, isLastTry, maybeDone: this.#maybeDone, onUnconnected };
      const outcome = await this.#visitor.visit(item, whole);
      this.#lastUrl = item.url;
      if (outcome.kind === 'retry') this.#retry(host, item, outcome);
      else if (outcome.kind === 'visited') {
        // The host is free before the page asks it for more.
        options.onReceived(undefined, 0);
        const rendered = await this.#renderer?.render(outcome);
        const { visited, learn } = rendered ?? { visited: outcome, learn: outcome.learn };
        if (visited.isAtHand && !rendered) {
          // A recrawl reads only what has changed, and seeds do not come first there.
          const onlyUntold = run.kind === 'first' && isDecisive(this.frontier, run.settings, item);
          this.#visitLog.add(host, item, visited, await learn(onlyUntold));
        } else await this.#inTurn(async () => this.#visitLog.add(host, item, visited, await learn()));
      } else this.#visitLog.add(host, item, outcome);
    });
  }

  #miss({ delay }: ActiveHost, origin: string, reason: FailureReason): void {
    if (this.#isUnresolved(delay, { reason })) return;
    if (delay.hasAnswered(origin)) this.#isCutOff = true;
    delay.miss(this.#clock(), origin);
  }

  /** Whether the name of a host leads nowhere, and it is not the network that is gone. */
  #isUnresolved(delay: HostDelay, failure: Pick<Unreachable, 'reason'> | undefined): boolean {
    return failure?.reason === 'dns' && !delay.hasEverAnswered && !this.#isCutOff;
  }

  /** Large pages are read one at a time, each until its links are among those to be noted. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#reading.then(work);
    this.#reading = turn.catch(() => {});
    return turn;
  }

  #retry(host: ActiveHost, item: Taken, { isBusy, waitMs, why, failure }: Retry): void {
    const { run, state } = this.#parts;
    const now = this.#clock();
    const isUnresolved = this.#isUnresolved(host.delay, failure);
    if (isUnresolved && !host.delay.missName(now)) {
      this.#visitLog.add(host, item, { kind: 'failed', settlement: failedSettlement(item), ...failure! });
      return;
    }
    this.tally.counts.retried++;
    this.#parts.onRetry?.(item.url, why);
    state.transaction(() => this.frontier.countTry(item));
    if (isBusy) host.delay.refuse(now, waitMs);
    host.postpone(item, now + (isBusy || isUnresolved ? 0 : run.settings.retryDelayMs * 2 ** item.tries));
  }

  /**
   * Runs a visit. The host and the connection are free as soon as everything is received, though the store may take its
   * time.
   */
  #launch(host: ActiveHost, work: (options: Pick<VisitOptions, 'signal' | 'onReceived'>) => Promise<void>): void {
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
      if (exchange) this.#isCutOff = false;
      if (exchange && LATER.has(exchange.status)) {
        // It is kept, since no further try is made. Its pause is made all the same.
        const waitMs = retryAfterMs(exchange.head.get('retry-after'), this.#parts.archive.clock());
        host.delay.refuse(now, waitMs, exchange.status);
      } else if (exchange) host.delay.accept(originOf(exchange.url));
      host.delay.end(now, exchange);
      this.#wake?.();
    };
    work({ signal: this.#stop.signal, onReceived })
      .catch((error: unknown) => {
        // What was stopped on purpose stays queued and is no failure.
        if (!this.#stop.signal.aborted) this.#failure ??= error;
      })
      .finally(() => {
        onReceived(undefined, 0);
        this.#unacknowledgedBytes -= heldBytes;
        this.#running--;
        this.#wake?.();
      });
  }

  #sleep(until: EpochMs): Promise<void> {
    const at = Math.min(until, this.#visitLog.dueAt, this.#progressAt + PROGRESS_MS);
    const waitMs = Math.max(0, Math.min(at - this.#clock(), PROGRESS_MS));
    return new Promise<void>((resolve) => {
      const goOn = () => {
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(goOn, waitMs);
      // Requests go out when all answers that have come are taken in: one burst wakes the other side once.
      this.#wake = () => {
        this.#wake = undefined;
        clearTimeout(timer);
        setImmediate(goOn);
      };
    });
  }

  #tellProgress(): void {
    const now = this.#clock();
    if (now - this.#progressAt < PROGRESS_MS) return;
    this.#progressAt = now;
    this.#parts.onProgress?.(this.progress());
  }

  progress(): CrawlProgress {
    const now = this.#clock();
    const leftMs = this.#running === 0 && this.#nextAt < Number.POSITIVE_INFINITY ? this.#nextAt - now : 0;
    const waitMs = leftMs > WAIT_MS_MIN ? leftMs : 0;
    return progressOf(this.tally, this.frontier, { elapsedMs: now - this.#resumedAt, waitMs, url: this.#lastUrl });
  }
}
