/**
 * Gives requests of rendered pages their turns at hosts. So these requests respect the same delays as the crawl itself.
 * A request waits until robots.txt is known and allows it, and until the delay of its host is over. Each host gives
 * turns in the order of the requests.
 */
import type { EpochMs } from '../../base/index.ts';
import type { Exchange } from '../fetch/exchange.ts';
import { hostName, originOf } from '../frontier/frontier-url.ts';
import { BUSY_STATUSES, type HostDelay } from './host-delay.ts';
import type { RobotsRules } from './robots-rules.ts';

/** The right to send one request to a host. */
export type Turn = {
  /** Must be called when the answer is received, or when there is none. Further calls have no effect. */
  end(exchange: Exchange | undefined): void;
  /** Must be called when the host asked for a pause. */
  noteRefusal(retryAfterMs: number | undefined): void;
};

export type HostTurnsOptions = {
  readonly clock: () => EpochMs;
  readonly delayOf: (host: string) => HostDelay;
  /** Waits until no other crawler asks the host. */
  readonly reserve: (host: string, signal: AbortSignal) => Promise<void>;
  /** Whether the host may be asked now. */
  readonly mayAsk: (host: string) => boolean;
  /** The rules of an origin, if they are known. */
  readonly rulesOf: (origin: string) => Promise<RobotsRules | undefined>;
  /**
   * Fetches the rules of an origin within a turn. `tries` is the number of earlier tries. Returns undefined when the
   * fetch failed and the host was paused for another try.
   */
  readonly fetchRules: (origin: string, turn: Turn, tries: number) => Promise<RobotsRules | undefined>;
  /** Called when a turn ends or is requested, since another request may now start. */
  readonly wake: () => void;
};

type Waiting = { readonly give: (turn: Turn | undefined) => void; readonly giveAgain: () => void };

export class HostTurns {
  readonly #options: HostTurnsOptions;
  readonly #waiting = new Map<string, Set<Waiting>>();
  readonly #rules = new Map<string, Promise<RobotsRules | undefined>>();
  /** Turns that have not ended. */
  running = 0;

  constructor(options: HostTurnsOptions) {
    this.#options = options;
  }

  /**
   * Waits for a turn. Returns undefined when robots.txt forbids the URL or its host is given up. Throws when the signal
   * is aborted while it waits.
   */
  async take(url: string, signal: AbortSignal): Promise<Turn | undefined> {
    const { origin } = new URL(url);
    const rules = (await this.#options.rulesOf(origin)) ?? (await unlessAborted(signal, this.#fetchedRules(origin)));
    if (!rules?.isAllowed(url)) return undefined;
    this.#options.delayOf(hostName(url)).useCrawlDelay(rules.crawlDelayMs);
    return this.next(hostName(url), signal);
  }

  /**
   * Gives turns to requests that may start now, until `room` turns are running. Returns the time when the next request
   * may start. A request to a host that is given up or postponed gets undefined.
   */
  start(room: number): EpochMs {
    const now = this.#options.clock();
    let nextAt = Number.POSITIVE_INFINITY;
    for (const [host, waiting] of this.#waiting) {
      const delay = this.#options.delayOf(host);
      for (const request of waiting) {
        if (this.running >= room) return Number.POSITIVE_INFINITY;
        const isClosed = delay.isGivenUp || delay.isPostponed;
        if (delay.readyAt > now && !isClosed) break;
        if (!isClosed && !this.#options.mayAsk(host)) {
          // The lease of the host has ended meanwhile.
          waiting.delete(request);
          request.giveAgain();
          continue;
        }
        waiting.delete(request);
        request.give(isClosed ? undefined : this.#begin(delay, now));
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

  /**
   * Waits until a request may be sent to a host, without a check of robots.txt. Returns undefined when the host is
   * given up.
   */
  async next(host: string, signal: AbortSignal): Promise<Turn | undefined> {
    for (;;) {
      await this.#options.reserve(host, signal);
      const turn = await this.#wait(host, signal);
      if (turn !== 'again') return turn;
    }
  }

  #wait(host: string, signal: AbortSignal): Promise<Turn | undefined | 'again'> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error);
      const queue = this.#waiting.get(host) ?? new Set();
      this.#waiting.set(host, queue);
      const give = (turn: Turn | undefined | 'again') => {
        signal.removeEventListener('abort', onAbort);
        resolve(turn);
      };
      const waiting = { give, giveAgain: () => give('again') };
      const onAbort = () => {
        queue.delete(waiting);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      queue.add(waiting);
      this.#options.wake();
    });
  }

  /**
   * All requests that need the rules of an origin wait for the same fetch. The fetch continues when one of these
   * requests is aborted.
   */
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

async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
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
