/** The hosts of a crawl that are held in memory, a bounded number. The others wait in the frontier, and come in as these are done. */
import { ActiveHost } from './active-host.ts';
import type { Frontier } from './frontier.ts';
import type { Paces } from './paces.ts';
import type { CrawlSettings } from './settings.ts';

const ACTIVE_HOSTS_MAX = 256;

export class ActiveHosts {
  readonly #frontier: Frontier;
  readonly #settings: CrawlSettings;
  readonly #paces: Paces;
  readonly #byName = new Map<string, ActiveHost>();
  readonly #ids = new Set<number>();
  /** Whether the frontier may have hosts that are not here. */
  #mayHaveMore = true;
  /** The frontier was looked through up to this one. */
  #lastId = -1;
  #turn = 0;

  constructor(frontier: Frontier, settings: CrawlSettings, paces: Paces) {
    this.#frontier = frontier;
    this.#settings = settings;
    this.#paces = paces;
  }

  get(name: string): ActiveHost | undefined {
    return this.#byName.get(name);
  }

  /** All of them, each time beginning with another, so that none is always the last. */
  *inTurn(): Generator<ActiveHost> {
    const hosts = [...this.#byName.values()];
    const first = this.#turn++ % Math.max(1, hosts.length);
    for (let index = 0; index < hosts.length; index++) yield hosts[(first + index) % hosts.length]!;
  }

  /** Takes in hosts that wait, while there is room. Says whether there were any. */
  fill(): boolean {
    let isMore = false;
    while (this.#mayHaveMore && this.#ids.size < ACTIVE_HOSTS_MAX) {
      const found = this.#frontier.waitingHosts(this.#lastId, ACTIVE_HOSTS_MAX);
      if (found.length === 0) {
        // Once round, the next look begins at the first host again, when something new was queued.
        this.#mayHaveMore = false;
        this.#lastId = -1;
      }
      for (const { id, name } of found) {
        if (this.#ids.size >= ACTIVE_HOSTS_MAX) break;
        this.#lastId = id;
        if (this.#ids.has(id)) continue;
        this.#ids.add(id);
        this.#byName.set(name, new ActiveHost(id, name, this.#frontier, this.#settings, this.#paces.of(name)));
        isMore = true;
      }
    }
    return isMore;
  }

  retire({ id, name, pace }: ActiveHost): void {
    this.#ids.delete(id);
    this.#byName.delete(name);
    this.#paces.keep(name, pace);
  }

  /** Something was queued for a host, at this rank. */
  refill(name: string, rank: number): void {
    const host = this.#byName.get(name);
    if (host) host.refill(rank);
    else this.#mayHaveMore = true;
  }

  /** Whether anything is left to do, here or in the whole of the frontier. */
  hasWork(): boolean {
    for (const host of [...this.#byName.values()]) {
      if (!host.isIdle) return true;
      this.retire(host);
    }
    this.#lookAnew();
    this.fill();
    return this.#ids.size > 0;
  }

  /** Leaves all hosts to the frontier, which gives out other URLs from now on. */
  clear(): void {
    for (const host of [...this.#byName.values()]) this.retire(host);
    this.#lookAnew();
  }

  #lookAnew(): void {
    this.#lastId = -1;
    this.#mayHaveMore = true;
  }
}
