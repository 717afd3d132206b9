/** A host that is being crawled: what is next there, what is under way, and when it may be asked again. */
import type { EpochMs } from '../../base/index.ts';
import type { Frontier } from '../frontier/frontier.ts';
import type { QueuedUrl } from '../frontier/known-url.ts';
import type { CrawlSettings } from '../settings.ts';
import type { HostDelay } from './host-delay.ts';

/** How many URLs are read from the queue at once, for each request that may be under way. */
const READ_AHEAD = 32;
/**
 * Longer than the pauses between requests usually are: a host that makes way is read from the queue again, which one
 * that is asked every second or two had better not be.
 */
const LONG_WAIT_MS = 4000;

export type TakenUrl = QueuedUrl & { readonly rank: number };

export class ActiveHost {
  readonly id: number;
  readonly name: string;
  readonly delay: HostDelay;
  readonly #frontier: Frontier;
  #ahead: TakenUrl[] = [];
  /** Ranks of what was taken and is not settled: it still stands in the queue. */
  readonly #busy = new Set<number>();
  /** The ranks that those of them have by now which were queued at another place meanwhile. */
  readonly #moved = new Map<number, number>();
  /** Everything up to this rank was read: it is ahead, under way or done. */
  #readTo = -1;
  #delayed: { readonly item: TakenUrl; readonly at: EpochMs }[] = [];
  #isDrained = false;
  readonly #readAhead: number;
  /** Origins whose robots.txt is being fetched, with the tries so far. */
  readonly robotsTries = new Map<string, number>();
  robotsUnderWay: string | undefined;

  constructor(id: number, name: string, frontier: Frontier, settings: CrawlSettings, delay: HostDelay) {
    this.id = id;
    this.name = name;
    this.#frontier = frontier;
    this.delay = delay;
    this.#readAhead = READ_AHEAD * settings.hostConcurrency;
  }

  /** Whether nothing is queued or under way. */
  get isIdle(): boolean {
    return this.#isDrained && this.#ahead.length === 0 && this.#busy.size === 0;
  }

  /** When something can be done here; infinity when nothing can before something ends. */
  get readyAt(): EpochMs {
    if (this.robotsUnderWay !== undefined) return Number.POSITIVE_INFINITY;
    const isWaiting =
      this.#delayed.length > 0 ? Math.min(...this.#delayed.map(({ at }) => at)) : Number.POSITIVE_INFINITY;
    const hasMore = this.#ahead.length > 0 || !this.#isDrained;
    // Of a host that is given up there is nothing to wait for.
    return Math.max(this.delay.isGivenUp ? 0 : this.delay.readyAt, hasMore ? 0 : isWaiting);
  }

  /** Whether there is nothing to do here but to wait, for longer than this. */
  isWaiting(now: EpochMs, ms = LONG_WAIT_MS): boolean {
    const { readyAt } = this;
    return readyAt > now + ms && readyAt < Number.POSITIVE_INFINITY && this.delay.running === 0;
  }

  /** Leaves what was read ahead in the queue, to be read again. */
  rest(): void {
    const unread = this.#ahead.filter(({ rank }) => !this.#busy.has(rank));
    if (unread.length > 0) this.noteQueued(unread[0]!.rank);
  }

  /** The next URL, left where it is. `beforeRead` is called before the queue is read. */
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

  /** Takes what `peek` showed. */
  take(): TakenUrl {
    const item = this.#ahead.shift()!;
    this.#busy.add(item.rank);
    return item;
  }

  /** Tries an item again later. */
  retryLater(item: TakenUrl, at: EpochMs): void {
    this.#delayed.push({ item: { ...item, tries: item.tries + 1 }, at });
  }

  /** Where something stands that was taken at this rank, if it has moved since. */
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
   * Something was queued here, at this rank, and stood at a later one before. What was read ahead and comes after it is
   * read again, in its place.
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
    // One less, since what is read next begins behind it.
    this.#readTo = Math.min(this.#readTo, rank - 1);
  }
}
