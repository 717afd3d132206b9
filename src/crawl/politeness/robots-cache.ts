/**
 * The robots.txt files of origins. A file is fetched when it is needed, kept for a day (RFC 9309, 2.4), and captured
 * like a page.
 *
 * A file with status 2xx is read. Up to five redirects are followed, also to other hosts. Other statuses 3xx and 4xx
 * allow everything. 408, 429, 5xx, a missing answer and a cut file forbid everything until the file can be fetched.
 */
import type { EpochMs } from '../../base/index.ts';
import type { CrawlState } from '../frontier/state.ts';
import type { Unreachable } from '../outcome.ts';
import { isFresh, ROBOTS_BYTES_MAX, ROBOTS_FRESH_MS, RobotsRules } from './robots-rules.ts';
import type { RobotsOutcome, RobotsVerdict } from './robots-visit.ts';

const ORIGINS_REMEMBERED_MAX = 1000;
/**
 * The size of the remembered files as received. Their parsed rules take several times as much. Most files have a few
 * kilobytes.
 */
const BYTES_REMEMBERED_MAX = 16 * ROBOTS_BYTES_MAX;

/**
 * Deletes expired files of the next few origins in the table. Many such steps delete all expired files, so the whole
 * table need not be scanned.
 */
const FORGET_SOME = `DELETE FROM robots WHERE origin IN
  (SELECT origin FROM (SELECT origin, fetched FROM robots WHERE origin > ? ORDER BY origin LIMIT 4) WHERE abs(fetched - ?) > ${ROBOTS_FRESH_MS})`;

type Remembered = {
  readonly rules: RobotsRules;
  /** The size of the file. */
  readonly bytes: number;
  readonly fetched: EpochMs;
  readonly unreachable?: Unreachable;
};

export class RobotsCache {
  readonly #state: CrawlState;
  readonly #productToken: string;
  readonly #memory = new Map<string, Remembered>();
  #bytes = 0;

  constructor(state: CrawlState, productToken: string) {
    this.#state = state;
    this.#productToken = productToken;
  }

  /** The rules of a crawl that ignores robots.txt. */
  readonly allowAll = RobotsRules.allowing();

  /**
   * Why the rules of an origin could not be fetched, so that they forbid everything; undefined when they were fetched.
   */
  unreachable(origin: string): Unreachable | undefined {
    return this.#memory.get(origin)?.unreachable;
  }

  /**
   * The rules of an origin, if they are known and fresh. `now` must come from the same clock as the time of the fetch.
   */
  get(origin: string, now: EpochMs): RobotsRules | undefined {
    const known = this.#memory.get(origin) ?? this.#load(origin);
    return known && isFresh(known.fetched, now) ? known.rules : undefined;
  }

  /** Stores a fetched file. A failure is kept in memory alone, so the next crawl fetches the file again. */
  put(origin: string, { verdict, body, time, unreachable }: RobotsOutcome): RobotsRules {
    if (unreachable) return this.#remember(origin, verdict, body, time, unreachable);
    const kept = Buffer.from(body.subarray(0, ROBOTS_BYTES_MAX));
    this.#state.run(
      'INSERT OR REPLACE INTO robots (origin, fetched, verdict, body) VALUES (?, ?, ?, ?)',
      origin,
      time,
      verdict,
      kept,
    );
    this.#state.run(FORGET_SOME, origin, time);
    return this.#remember(origin, verdict, kept, time);
  }

  #load(origin: string): Remembered | undefined {
    const row = this.#state.get<{ fetched: number; verdict: RobotsVerdict; body: Uint8Array }>(
      'SELECT fetched, verdict, body FROM robots WHERE origin = ?',
      origin,
    );
    if (!row) return undefined;
    this.#remember(origin, row.verdict, row.body, row.fetched);
    return this.#memory.get(origin);
  }

  #remember(
    origin: string,
    verdict: RobotsVerdict,
    body: Uint8Array,
    fetched: EpochMs,
    unreachable?: Unreachable,
  ): RobotsRules {
    const rules =
      verdict === 'rules'
        ? RobotsRules.parse(body, this.#productToken)
        : verdict === 'allow'
          ? RobotsRules.allowing()
          : RobotsRules.forbidding();
    this.#forget(origin);
    this.#memory.set(origin, { rules, bytes: body.length, fetched, ...(unreachable && { unreachable }) });
    this.#bytes += body.length;
    for (const oldest of this.#memory.keys()) {
      if (this.#memory.size <= ORIGINS_REMEMBERED_MAX && this.#bytes <= BYTES_REMEMBERED_MAX) break;
      this.#forget(oldest);
    }
    return rules;
  }

  #forget(origin: string): void {
    this.#bytes -= this.#memory.get(origin)?.bytes ?? 0;
    this.#memory.delete(origin);
  }
}
