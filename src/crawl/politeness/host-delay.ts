/**
 * The delay of one host: when the next request may go out.
 *
 * Between requests stands the longest of the delay that was asked for, the host's own Crawl-delay, and some times the
 * host's response time, up to a bound. A host that says it has too much to do (429, 503) is left alone for as long as
 * it says, or ever longer; one that says so to everything, until the next crawl. Where it may be the pages that are
 * broken, and not the host, all are asked for, but each only once. A host that cannot be reached is waited for, ever
 * longer, for some minutes in all: a network may be gone for so long. A host that never answered and whose name leads
 * to no address is set aside, and looked up once more when nothing else is left to do.
 */
import type { EpochMs } from '../../base/index.ts';
import type { CrawlSettings } from '../settings.ts';

/** Answers that say "later": not kept while there are tries left. */
export const BUSY_STATUSES: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/** How much a new response time counts against what is known. */
const SMOOTHING = 0.25;
/**
 * How long a host may ask to be left alone, in all, and how many URLs it may noteRefusal one after the other, each to the
 * last try.
 */
const PAUSE_MS_MAX = 3600_000;
const REFUSED_URLS_MAX = 20;
const TOO_MANY_REQUESTS = 429;
/** Requests one after the other that found no host before it is waited for, and for how long it is, in all. */
const CONNECTION_FAILURES_MIN = 3;
const UNREACHABLE_MS_MAX = 15 * 60_000;
/** The least time between two look-ups of a name that leads nowhere. */
const LOOK_UP_AGAIN_MS = 1000;

export class HostDelay {
  readonly #settings: CrawlSettings;
  readonly #lastRequestAt: EpochMs;
  #readyAt: EpochMs = 0;
  #latencyMs = 0;
  #crawlDelayMs = 0;
  #refusals = 0;
  /**
   * Since the host last had an answer: URLs that were refused to the last try, whether it meant more than the last of
   * them, and the pauses it asked for.
   */
  #refusedUrls = 0;
  #refusesAll = false;
  #pauseMs = 0;
  /** Since then too: requests that found no host, for how long it was waited for, and until when it is. */
  #connectionFailures = 0;
  #unreachableMs = 0;
  #unreachableUntil: EpochMs = 0;
  /** The origin that answered last: a host may speak only one of the two schemes. */
  #answeringOrigin: string | undefined;
  #running = 0;
  /**
   * Whether the name of the host was found: not known to be missing, set aside, looked up once more, or missing then
   * too.
   */
  #name: 'found' | 'aside' | 'again' | 'missing' = 'found';

  /** `lastRequestAt`: when the host may have been asked last, by a process before this one. */
  constructor(settings: CrawlSettings, lastRequestAt = Number.NEGATIVE_INFINITY) {
    this.#settings = settings;
    this.#lastRequestAt = lastRequestAt;
  }

