/**
 * The delay of one host: when the next request may be sent.
 *
 * The pause between two requests is the longest of three: the configured delay, the Crawl-delay of the host, and a
 * multiple of its response time, up to a bound. A busy host (429, 503) is left alone for as long as its Retry-After
 * says, or for growing pauses. A host that refuses all URLs is given up for the run. If its pages may be broken, and
 * not the host, every further URL is visited once.
 *
 * A host that cannot be connected to is tried again for some minutes, with growing pauses, since the network may be
 * down. A host that never answered and whose name has no address is postponed. Its name is looked up once more when
 * nothing else is left to do.
 */
import type { EpochMs } from '../../base/index.ts';
import type { EarlierVisits, HostFacts } from '../frontier/host-facts.ts';
import type { CrawlSettings } from '../settings.ts';

/**
 * Statuses of a busy host. After an answer with one of them the URL is tried again. The answer to its last try is
 * stored.
 */
export const BUSY_STATUSES: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/** The weight of a new response time in the average. */
const SMOOTHING = 0.25;
/** The sum of the pauses that a host may ask for, and how many URLs in a row it may refuse at their last try. */
const PAUSE_MS_MAX = 3600_000;
const REFUSED_URLS_MAX = 20;
const TOO_MANY_REQUESTS = 429;
/** How many connections in a row must fail before a host is paused, and the sum of these pauses. */
const CONNECTION_FAILURES_MIN = 3;
const UNREACHABLE_MS_MAX = 15 * 60_000;
/** The least time between two look-ups of a name without an address. */
const LOOK_UP_AGAIN_MS = 1000;

export class HostDelay {
  readonly #settings: CrawlSettings;
  readonly #lastRequestAt: EpochMs;
  #readyAt: EpochMs = 0;
  #latencyMs = 0;
  #crawlDelayMs = 0;
  #refusals = 0;
  /**
   * Counted since the last answer of the host: the URLs that it refused at their last try, whether the last refusal was
   * about all URLs, and the sum of the pauses that it asked for.
   */
  #refusedUrls = 0;
  #refusesAll = false;
  #requestedPauseMs = 0;
  /**
   * Also counted since the last answer: failed connections, the sum of the pauses after them, and the end of the last
   * pause.
   */
  #connectionFailures = 0;
  #unreachableMs = 0;
  #unreachableUntil: EpochMs = 0;
  /** The origin that answered last. A host may support http or https alone. */
  #answeringOrigin: string | undefined;
  #running = 0;
  /**
   * The look-up of the name: `found` (or not tried), `postponed` after a failure, `again` when it may be looked up once
   * more, `missing` when that failed too.
   */
  #name: HostFacts['name'] = 'found';

  /** `lastRequestAt`: when an earlier process may have sent its last request to the host. */
  constructor(settings: CrawlSettings, lastRequestAt = Number.NEGATIVE_INFINITY) {
    this.#settings = settings;
    this.#lastRequestAt = lastRequestAt;
  }

  /** The delay of a host that another crawler has visited. */
  static after({ facts, unnotedAgoMs }: EarlierVisits, settings: CrawlSettings, now: EpochMs): HostDelay {
    const delay = new HostDelay(settings, unnotedAgoMs === undefined ? undefined : now - unnotedAgoMs);
    if (facts) delay.#take(facts, now);
    // The other crawler may have sent a request until its lease ended. The full pause is counted from there.
    if (unnotedAgoMs !== undefined) delay.#notBefore(now - unnotedAgoMs + delay.#effectiveDelayMs);
    return delay;
  }

