/**
 * The robots.txt files of origins. A file is fetched when it is needed, kept for a day (RFC 9309, 2.4), and captured
 * like a page.
 *
 * A file with status 2xx is read. Up to five redirects are followed, also to other hosts. Other statuses 3xx and 4xx
 * allow everything. 408, 429, 5xx, a missing answer and a cut file forbid everything until the file can be fetched.
 */
import type { EpochMs } from '../../base/index.ts';
import type { CrawlState, RobotsVerdict } from '../frontier/crawl-state.ts';
import type { Unreachable } from '../outcome.ts';
import { isFresh, ROBOTS_BYTES_MAX, RobotsRules } from './robots-rules.ts';
import type { RobotsOutcome } from './robots-visit.ts';

const ORIGINS_REMEMBERED_MAX = 1000;
const MISSING_MAX = 10_000;
/**
 * The size of the remembered files as received. Their parsed rules take several times as much. Most files have a few
 * kilobytes.
 */
const BYTES_REMEMBERED_MAX = 16 * ROBOTS_BYTES_MAX;

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
  /** Origins that are looked up with the next `load`. */
  readonly #wanted = new Set<string>();
  /** Origins that were looked up, and have no file. */
  readonly #missing = new Set<string>();
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
   * The rules of an origin in memory: `missing` when they must be fetched, and `unread` until the next `load`. `now`
   * must come from the same clock as the time of the fetch.
   */
  get(origin: string, now: EpochMs): RobotsRules | 'missing' | 'unread' {
    const known = this.#memory.get(origin);
    if (known) return isFresh(known.fetched, now) ? known.rules : 'missing';
    if (this.#missing.has(origin)) return 'missing';
    this.#wanted.add(origin);
    return 'unread';
  }

  /** Whether an origin waits for `load`. */
  get isWanted(): boolean {
    return this.#wanted.size > 0;
  }

  /** Reads the stored files of the origins that `get` was asked for. */
  async load(origins: Iterable<string> = []): Promise<void> {
    const wanted = [...new Set([...this.#wanted, ...origins])].filter((origin) => !this.#memory.has(origin));
    this.#wanted.clear();
    if (wanted.length === 0) return;
    const files = await this.#state.robots(wanted);
    if (this.#missing.size > MISSING_MAX) this.#missing.clear();
    for (const origin of wanted) {
      const file = files.get(origin);
      if (file) this.#remember(origin, file.verdict, file.body, file.fetched);
      else this.#missing.add(origin);
    }
  }

  /** Stores a fetched file. A failure is kept in memory alone, so the next crawl fetches the file again. */
  async put(origin: string, { verdict, body, time, unreachable }: RobotsOutcome): Promise<RobotsRules> {
    if (unreachable) return this.#remember(origin, verdict, body, time, unreachable);
    const kept = Buffer.from(body.subarray(0, ROBOTS_BYTES_MAX));
    await this.#state.putRobots(origin, { verdict, body: kept, fetched: time });
    return this.#remember(origin, verdict, kept, time);
  }

  /** Forgets that files of a host were missing, since another crawler may have fetched them. */
  forgetMissing(): void {
    this.#missing.clear();
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
    this.#missing.delete(origin);
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
