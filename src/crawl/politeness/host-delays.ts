/**
 * The delays of hosts by name, shared by the crawl and rendered pages. At most about REMEMBERED_MAX idle delays are
 * remembered.
 */
import type { Clock, EpochMs } from '../../base/index.ts';
import type { CrawlSettings } from '../settings.ts';
import { HostDelay } from './host-delay.ts';

const REMEMBERED_MAX = 2048;

export class HostDelays {
  readonly #settings: CrawlSettings;
  readonly #clock: Clock;
  readonly #lastRequestAt: EpochMs | undefined;
  readonly #byHost = new Map<string, HostDelay>();
  #countMax = REMEMBERED_MAX;

  /** `lastRequestAt`: when an earlier process of this run sent its last requests; undefined if there was none. */
  constructor(settings: CrawlSettings, clock: Clock, lastRequestAt?: EpochMs) {
    this.#settings = settings;
    this.#clock = clock;
    this.#lastRequestAt = lastRequestAt;
  }

  of(host: string): HostDelay {
    const delay = this.#byHost.get(host) ?? new HostDelay(this.#settings, this.#lastRequestAt);
    this.keep(host, delay);
    return delay;
  }

  /** Remembers the delay of a host that was in use until now. */
  keep(host: string, delay: HostDelay): void {
    this.#byHost.delete(host);
    this.#forget();
    this.#byHost.set(host, delay);
  }

  /**
   * Forgets the least recently used delays. Delays that are in use stay. So do the delays of paused hosts and of hosts
   * that were given up, unless their name has no address: such hosts are too many to remember.
   */
  #forget(): void {
    if (this.#byHost.size < this.#countMax) return;
    const now = this.#clock();
    for (const [host, delay] of this.#byHost) {
      if (delay.running === 0 && delay.readyAt <= now && (!delay.isGivenUp || delay.isNameMissing))
        this.#byHost.delete(host);
      if (this.#byHost.size < REMEMBERED_MAX / 2) break;
    }
    // If most hosts are paused, looking through them again at the next host would find nothing to forget.
    this.#countMax = Math.max(REMEMBERED_MAX, 2 * this.#byHost.size);
  }
}
