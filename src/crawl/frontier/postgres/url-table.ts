/**
 * The URLs of a batch in memory: what an offer and a settlement change. The rows of their hosts are locked, so nobody
 * else changes them meanwhile. The same rules as `sqlite/sqlite-frontier.ts`, which the contract suite holds together.
 *
 * A row that is needed and was not read is noted in `missing`. Then the rows are read, and the batch begins again.
 */
import type { EpochMs } from '../../../base/index.ts';
import type { FoundUrl, Verdict } from '../frontier.ts';
import { hostName, keyHash, pageHash } from '../frontier-url.ts';
import {
  isPageRole,
  type KnownUrl,
  type Offer,
  type QueuedUrl,
  READ_AGAIN,
  ROLES,
  type Settlement,
  STATE_DONE,
  STATE_DROPPED,
  STATE_GONE,
  STATE_QUEUED,
} from '../known-url.ts';
import { bandOf, isNeed, NEED_RANK_END, RANK_STEP, VARIANTS_MAX } from '../rank.ts';
import { idOf, queuedOf, type UrlId, type UrlRow } from './url-rows.ts';

export type HostRow = { readonly id: number; readonly name: string; known: number; queued: number; lastNumber: number };

export type UrlTableOptions = {
  readonly run: number;
  readonly urlsPerHostMax: number;
  readonly depthMatters: boolean;
  readonly rereadsNearer: boolean;
  readonly hosts: ReadonlyMap<string, HostRow>;
  /** The rows that were read; undefined for a URL that is not known. */
  readonly rows: ReadonlyMap<string, UrlRow | undefined>;
  /** By host and key, how many URLs of the key this run has found. */
  readonly variants: ReadonlyMap<string, number>;
};

export class UrlTable {
  readonly #options: UrlTableOptions;
  readonly #hosts = new Map<string, HostRow>();
  readonly #rows = new Map<string, UrlRow>();
  readonly #variants: Map<string, number>;
  readonly changed = new Set<UrlRow>();
  readonly changedHosts = new Set<HostRow>();
  /** URLs whose rows must be read before the batch can be decided. */
  readonly missing = new Set<string>();
  /** Each URL that was queued, with its rank. */
  readonly queued: { readonly host: string; readonly rank: number }[] = [];

  constructor(options: UrlTableOptions) {
    this.#options = options;
    this.#variants = new Map(options.variants);
  }

  offer({ offer, orGone }: FoundUrl, onlyNew: boolean): Verdict {
    const host = this.#host(offer.url);
    if (!host) return 'known';
    const { run, urlsPerHostMax, rereadsNearer } = this.#options;
    const id = { host: host.id, key: keyHash(offer.url), page: pageHash(offer.url) };
    let row = this.#row(id, offer.url);
    const isFull = host.known >= urlsPerHostMax;
    if (!row) {
      if (isFull) return 'host-full';
      row = this.#insert(host, id, offer, STATE_QUEUED);
    } else {
      if (this.#isNearerAndDone(offer, row) && rereadsNearer) {
        this.#queueToRead(host, row, offer);
        return 'queued';
      }
      if (isNeed(offer) && this.#moveUp(host, row, offer)) return 'queued';
      if (row.run >= run || (onlyNew && !(orGone && row.state === STATE_GONE))) return 'known';
      this.#change(row, { run, state: STATE_QUEUED, tries: 0, role: ROLES.indexOf(offer.role) });
      this.#change(row, { depth: offer.depth, hops: offer.hops });
    }
    const variant = `${id.host} ${id.key}`;
    const variants = (this.#variants.get(variant) ?? 0) + 1;
    if (variants > VARIANTS_MAX) {
      this.#change(row, { state: STATE_DROPPED, rank: null });
      return 'variant';
    }
    this.#variants.set(variant, variants);
    this.#enqueue(host, row, offer);
    return 'queued';
  }

  /** Settles a URL. `isQueued`: whether it was taken from the queue. */
  settle({ item, state, status, ...settled }: Settlement, isQueued: boolean): void {
    const host = this.#host(item.url);
    const row = host && this.#row(item, item.url);
    if (!host || !row) return;
    const { verified, captured, etag, modified, digest, isChanged } = settled;
    const watched =
      isChanged !== undefined && item.verified !== undefined && verified !== undefined ? verified - item.verified : 0;
    this.#change(row, {
      state,
      status,
      // If the URL moved up to the embeds during its visit, it was still visited as a page.
      ...(isQueued && { role: ROLES.indexOf(item.role), hops: item.hops }),
      ...(verified !== undefined && { verified }),
      ...(captured !== undefined && { captured }),
      etag: etag ?? null,
      modified: modified ?? null,
      ...(digest !== undefined && { digest }),
      visits: row.visits + (isChanged === undefined ? 0 : 1),
      changes: row.changes + (isChanged ? 1 : 0),
      watched: row.watched + Math.max(0, watched),
    });
    if (!isQueued) return;
    if (row.rank !== null) {
      this.#change(row, { rank: null });
      host.queued--;
      this.changedHosts.add(host);
    }
    const { depthMatters, rereadsNearer } = this.#options;
    // Its depth became smaller during the visit.
    if (state === STATE_DONE && depthMatters && rereadsNearer && row.depth < item.depth)
      this.#queueToRead(host, row, { ...item, depth: row.depth });
  }

