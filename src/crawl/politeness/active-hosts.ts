/**
 * The hosts of a crawl that are in memory: ACTIVE_HOSTS_MAX active ones, and up to WAITING_HOSTS_MAX waiting ones. The
 * other hosts stay in the frontier until there is room.
 *
 * When all places are taken, an active host with a long pause gives up its place, and waits until the pause is over. If
 * a waiting host then finds no free place, active hosts with shorter pauses give up their places too. A host whose name
 * has no address is postponed until nothing else is left to do.
 */
import type { EpochMs } from '../../base/index.ts';
import { bucketOfHost, type Frontier } from '../frontier/frontier.ts';
import type { HostFacts } from '../frontier/host-facts.ts';
import { ActiveHost } from './active-host.ts';
import type { HostDelays } from './host-delays.ts';

const ACTIVE_HOSTS_MAX = 256;
const WAITING_HOSTS_MAX = 16_384;

export class ActiveHosts {
  readonly #frontier: Frontier;
  readonly #hostConcurrency: number;
  readonly #delays: HostDelays;
  readonly #byName = new Map<string, ActiveHost>();
  /**
   * Hosts that wait without a place, by name, each with the end of its wait. The host that began to wait first comes
   * first.
   */
  readonly #waiting = new Map<string, { readonly host: ActiveHost; readonly until: EpochMs }>();
  /** The ids of the active and the waiting hosts. */
  readonly #ids = new Set<number>();
  /** The earliest time when a waiting host needs a place again. */
  #wakeAt: EpochMs = Number.POSITIVE_INFINITY;
  /** Whether the frontier may have hosts that are not in memory. */
  #mayHaveMore = true;
  /** The last host id that the scan of the frontier has read. */
  #lastId = -1;
  #turn = 0;
  /** Hosts that this crawler needs no more, and has not given back. */
  readonly #retired = new Set<ActiveHost>();

  constructor(frontier: Frontier, hostConcurrency: number, delays: HostDelays) {
    this.#frontier = frontier;
    this.#hostConcurrency = hostConcurrency;
    this.#delays = delays;
  }

  get(name: string): ActiveHost | undefined {
    return this.#byName.get(name) ?? this.#waiting.get(name)?.host;
  }

  /** All active hosts. Each call begins with another host, so that no host is always last. */
  *inRotation(): Generator<ActiveHost> {
    const hosts = [...this.#byName.values()];
    const first = this.#turn++ % Math.max(1, hosts.length);
    for (let index = 0; index < hosts.length; index++) yield hosts[(first + index) % hosts.length]!;
  }

  /** When a waiting host can get a place. */
  get wakeAt(): EpochMs {
    return this.#isFull ? Number.POSITIVE_INFINITY : this.#wakeAt;
  }

  get #isFull(): boolean {
    return this.#byName.size >= ACTIVE_HOSTS_MAX;
  }

  /** Whether `fill` has something to do. */
  get canFill(): boolean {
    return this.#mayHaveMore && !this.#isFull;
  }