  /** When a request may go out; infinity while as many are under way as may be. */
  get readyAt(): EpochMs {
    if (this.#name === 'aside') return Number.POSITIVE_INFINITY;
    const isAlone = this.#effectiveDelayMs > 0 && this.#crawlDelayMs > 0;
    const most = isAlone ? 1 : this.#settings.hostConcurrency;
    return this.#running >= most ? Number.POSITIVE_INFINITY : this.#readyAt;
  }

  get running(): number {
    return this.#running;
  }

  useCrawlDelay(delayMs: number | undefined): void {
    if (delayMs === undefined) return;
    this.#crawlDelayMs = Math.max(this.#crawlDelayMs, Math.min(delayMs, this.#settings.crawlDelayMsMax));
    this.#readyAt = Math.max(this.#readyAt, this.#lastRequestAt + this.#crawlDelayMs);
  }

  /** Something is under way. `isAsked`: whether the host will be asked for it. */
  begin(now: EpochMs, isAsked = true): void {
    this.#running++;
    if (isAsked) this.#readyAt = Math.max(this.#readyAt, now + this.#effectiveDelayMs);
  }

  /**
   * The request is over: when it was answered, with the time it was sent, which a connection may have delayed, and how
   * long the answer took.
   */
  end(now: EpochMs, answered: { readonly time: EpochMs; readonly latencyMs: number } | undefined): void {
    this.#running--;
    if (!answered) return;
    const { time, latencyMs } = answered;
    this.#readyAt = Math.max(this.#readyAt, time + this.#effectiveDelayMs);
    this.#latencyMs += (latencyMs - this.#latencyMs) * (this.#latencyMs === 0 ? 1 : SMOOTHING);
    // A slow host gets its rest from the moment it is done.
    const restMs = Math.min(this.#latencyMs * this.#settings.delayFactor, this.#settings.delayMsMax);
    if (this.#settings.delayMs > 0) this.#readyAt = Math.max(this.#readyAt, now + restMs - latencyMs);
  }

  /**
   * The host asked to be left alone. `lastStatus`: by which answer, when the URL is not tried again; the next one has
   * all its tries before it.
   */
  noteRefusal(now: EpochMs, retryAfterMs: number | undefined, lastStatus?: number): void {
    if (lastStatus !== undefined) {
      this.#refusals = 0;
      this.#refusedUrls++;
      this.#refusesAll = lastStatus === TOO_MANY_REQUESTS || retryAfterMs !== undefined;
    }
    if (retryAfterMs !== undefined) this.#pauseMs += Math.max(0, now + retryAfterMs - Math.max(now, this.#readyAt));
    // One that asks for no time at all, or by a clock that is behind for time that is over, has none the more.
    const waitMs = retryAfterMs || this.#settings.retryDelayMs * 2 ** this.#refusals;
    this.#refusals = Math.min(this.#refusals + 1, 10);
    this.#readyAt = Math.max(this.#readyAt, now + Math.min(waitMs, PAUSE_MS_MAX));
  }

  /** Whether this origin of the host was the one that answered last. */
  answeredLast(origin: string): boolean {
    return this.#answeringOrigin === origin;
  }

  /**
   * The host could not be connected to. Of several requests at a time one counts, and none by a scheme that it may not
   * speak.
   */
  noteConnectionFailure(now: EpochMs, origin: string): void {
    if (this.#answeringOrigin !== undefined && this.#answeringOrigin !== origin) return;
    if (now < this.#unreachableUntil || ++this.#connectionFailures < CONNECTION_FAILURES_MIN) return;
    const waitMs = this.#settings.retryDelayMs * 2 ** Math.min(this.#connectionFailures - CONNECTION_FAILURES_MIN, 10);
    this.#unreachableMs += waitMs;
    this.#unreachableUntil = now + waitMs;
    this.#readyAt = Math.max(this.#readyAt, this.#unreachableUntil);
  }

  /** Whether the host has answered at all. */
  get hasEverAnswered(): boolean {
    return this.#answeringOrigin !== undefined;
  }

  /** The name of the host leads to no address. Says whether it is to be looked up once more. */
  noteMissingName(now: EpochMs): boolean {
    if (this.#name === 'found') {
      this.#name = 'aside';
      this.#readyAt = Math.max(this.#readyAt, now + Math.min(LOOK_UP_AGAIN_MS, this.#settings.retryDelayMs));
    } else if (this.#name === 'again') this.#name = 'missing';
    return this.#name === 'aside';
  }

  /** Whether the host is set aside until its name is looked up once more. */
  get isPostponed(): boolean {
    return this.#name === 'aside';
  }

  /** Whether the name of the host led to no address the second time either. */
  get isNameMissing(): boolean {
    return this.#name === 'missing';
  }

  /** Nothing else is left to do. */
  lookUpAgain(): void {
    if (this.#name === 'aside') this.#name = 'again';
  }

  /** There was an answer of an origin of the host. */
  noteAnswer(origin: string): void {
    this.#name = 'found';
    this.#answeringOrigin = origin;
    this.#connectionFailures = 0;
    this.#unreachableMs = 0;
    this.#refusals = 0;
    this.#refusedUrls = 0;
    this.#pauseMs = 0;
  }

  /** Whether nothing more is asked of the host in this run. */
  get isGivenUp(): boolean {
    const isRefusing = (this.hasRefusedMany && this.#refusesAll) || this.#pauseMs > PAUSE_MS_MAX;
    return isRefusing || this.#unreachableMs > UNREACHABLE_MS_MAX || this.isNameMissing;
  }

  /** Whether one URL after the other was refused, so that further tries of the next are not worth the while. */
  get hasRefusedMany(): boolean {
    return this.#refusedUrls >= REFUSED_URLS_MAX;
  }

  get #effectiveDelayMs(): number {
    const { delayMs, delayFactor, delayMsMax } = this.#settings;
    if (delayMs === 0) return this.#crawlDelayMs;
    return Math.max(delayMs, this.#crawlDelayMs, Math.min(this.#latencyMs * delayFactor, delayMsMax));
  }
}

/** What a Retry-After field asks for: seconds, or a date. */
export function retryAfterMs(value: string | undefined, now: EpochMs): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value.trim())) return Number(value.trim()) * 1000;
  // The platform makes dates of numbers too, which a host cannot mean: of `-1` one that is long past.
  const date = /^\s*[a-z]/i.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
