/** A host that is being crawled: its next URLs, its running visits, and when it may get its next request. */
import type { EpochMs } from '../../base/index.ts';
import type { Frontier } from '../frontier/frontier.ts';
import type { QueuedUrl } from '../frontier/known-url.ts';
import type { HostDelay } from './host-delay.ts';

/** How many URLs are read from the queue at a time, for each request that the host may have at a time. */
const READ_AHEAD = 32;
/**
 * The longest pause for which a host keeps its place. A host that gave up its place must read its queue again later,
 * which costs too much for a host with a request every second or two.
 */
const LONG_WAIT_MS = 4000;

export type TakenUrl = QueuedUrl & { readonly rank: number };

export type ActiveHostOptions = {
  readonly id: number;
  readonly name: string;
  readonly delay: HostDelay;
  readonly frontier: Frontier;
  readonly hostConcurrency: number;
};

export class ActiveHost {
  readonly id: number;
  readonly name: string;
  readonly delay: HostDelay;
  readonly #frontier: Frontier;
  #ahead: TakenUrl[] = [];
  /** Ranks of URLs that were taken and are not settled. These URLs are still in the queue. */
  readonly #busy = new Set<number>();
  /** By the rank at which a URL was taken, its new rank, if it moved in the queue since. */
  readonly #moved = new Map<number, number>();
  /** All URLs up to this rank were read from the queue. */
  #readTo = -1;
  #delayed: { readonly item: TakenUrl; readonly at: EpochMs }[] = [];
  #isDrained = false;
  readonly #readAhead: number;
  /** By origin, how often fetching its robots.txt was tried. */
  readonly robotsTries = new Map<string, number>();
  fetchingRobots: string | undefined;

  constructor({ id, name, delay, frontier, hostConcurrency }: ActiveHostOptions) {
    this.id = id;
    this.name = name;
    this.#frontier = frontier;
    this.delay = delay;
    this.#readAhead = READ_AHEAD * hostConcurrency;
  }

  /** Whether nothing is queued or being visited. */
  get isIdle(): boolean {
    return this.#isDrained && this.#ahead.length === 0 && this.#busy.size === 0;
  }

  /** When the next visit can begin; infinity while a running visit must end before it. */
  get readyAt(): EpochMs {
    if (this.fetchingRobots !== undefined) return Number.POSITIVE_INFINITY;
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
    const unread = this.#ahead.filter(({ rank }) => !this.#busy.has(rank));
    if (unread.length > 0) this.noteQueued(unread[0]!.rank);
  }

  /** Returns the next URL without taking it. `beforeRead` is called before the queue is read. */
  peek(now: EpochMs, beforeRead: () => void): TakenUrl | undefined {
    const due = this.#delayed.findIndex(({ at }) => at <= now);
    if (due >= 0) this.#ahead.unshift(...this.#delayed.splice(due, 1).map(({ item }) => item));
    if (this.#ahead.length === 0 && !this.#isDrained) {
      beforeRead();
      this.#ahead = this.#readQueue();
      this.#isDrained = this.#ahead.length === 0;
    }
    return this.#ahead[0];
  }

  #readQueue(): TakenUrl[] {
    let busy = 0;
    for (const rank of this.#busy) if (rank > this.#readTo) busy++;
    const found = this.#frontier.peek(this.id, this.#readTo, busy + this.#readAhead);
    this.#readTo = found.at(-1)?.rank ?? this.#readTo;
    return busy === 0 ? found : found.filter(({ rank }) => !this.#busy.has(rank));
  }

  /** Takes the URL that `peek` returned. */
  take(): TakenUrl {
    const item = this.#ahead.shift()!;
    this.#busy.add(item.rank);
    return item;
  }

  /** Tries a URL again later. */
  retryLater(item: TakenUrl, at: EpochMs): void {
    this.#delayed.push({ item: { ...item, tries: item.tries + 1 }, at });
  }

  /** The new rank of the URL that was taken at this rank, if the URL has moved since. */
  movedTo(rank: number): number | undefined {
    return this.#moved.get(rank);
  }

  settled(rank: number): void {
    this.#busy.delete(rank);
    const movedTo = this.#moved.get(rank);
    if (movedTo === undefined) return;
    this.#moved.delete(rank);
    this.#busy.delete(movedTo);
  }

  /**
   * Notes that a URL of this host was queued at this rank; `movedFrom` is its former rank. URLs with later ranks that
   * were read ahead are dropped, and read again in order.
   */
  noteQueued(rank: number, movedFrom?: number): void {
    if (movedFrom !== undefined && this.#busy.has(movedFrom)) {
      this.#moved.set(movedFrom, rank);
      this.#busy.add(rank);
      return;
    }
    this.#isDrained = false;
    if ((this.#ahead.at(-1)?.rank ?? 0) > rank)
      this.#ahead = this.#ahead.filter((item) => item.rank < rank || this.#busy.has(item.rank));
    // Minus one, since the next read begins after `#readTo`.
    this.#readTo = Math.min(this.#readTo, rank - 1);
  }
}