  /**
   * Gives free places to waiting hosts whose pause is over, and to hosts of the frontier. Returns whether any host got
   * a place.
   */
  async fill(now: EpochMs): Promise<boolean> {
    let isMore = this.endWaits(now);
    while (this.canFill) {
      const found = await this.#frontier.hosts(this.#lastId, ACTIVE_HOSTS_MAX);
      if (found.length === 0) {
        // The scan is at its end. After the next URL is queued, it begins again at the first host.
        this.#mayHaveMore = false;
        this.#lastId = -1;
      }
      for (const { id, name, earlier, mayBeVisited } of found) {
        if (this.#isFull) break;
        this.#lastId = id;
        if (this.#ids.has(id)) continue;
        this.#ids.add(id);
        const delay = this.#delays.of(name, earlier);
        this.#byName.set(
          name,
          new ActiveHost({ id, name, delay, mayBeVisited, hostConcurrency: this.#hostConcurrency }),
        );
        isMore = true;
      }
    }
    return isMore;
  }

  /** Gives free places to waiting hosts whose pause is over. Returns whether any host got a place. */
  endWaits(now: EpochMs): boolean {
    return this.wakeAt <= now && this.#endWaits(now);
  }

  /** The active hosts whose queue must be read before their next visit can begin. */
  hostsToRead(now: EpochMs): ActiveHost[] {
    const hosts: ActiveHost[] = [];
    // A host with a long pause is read too, since it need not wait when its queue is empty.
    for (const host of this.#byName.values())
      if (host.mustRead && (host.readyAt <= now || host.isWaiting(now))) hosts.push(host);
    return hosts;
  }

  /** Reads the queues of hosts. */
  async read(hosts: readonly ActiveHost[]): Promise<void> {
    const requests = hosts.map((host) => host.readRequest());
    const found = await this.#frontier.read(requests);
    for (const [index, host] of hosts.entries()) host.noteRead(requests[index]!, found[index]!);
  }

  /** Notes that other crawlers may have queued URLs of leased hosts. */
  readAgain(): void {
    for (const host of this.#byName.values()) if (!host.isLeaving) host.readAgain();
    this.#restartScan();
  }

  /** Stops visiting the hosts of a bucket, which are given back when their visits have ended. */
  leave(bucket: number): void {
    for (const host of this.#ofBucket(bucket)) host.leave();
  }

  /** Forgets the hosts of a bucket whose lease has ended. */
  lose(bucket: number): void {
    for (const host of this.#ofBucket(bucket)) {
      host.leave();
      this.#ids.delete(host.id);
      this.#byName.delete(host.name);
      this.#waiting.delete(host.name);
      this.#retired.delete(host);
      this.#delays.forget(host.name);
    }
  }

  *#ofBucket(bucket: number): Generator<ActiveHost> {
    for (const host of [...this.#byName.values(), ...[...this.#waiting.values()].map((waiting) => waiting.host)])
      if (bucketOfHost(host.id) === bucket) yield host;
  }

  /** Gives the hosts back that this crawler needs no more. All visits must have been written. */
  async release(now: EpochMs): Promise<void> {
    for (const host of [...this.#byName.values()]) if (host.isLeaving && host.leave()) this.retire(host);
    for (const { host } of [...this.#waiting.values()]) if (host.isLeaving && host.leave()) this.retire(host);
    if (this.#retired.size === 0) return;
    const released = new Map<string, HostFacts>();
    for (const host of this.#retired) if (!this.#ids.has(host.id)) released.set(host.name, host.delay.facts(now));
    this.#retired.clear();
    await this.#frontier.release(released);
  }

  /** Whether hosts wait to be given back. */
  get hasRetired(): boolean {
    return this.#retired.size > 0;
  }

  /** Whether hosts must be given back when their visits have ended. */
  get isAnyLeaving(): boolean {
    for (const { isLeaving } of this.#byName.values()) if (isLeaving) return true;
    for (const { host } of this.#waiting.values()) if (host.isLeaving) return true;
    return false;
  }

  /** Moves a host that must wait to the waiting hosts, if others may need its place. Returns whether it did. */
  letWait(host: ActiveHost, now: EpochMs): boolean {
    const isWanted = this.#wakeAt <= now;
    // If a waiting host needs the place, it leaves the waiting hosts, so there is room among them.
    if (!this.#isFull || (this.#waiting.size >= WAITING_HOSTS_MAX && !isWanted)) return false;
    if (!host.isWaiting(now, isWanted ? 0 : undefined)) return false;
    host.dropReadAhead();
    this.#byName.delete(host.name);
    this.#waitUntil(host, host.readyAt);
    return true;
  }

  /**
   * Postpones a host whose name has no address. If there are WAITING_HOSTS_MAX waiting hosts, the host keeps its place,
   * and its name is looked up again at once. Returns whether it is postponed.
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

  /** Lets the names of postponed hosts be looked up once more. Returns whether any host was postponed. */
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

  /** Gives free places to waiting hosts whose pause is over. Returns whether any host got a place. */
  #endWaits(now: EpochMs): boolean {
    let isAny = false;
    this.#wakeAt = Number.POSITIVE_INFINITY;
    for (const [name, { host, until }] of this.#waiting) {
      if (until > now || this.#isFull) {
        this.#wakeAt = Math.min(this.#wakeAt, until);
        // One host that needs a place is enough to set `#wakeAt`.
        if (until <= now) break;
        continue;
      }
      this.#waiting.delete(name);
      this.#byName.set(name, host);
      isAny = true;
    }
    return isAny;
  }

  retire(host: ActiveHost): void {
    const { id, name, delay } = host;
    if (this.#frontier.isShared) this.#retired.add(host);
    this.#ids.delete(id);
    this.#byName.delete(name);
    this.#waiting.delete(name);
    this.#delays.keep(name, delay);
  }

  /** Notes that a URL of a host was queued at this rank. */
  noteQueued(name: string, rank: number): void {
    const host = this.get(name);
    if (!host) {
      this.#mayHaveMore = true;
      return;
    }
    host.noteQueued(rank);
    // The host may have waited for the next try of a single URL. Now it has another URL.
    const waiting = this.#waiting.get(name);
    if (waiting && host.readyAt < waiting.until) this.#waitUntil(host, host.readyAt);
  }

  /** Whether memory or the frontier has a host with work left. Postponed hosts do not count. */
  async hasWork(now: EpochMs): Promise<boolean> {
    for (const host of [...this.#byName.values()]) {
      if (host.isIdle) this.retire(host);
      else if (!host.delay.isPostponed) return true;
    }
    // A request of a rendered page may have reached a postponed host meanwhile.
    for (const { host, until } of [...this.#waiting.values()])
      if (until === Number.POSITIVE_INFINITY && !host.delay.isPostponed) this.#waitUntil(host, host.readyAt);
    this.#restartScan();
    await this.fill(now);
    return this.#ids.size > [...this.#postponedHosts()].length;
  }

  /** Forgets all hosts, because the frontier returns other URLs from now on. */
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
