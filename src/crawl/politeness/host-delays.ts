/**
 * The delays of hosts by name, shared by the crawl and rendered pages. At most about REMEMBERED_MAX idle delays are
 * remembered.
 */
import type { Clock, EpochMs } from '../../base/index.ts';
import type { EarlierVisits } from '../frontier/host-facts.ts';
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

  /** `earlier`: what another crawler learned of the host, unless this crawler knows the host. */
  of(host: string, earlier?: EarlierVisits): HostDelay {
    const known = this.#byHost.get(host);
    const isNew = earlier?.facts !== undefined || earlier?.unnotedAgoMs !== undefined;
    const delay =
      isNew && (known?.running ?? 0) === 0
        ? this.#after(earlier, known)
        : (known ?? new HostDelay(this.#settings, this.#lastRequestAt));
    this.keep(host, delay);
    return delay;
  }

  /** The delay of a host that this crawler may have visited before the other one, or after it. */
  #after({ facts, unnotedAgoMs }: EarlierVisits, known: HostDelay | undefined): HostDelay {
    const now = this.#clock();
    const pauseMs = Math.max(facts?.pauseMs ?? 0, known?.facts(now).pauseMs ?? 0);
    return HostDelay.after({ facts: facts && { ...facts, pauseMs }, unnotedAgoMs }, this.#settings, now);
  }

  /** Forgets the delay of a host that others may visit now. */
  forget(host: string): void {
    this.#byHost.delete(host);
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
