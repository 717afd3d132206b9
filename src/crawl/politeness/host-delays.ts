/** The delays of hosts by name, shared by the crawl and rendered pages. A bounded number is remembered. */
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

  /** `lastRequestAt`: when an earlier process sent its last requests, if one did. */
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
   * Forgets the least recently used delays. Delays in use stay, and so do those of hosts that are paused or given up.
   * Hosts without an address are too many to remember, and can be looked up again.
   */
  #forget(): void {
    if (this.#byHost.size < this.#countMax) return;
    const now = this.#clock();
    for (const [host, delay] of this.#byHost) {
      if (delay.running === 0 && delay.readyAt <= now && (!delay.isGivenUp || delay.isNameMissing))
        this.#byHost.delete(host);
      if (this.#byHost.size < REMEMBERED_MAX / 2) break;
    }
    // If most hosts are paused, looking through them again soon would find nothing.
    this.#countMax = Math.max(REMEMBERED_MAX, 2 * this.#byHost.size);
  }
}
