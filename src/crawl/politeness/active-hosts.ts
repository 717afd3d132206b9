/**
 * The hosts of a crawl that are held in memory, a bounded number. The others wait in the frontier, and come in as these
 * are done.
 *
 * When there is no room, a host that must not be asked for long gives its place up and rests until its time has come.
 * When that has come and there is still no room, those that have to wait at all make way. A host whose name leads to no
 * address rests until nothing else is left to do.
 */
import type { EpochMs } from '../../base/index.ts';
import type { Frontier } from '../frontier/frontier.ts';
import type { CrawlSettings } from '../settings.ts';
import { ActiveHost } from './active-host.ts';
import type { HostDelays } from './host-delays.ts';

const ACTIVE_HOSTS_MAX = 256;
const WAITING_HOSTS_MAX = 16_384;

export class ActiveHosts {
  readonly #frontier: Frontier;
  readonly #settings: CrawlSettings;
  readonly #delays: HostDelays;
  readonly #byName = new Map<string, ActiveHost>();
  /** Those that rest, the longest first, and until when. */
  readonly #waiting = new Map<string, { readonly host: ActiveHost; readonly until: EpochMs }>();
  /** Of all of them. */
  readonly #ids = new Set<number>();
  /** When the first of those that rest is to be woken. */
  #wakeAt: EpochMs = Number.POSITIVE_INFINITY;
  /** Whether the frontier may have hosts that are not here. */
  #mayHaveMore = true;
  /** The frontier was looked through up to this one. */
  #lastId = -1;
  #turn = 0;

  constructor(frontier: Frontier, settings: CrawlSettings, delays: HostDelays) {
    this.#frontier = frontier;
    this.#settings = settings;
    this.#delays = delays;
  }

  get(name: string): ActiveHost | undefined {
    return this.#byName.get(name) ?? this.#waiting.get(name)?.host;
  }

  /** All of them, each time beginning with another, so that none is always the last. */
  *inRotation(): Generator<ActiveHost> {
    const hosts = [...this.#byName.values()];
    const first = this.#turn++ % Math.max(1, hosts.length);
    for (let index = 0; index < hosts.length; index++) yield hosts[(first + index) % hosts.length]!;
  }

  /** When another can be taken in. */
  get wakeAt(): EpochMs {
    return this.#isFull ? Number.POSITIVE_INFINITY : this.#wakeAt;
  }

  get #isFull(): boolean {
    return this.#byName.size >= ACTIVE_HOSTS_MAX;
  }

  /** Takes in hosts that have rested, and hosts that wait, while there is room. Says whether there were any. */
  fill(now: EpochMs): boolean {
    let isMore = this.wakeAt <= now && this.#wake(now);
    while (this.#mayHaveMore && !this.#isFull) {
      const found = this.#frontier.hostsWithQueue(this.#lastId, ACTIVE_HOSTS_MAX);
      if (found.length === 0) {
        // Once round, the next look begins at the first host again, when something new was queued.
        this.#mayHaveMore = false;
        this.#lastId = -1;
      }
      for (const { id, name } of found) {
        if (this.#isFull) break;
        this.#lastId = id;
        if (this.#ids.has(id)) continue;
        this.#ids.add(id);
        this.#byName.set(name, new ActiveHost(id, name, this.#frontier, this.#settings, this.#delays.of(name)));
        isMore = true;
      }
    }
    return isMore;
  }

  /** Lets a host rest, when it has to wait and others may need its place. Says whether it does. */
  rest(host: ActiveHost, now: EpochMs): boolean {
    const isWanted = this.#wakeAt <= now;
    // One that is woken for it leaves its place among those that rest.
    if (!this.#isFull || (this.#waiting.size >= WAITING_HOSTS_MAX && !isWanted)) return false;
    if (!host.isWaiting(now, isWanted ? 0 : undefined)) return false;
    host.rest();
    this.#byName.delete(host.name);
    this.#waitUntil(host, host.readyAt);
    return true;
  }

  /**
   * Takes a host out of the way that is set postponed. Without room for it, its name is looked up once more right away, and
   * it makes room then. Says whether it is out of the way.
   */
  postpone(host: ActiveHost): boolean {
    if (this.#waiting.size >= WAITING_HOSTS_MAX) {
      host.delay.lookUpAgain();
      return false;
    }
    this.#byName.delete(host.name);
    this.#waitUntil(host, Number.POSITIVE_INFINITY);
    return true;
  }

  /** Has the names of hosts that are set postponed looked up once more. Says whether there were any. */
  lookUpPostponed(): boolean {
    const postponed = [...this.#postponedHosts()];
    for (const host of postponed) {
      host.delay.lookUpAgain();
      if (this.#waiting.has(host.name)) this.#waitUntil(host, host.readyAt);
    }
    return postponed.length > 0;
  }

  *#postponedHosts(): Generator<ActiveHost> {
    for (const host of this.#byName.values()) if (host.delay.isPostponed) yield host;
    for (const { host } of this.#waiting.values()) if (host.delay.isPostponed) yield host;
  }

  #waitUntil(host: ActiveHost, until: EpochMs): void {
    this.#waiting.set(host.name, { host, until });
    this.#wakeAt = Math.min(this.#wakeAt, until);
  }

  /** Ends the rest of those whose time has come, as far as there is room. Says whether there were any. */
  #wake(now: EpochMs): boolean {
    let isAny = false;
    this.#wakeAt = Number.POSITIVE_INFINITY;
    for (const [name, { host, until }] of this.#waiting) {
      if (until > now || this.#isFull) {
        this.#wakeAt = Math.min(this.#wakeAt, until);
        // One whose time has come is all that has to be known.
        if (until <= now) break;
        continue;
      }
      this.#waiting.delete(name);
      this.#byName.set(name, host);
      isAny = true;
    }
    return isAny;
  }

  retire({ id, name, delay }: ActiveHost): void {
    this.#ids.delete(id);
    this.#byName.delete(name);
    this.#waiting.delete(name);
    this.#delays.keep(name, delay);
  }

  /** Something was queued for a host, at this rank, and may have stood at another before. */
  noteQueued(name: string, rank: number, movedFrom?: number): void {
    const host = this.get(name);
    if (!host) {
      this.#mayHaveMore = true;
      return;
    }
    host.noteQueued(rank, movedFrom);
    // It may have rested for a single URL that has to wait.
    const rest = this.#waiting.get(name);
    if (rest && host.readyAt < rest.until) this.#waitUntil(host, host.readyAt);
  }

  /** Whether anything is left to do, here or in the whole of the frontier, but to look up names once more. */
  hasWork(now: EpochMs): boolean {
    for (const host of [...this.#byName.values()]) {
      if (host.isIdle) this.retire(host);
      else if (!host.delay.isPostponed) return true;
    }
    // Another request to a host that was set postponed may have found it meanwhile.
    for (const { host, until } of [...this.#waiting.values()])
      if (until === Number.POSITIVE_INFINITY && !host.delay.isPostponed) this.#waitUntil(host, host.readyAt);
    this.#restartScan();
    this.fill(now);
    return this.#ids.size > [...this.#postponedHosts()].length;
  }

  /** Leaves all hosts to the frontier, which gives out other URLs from now on. */
  clear(): void {
    for (const host of [...this.#byName.values()]) this.retire(host);
    for (const { host } of [...this.#waiting.values()]) this.retire(host);
    this.#wakeAt = Number.POSITIVE_INFINITY;
    this.#restartScan();
  }

  #restartScan(): void {
    this.#lastId = -1;
    this.#mayHaveMore = true;
  }
}