  #take(facts: HostFacts, now: EpochMs): void {
    this.#readyAt = now + facts.pauseMs;
    this.#latencyMs = facts.latencyMs;
    this.#crawlDelayMs = Math.min(facts.crawlDelayMs, this.#settings.crawlDelayMsMax);
    this.#refusals = facts.refusals;
    this.#refusedUrls = facts.refusedUrls;
    this.#refusesAll = facts.refusesAll;
    this.#requestedPauseMs = facts.requestedPauseMs;
    this.#connectionFailures = facts.connectionFailures;
    this.#unreachableMs = facts.unreachableMs;
    this.#unreachableUntil = facts.connectionFailures >= CONNECTION_FAILURES_MIN ? this.#readyAt : 0;
    this.#answeringOrigin = facts.answeringOrigin;
    this.#name = facts.name;
  }

  /** What the next crawler of the host must know. */
  facts(now: EpochMs): HostFacts {
    return {
      pauseMs: Math.max(0, this.#readyAt - now),
      latencyMs: this.#latencyMs,
      crawlDelayMs: this.#crawlDelayMs,
      refusals: this.#refusals,
      refusedUrls: this.#refusedUrls,
      refusesAll: this.#refusesAll,
      requestedPauseMs: this.#requestedPauseMs,
      connectionFailures: this.#connectionFailures,
      unreachableMs: this.#unreachableMs,
      answeringOrigin: this.#answeringOrigin,
      name: this.#name,
    };
  }

  /** When a request may be sent; infinity while the host has the maximum number of requests. */
  get readyAt(): EpochMs {
    if (this.#name === 'postponed') return Number.POSITIVE_INFINITY;
    const isAlone = this.#effectiveDelayMs > 0 && this.#crawlDelayMs > 0;
    const requestsMax = isAlone ? 1 : this.#settings.hostConcurrency;
    return this.#running >= requestsMax ? Number.POSITIVE_INFINITY : this.#readyAt;
  }

  get running(): number {
    return this.#running;
  }

  #notBefore(time: EpochMs): void {
    this.#readyAt = Math.max(this.#readyAt, time);
  }

  useCrawlDelay(delayMs: number | undefined): void {
    if (delayMs === undefined) return;
    this.#crawlDelayMs = Math.max(this.#crawlDelayMs, Math.min(delayMs, this.#settings.crawlDelayMsMax));
    this.#notBefore(this.#lastRequestAt + this.#crawlDelayMs);
  }

  /** Notes that a visit begins. `sendsRequest`: whether the visit sends a request to the host. */
  begin(now: EpochMs, sendsRequest = true): void {
    this.#running++;
    if (sendsRequest) this.#notBefore(now + this.#effectiveDelayMs);
  }

  /**
   * Notes that a visit ends. `answered`: when the request was sent, and how long the answer took. Opening a connection
   * may have delayed the request.
   */
  end(now: EpochMs, answered: { readonly time: EpochMs; readonly latencyMs: number } | undefined): void {
    this.#running--;
    if (!answered) return;
    const { time, latencyMs } = answered;
    this.#notBefore(time + this.#effectiveDelayMs);
    this.#latencyMs += (latencyMs - this.#latencyMs) * (this.#latencyMs === 0 ? 1 : SMOOTHING);
    // The pause of a slow host begins when the answer is complete.
    const pauseMs = Math.min(this.#latencyMs * this.#settings.delayFactor, this.#settings.delayMsMax);
    if (this.#settings.delayMs > 0) this.#notBefore(now + pauseMs - latencyMs);
  }

  /**
   * Notes that the host refused a request. `lastStatus`: the status of the refusal, if this was the last try of the
   * URL. After it the growing pauses begin small again.
   */
  noteRefusal(now: EpochMs, retryAfterMs: number | undefined, lastStatus?: number): void {
    if (lastStatus !== undefined) {
      this.#refusals = 0;
      this.#refusedUrls++;
      this.#refusesAll = lastStatus === TOO_MANY_REQUESTS || retryAfterMs !== undefined;
    }
    if (retryAfterMs !== undefined)
      this.#requestedPauseMs += Math.max(0, now + retryAfterMs - Math.max(now, this.#readyAt));
    // A Retry-After of 0, or with a date in the past, gets the usual pause.
    const waitMs = retryAfterMs || this.#settings.retryDelayMs * 2 ** this.#refusals;
    this.#refusals = Math.min(this.#refusals + 1, 10);
    this.#notBefore(now + Math.min(waitMs, PAUSE_MS_MAX));
  }

  /** Whether this origin of the host answered last. */
  answeredLast(origin: string): boolean {
    return this.#answeringOrigin === origin;
  }

  /**
   * Notes that the host could not be connected to. Failures during the pause of an earlier failure do not count.
   * Failures of a scheme that the host may not support do not count either.
   */
  noteConnectionFailure(now: EpochMs, origin: string): void {
    if (this.#answeringOrigin !== undefined && this.#answeringOrigin !== origin) return;
    if (now < this.#unreachableUntil || ++this.#connectionFailures < CONNECTION_FAILURES_MIN) return;
    const waitMs = this.#settings.retryDelayMs * 2 ** Math.min(this.#connectionFailures - CONNECTION_FAILURES_MIN, 10);
    this.#unreachableMs += waitMs;
    this.#unreachableUntil = now + waitMs;
    this.#notBefore(this.#unreachableUntil);
  }

  /** Whether the host has answered at all. */
  get hasEverAnswered(): boolean {
    return this.#answeringOrigin !== undefined;
  }

  /** Notes that the name of the host has no address. Returns whether the name will be looked up once more. */
  noteMissingName(now: EpochMs): boolean {
    if (this.#name === 'found') {
      this.#name = 'postponed';
      this.#notBefore(now + Math.min(LOOK_UP_AGAIN_MS, this.#settings.retryDelayMs));
    } else if (this.#name === 'again') this.#name = 'missing';
    return this.#name === 'postponed';
  }

  /** Whether the host is postponed until its name is looked up once more. */
  get isPostponed(): boolean {
    return this.#name === 'postponed';
  }

  /** Whether the second look-up found no address either. */
  get isNameMissing(): boolean {
    return this.#name === 'missing';
  }

  /** Allows the second look-up. Called when nothing else is left to do. */
  lookUpAgain(): void {
    if (this.#name === 'postponed') this.#name = 'again';
  }

  /** Notes that an origin of the host answered. */
  noteAnswer(origin: string): void {
    this.#name = 'found';
    this.#answeringOrigin = origin;
    this.#connectionFailures = 0;
    this.#unreachableMs = 0;
    this.#refusals = 0;
    this.#refusedUrls = 0;
    this.#requestedPauseMs = 0;
  }

  /** Whether no more requests are sent to the host in this run. */
  get isGivenUp(): boolean {
    const isRefusing = (this.hasRefusedMany && this.#refusesAll) || this.#requestedPauseMs > PAUSE_MS_MAX;
    return isRefusing || this.#unreachableMs > UNREACHABLE_MS_MAX || this.isNameMissing;
  }

  /** Whether REFUSED_URLS_MAX URLs in a row were refused. Each further URL then gets a single try. */
  get hasRefusedMany(): boolean {
    return this.#refusedUrls >= REFUSED_URLS_MAX;
  }

  get #effectiveDelayMs(): number {
    const { delayMs, delayFactor, delayMsMax } = this.#settings;
    if (delayMs === 0) return this.#crawlDelayMs;
    return Math.max(delayMs, this.#crawlDelayMs, Math.min(this.#latencyMs * delayFactor, delayMsMax));
  }
}

/** The pause that a Retry-After field asks for, as seconds or as a date. */
export function retryAfterMs(value: string | undefined, now: EpochMs): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value.trim())) return Number(value.trim()) * 1000;
  // `Date.parse` accepts numbers too: it reads `-1` as a past date.
  const date = /^\s*[a-z]/i.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
