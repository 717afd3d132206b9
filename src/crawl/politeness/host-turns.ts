/**
 * HostTurns at hosts: what a page asks for while it is rendered goes out no faster than what the crawl itself asks for. A
 * request waits until robots.txt is known and allows it, and until its host may be asked again; turns are given in the
 * order in which they were asked for, host by host.
 */
import type { EpochMs } from '../../base/index.ts';
import type { Exchange } from '../fetch/exchange.ts';
import { hostName, originOf } from '../frontier/frontier-url.ts';
import { BUSY_STATUSES, type HostDelay } from './host-delay.ts';
import type { RobotsRules } from './robots-rules.ts';

/** Leave to ask a host once. */
export type Turn = {
  /** The answer is in, or there is none. Only the first call counts. */
  end(exchange: Exchange | undefined): void;
  /** The host asked to be left alone. */
  noteRefusal(retryAfterMs: number | undefined): void;
};

export type HostTurnsOptions = {
  readonly clock: () => EpochMs;
  readonly delayOf: (host: string) => HostDelay;
  /** The rules of an origin, when they are known. */
  readonly rulesOf: (origin: string) => RobotsRules | undefined;
  /**
   * Fetches the rules of an origin within a turn, after so many tries; undefined when they could not be had, and the
   * host was left alone for another.
   */
  readonly fetchRules: (origin: string, turn: Turn, tries: number) => Promise<RobotsRules | undefined>;
  /** Something changed that may let others go. */
  readonly wake: () => void;
};

type Waiting = { readonly give: (turn: Turn | undefined) => void };

export class HostTurns {
  readonly #options: HostTurnsOptions;
  readonly #waiting = new Map<string, Set<Waiting>>();
  readonly #rules = new Map<string, Promise<RobotsRules | undefined>>();
  /** HostTurns that have not ended. */
  running = 0;

  constructor(options: HostTurnsOptions) {
    this.#options = options;
  }

  /**
   * Waits for a turn; undefined when robots.txt forbids the URL, or its host is given up. Throws when the signal is
   * aborted before.
   */
  async take(url: string, signal: AbortSignal): Promise<Turn | undefined> {
    const { origin } = new URL(url);
    const rules = this.#options.rulesOf(origin) ?? (await unless(signal, this.#fetchedRules(origin)));
    if (!rules?.isAllowed(url)) return undefined;
    this.#options.delayOf(hostName(url)).useCrawlDelay(rules.crawlDelayMs);
    return this.next(hostName(url), signal);
  }

  /**
   * Gives turns to those who may go now, at most so many, and says when more may. Of a host that is given up, or set
   * aside, there is nothing to wait for.
   */
  start(room: number): EpochMs {
    const now = this.#options.clock();
    let nextAt = Number.POSITIVE_INFINITY;
    for (const [host, waiting] of this.#waiting) {
      const delay = this.#options.delayOf(host);
      for (const one of waiting) {
        if (this.running >= room) return Number.POSITIVE_INFINITY;
        const isClosed = delay.isGivenUp || delay.isPostponed;
        if (delay.readyAt > now && !isClosed) break;
        waiting.delete(one);
        one.give(isClosed ? undefined : this.#begin(delay, now));
      }
      if (waiting.size === 0) this.#waiting.delete(host);
      else nextAt = Math.min(nextAt, delay.readyAt);
    }
    return nextAt;
  }

  #begin(delay: HostDelay, now: EpochMs): Turn {
    const { clock, wake } = this.#options;
    delay.begin(now);
    this.running++;
    let isOver = false;
    return {
      end: (exchange) => {
        if (isOver) return;
        isOver = true;
        this.running--;
        if (exchange && !BUSY_STATUSES.has(exchange.status)) delay.noteAnswer(originOf(exchange.url));
        delay.end(clock(), exchange);
        wake();
      },
      noteRefusal: (retryAfterMs) => delay.noteRefusal(clock(), retryAfterMs),
    };
  }

  /** Waits until a host may be asked, whatever its rules are; undefined when it is given up. */
  next(host: string, signal: AbortSignal): Promise<Turn | undefined> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error);
      const queue = this.#waiting.get(host) ?? new Set();
      this.#waiting.set(host, queue);
      const waiting = {
        give: (turn: Turn | undefined) => {
          signal.removeEventListener('abort', onAbort);
          resolve(turn);
        },
      };
      const onAbort = () => {
        queue.delete(waiting);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      queue.add(waiting);
      this.#options.wake();
    });
  }

  /** All who need the rules of an origin wait for the same fetch. It goes on when one of them gives up. */
  #fetchedRules(origin: string): Promise<RobotsRules | undefined> {
    let fetching = this.#rules.get(origin);
    if (!fetching) {
      fetching = this.#fetchRules(origin).finally(() => this.#rules.delete(origin));
      this.#rules.set(origin, fetching);
    }
    return fetching;
  }

  async #fetchRules(origin: string): Promise<RobotsRules | undefined> {
    for (let tries = 0; ; tries++) {
      const turn = await this.next(hostName(`${origin}/`), new AbortController().signal);
      if (!turn) return undefined;
      try {
        const rules = await this.#options.fetchRules(origin, turn, tries);
        if (rules) return rules;
      } finally {
        turn.end(undefined);
      }
    }
  }
}

async function unless<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason as Error);
  work.catch(() => {});
  if (signal.aborted) throw signal.reason;
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
