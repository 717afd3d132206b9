/**
 * The delays of hosts by name: whoever asks a host, for the crawl or for a page that is being rendered, keeps to the
 * same one.
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

  /** `lastRequestAt`: when a process before this one asked the hosts last, if one did. */
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

  /** Remembers the delay of a host that was used until now. */
  keep(host: string, delay: HostDelay): void {
    this.#byHost.delete(host);
    this.#forget();
    this.#byHost.set(host, delay);
  }

  /**
   * Those that were not used for longest go first; one in use stays, and one of a host that is to be left alone, for a
   * while or for good. Names that lead nowhere are too many to remember, and can be looked up again.
   */
  #forget(): void {
    if (this.#byHost.size < this.#countMax) return;
    const now = this.#clock();
    for (const [host, delay] of this.#byHost) {
      if (delay.running === 0 && delay.readyAt <= now && (!delay.isGivenUp || delay.isNameMissing))
        this.#byHost.delete(host);
      if (this.#byHost.size < REMEMBERED_MAX / 2) break;
    }
    // Where most of them wait, it is of no use to look through them again soon.
    this.#countMax = Math.max(REMEMBERED_MAX, 2 * this.#byHost.size);
  }
}