  /** Queues a visited URL again if it redirected. Returns whether it is queued. */
  queueRedirectAgain(url: string, hops: number, since: EpochMs): boolean {
    const host = this.#host(url);
    const row = host && this.#row({ host: host.id, key: keyHash(url), page: pageHash(url) }, url);
    if (!host || !row || row.run !== this.#options.run || row.state !== STATE_DONE) return false;
    if (row.status < 300 || row.status > 399 || row.verified === null || row.verified > since) return false;
    this.#change(row, { state: STATE_QUEUED, hops, tries: 0 });
    this.#enqueue(host, row, { url, role: ROLES[row.role]!, depth: row.depth, hops });
    return true;
  }

  /** Adds a URL that a rendered page requested, without queueing it. Returns it with its host. */
  addUnqueued(item: QueuedUrl): QueuedUrl {
    const host = this.#host(item.url);
    if (!host) return item;
    const id = { host: host.id, key: item.key, page: item.page };
    const row = this.#row(id, item.url);
    if (!row) this.#insert(host, id, item, STATE_DONE);
    else if (row.run < this.#options.run) this.#change(row, { run: this.#options.run });
    return { ...item, host: host.id };
  }

  find(url: string, orEarlier: boolean): KnownUrl | undefined {
    const host = this.#host(url);
    const row = host && this.#row({ host: host.id, key: keyHash(url), page: pageHash(url) }, url);
    return row && knownUrlOf(row, this.#options.run, orEarlier);
  }

  countTry(item: QueuedUrl): void {
    const row = this.#host(item.url) && this.#row(item, item.url);
    if (row) this.#change(row, { tries: row.tries + 1 });
  }

  /** Reduces the depth of a known page. Returns whether it was reduced and this run has visited the page. */
  #isNearerAndDone({ role, depth }: Offer, row: UrlRow): boolean {
    if (!this.#options.depthMatters || !isPageRole(role) || !isPageRole(ROLES[row.role]!)) return false;
    if (row.depth <= depth) return false;
    this.#change(row, { depth });
    return row.run === this.#options.run && row.state === STATE_DONE;
  }

  #queueToRead(host: HostRow, row: UrlRow, offer: Offer): void {
    this.#change(row, { state: STATE_QUEUED, tries: READ_AGAIN });
    this.#enqueue(host, row, offer);
  }

  /** Moves a URL that is queued as a page up to the embeds. Returns whether its rank has changed. */
  #moveUp(host: HostRow, row: UrlRow, offer: Offer): boolean {
    const isWaiting = row.run === this.#options.run && row.state === STATE_QUEUED && row.rank !== null;
    if (!isWaiting || row.tries === READ_AGAIN || row.depth === 0 || !isPageRole(ROLES[row.role]!)) return false;
    // The target of a redirect from a page already has a rank among the embeds.
    const isMoved = row.rank! >= NEED_RANK_END;
    this.#change(row, { role: ROLES.indexOf('embed'), depth: Math.min(row.depth, offer.depth), hops: offer.hops });
    if (!isMoved) return false;
    host.queued--;
    this.#enqueue(host, row, offer);
    return true;
  }

  #enqueue(host: HostRow, row: UrlRow, offer: Offer): void {
    const rank = bandOf(offer) * RANK_STEP + ++host.lastNumber;
    this.#change(row, { rank });
    host.queued++;
    this.changedHosts.add(host);
    this.queued.push({ host: host.name, rank });
  }

  #insert(host: HostRow, id: UrlId, { url, role, depth, hops }: Offer, state: number): UrlRow {
    const row: UrlRow = {
      ...id,
      url,
      run: this.#options.run,
      state,
      role: ROLES.indexOf(role),
      depth,
      hops,
      tries: 0,
      status: 0,
      captured: null,
      verified: null,
      etag: null,
      modified: null,
      digest: null,
      visits: 0,
      changes: 0,
      watched: 0,
      rank: null,
    };
    this.#rows.set(idOf(id), row);
    this.changed.add(row);
    host.known++;
    this.changedHosts.add(host);
    return row;
  }

  #change(row: UrlRow, change: Partial<Omit<UrlRow, keyof UrlId | 'url'>>): void {
    Object.assign(row, change);
    this.changed.add(row);
  }

  #host(url: string): HostRow | undefined {
    const name = hostName(url);
    const own = this.#hosts.get(name);
    if (own) return own;
    const read = this.#options.hosts.get(name);
    if (!read) {
      this.missing.add(url);
      return undefined;
    }
    const host = { ...read };
    this.#hosts.set(name, host);
    return host;
  }

  /** The row of a URL; undefined if it is not known. */
  #row(id: UrlId, url: string): UrlRow | undefined {
    const name = idOf(id);
    const own = this.#rows.get(name);
    if (own) return own;
    if (!this.#options.rows.has(name)) this.missing.add(url);
    const read = this.#options.rows.get(name);
    if (!read) return undefined;
    const row = { ...read };
    this.#rows.set(name, row);
    return row;
  }
}

/** A URL that this run found, or with `orEarlier` any run. Undefined if it is gone or dropped. */
export function knownUrlOf(row: UrlRow, run: number, orEarlier: boolean): KnownUrl | undefined {
  if (row.state === STATE_GONE || row.state === STATE_DROPPED) return undefined;
  return orEarlier || row.run === run ? { ...queuedOf(row), isDone: row.state === STATE_DONE } : undefined;
}
