/** A host that is being crawled: its next URLs, its running visits, and when it may get its next request. */
import type { EpochMs } from '../../base/index.ts';
import type { LeasedHost, ReadRequest, TakenUrl } from '../frontier/frontier.ts';
import type { HostDelay } from './host-delay.ts';

/** How many URLs are read from the queue at a time, for each request that the host may have at a time. */
const READ_AHEAD = 32;
/**
 * The longest pause for which a host keeps its place. A host that gave up its place must read its queue again later,
 * which costs too much for a host with a request every second or two.
 */
const LONG_WAIT_MS = 4000;

export type ActiveHostOptions = Pick<LeasedHost, 'id' | 'name' | 'mayBeVisited'> & {
  readonly delay: HostDelay;
  readonly hostConcurrency: number;
};

export class ActiveHost {
  readonly id: number;
  readonly name: string;
  readonly delay: HostDelay;
  /** Whether a crawler that died may have visited some of its queued URLs. */
  readonly mayBeVisited: boolean;
  #ahead: TakenUrl[] = [];
  /**
   * URLs that were taken and are not settled. They are still in the queue, maybe at another rank than the one at which
   * they were taken.
   */
  readonly #busy = new Set<string>();
  /** All URLs up to this rank were read from the queue. */
  #readTo = -1;
  #delayed: { readonly item: TakenUrl; readonly at: EpochMs }[] = [];
  #isDrained = false;
  /** Whether a URL was queued since the queue was last read. */
  #hasQueued = false;
  readonly #readAhead: number;
  /** By origin, how often fetching its robots.txt was tried. */
  readonly robotsTries = new Map<string, number>();
  fetchingRobots: string | undefined;

  /** Set when the host must be given back. No further URL of it is visited. */
  isLeaving = false;

  constructor({ id, name, mayBeVisited, delay, hostConcurrency }: ActiveHostOptions) {
    this.id = id;
    this.name = name;
    this.mayBeVisited = mayBeVisited;
    this.delay = delay;
    this.#readAhead = READ_AHEAD * hostConcurrency;
  }

  /** Whether nothing is queued or being visited. */
  get isIdle(): boolean {
    return this.#isDrained && this.#ahead.length === 0 && this.#busy.size === 0;
  }

  /** When the next visit can begin; infinity while a running visit must end before it. */
  get readyAt(): EpochMs {
    if (this.fetchingRobots !== undefined || this.isLeaving) return Number.POSITIVE_INFINITY;
    const isWaiting =
      this.#delayed.length > 0 ? Math.min(...this.#delayed.map(({ at }) => at)) : Number.POSITIVE_INFINITY;
    const hasMore = this.#ahead.length > 0 || !this.#isDrained;
    // URLs of a host that is given up are settled without a pause.
    return Math.max(this.delay.isGivenUp ? 0 : this.delay.readyAt, hasMore ? 0 : isWaiting);
  }

  /** Whether the host has no running visit and must wait for longer than `ms`. */
  isWaiting(now: EpochMs, ms = LONG_WAIT_MS): boolean {
    const { readyAt } = this;
    return readyAt > now + ms && readyAt < Number.POSITIVE_INFINITY && this.delay.running === 0;
  }

  /** Forgets the URLs that were read ahead. They are still queued. */
  dropReadAhead(): void {
    const unread = this.#ahead.filter(({ url }) => !this.#busy.has(url));
    if (unread.length > 0) this.noteQueued(unread[0]!.rank);
  }

  /** Returns the next URL without taking it. When there is none, the queue may have to be read. */
  peek(now: EpochMs): TakenUrl | undefined {
    const due = this.#delayed.findIndex(({ at }) => at <= now);
    if (due >= 0) this.#ahead.unshift(...this.#delayed.splice(due, 1).map(({ item }) => item));
    return this.#ahead[0];
  }

  /** Whether the next URL can only be known by reading the queue. */
  get mustRead(): boolean {
    return this.#ahead.length === 0 && !this.#isDrained && !this.isLeaving;
  }

  /** What must be read from the queue. The answer is for `noteRead`. */
  readRequest(): ReadRequest {
    this.#hasQueued = false;
    return { host: this.id, after: this.#readTo, count: this.#busy.size + this.#readAhead };
  }

  /** Takes the answer to a request, unless an earlier URL was queued since. */
  noteRead({ after }: ReadRequest, found: readonly TakenUrl[]): void {
    if (after !== this.#readTo) return;
    this.#readTo = found.at(-1)?.rank ?? this.#readTo;
    this.#ahead.push(...(this.#busy.size === 0 ? found : found.filter(({ url }) => !this.#busy.has(url))));
    this.#isDrained = this.#ahead.length === 0 && !this.#hasQueued;
  }

  /** Reads the queue from its beginning again, since other crawlers queue URLs too. */
  readAgain(): void {
    this.#readTo = -1;
    this.#isDrained = false;
  }

  /** Gives up the URLs that are not being visited. Returns whether none is. */
  leave(): boolean {
    this.isLeaving = true;
    for (const { item } of this.#delayed) this.#busy.delete(item.url);
    for (const { url } of this.#ahead) this.#busy.delete(url);
    this.#delayed = [];
    this.#ahead = [];
    this.#isDrained = true;
    return this.#busy.size === 0 && this.delay.running === 0;
  }

  /** Takes the URL that `peek` returned. */
  take(): TakenUrl {
    const item = this.#ahead.shift()!;
    this.#busy.add(item.url);
    return item;
  }

  /** Tries a URL again later. */
  retryLater(item: TakenUrl, at: EpochMs): void {
    if (this.isLeaving) this.#busy.delete(item.url);
    else this.#delayed.push({ item: { ...item, tries: item.tries + 1 }, at });
  }

  /** Puts a URL back that was taken and not visited. */
  putBack({ url, rank }: TakenUrl): void {
    this.#busy.delete(url);
    this.noteQueued(rank);
  }

  settled(url: string): void {
    this.#busy.delete(url);
  }

  /**
   * Notes that a URL of this host was queued at this rank. URLs with later ranks that were read ahead are dropped, and
   * read again in order.
   */
  noteQueued(rank: number): void {
    if (this.isLeaving) return;
    this.#hasQueued = true;
    this.#isDrained = false;
    if ((this.#ahead.at(-1)?.rank ?? 0) > rank)
      this.#ahead = this.#ahead.filter((item) => item.rank < rank || this.#busy.has(item.url));
    // Minus one, since the next read begins after `#readTo`.
    this.#readTo = Math.min(this.#readTo, rank - 1);
  }
}
