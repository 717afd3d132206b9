/**
 * The frontier: the known URLs of a collection, and the queue of URLs to visit, by host and in order of rank.
 *
 * A URL is stored in its normal form, under the hash of its key. URLs with the same key differ in scheme, `www.`,
 * letter case, session id or a trailing slash. If one run finds more than VARIANTS_MAX of them, the rest is a trap. A
 * URL is queued once in a run. `settle` removes it from the queue, after its captures were acknowledged. So a URL whose
 * visit was running when a process died is still queued (see `CrawlState`).
 *
 * Which path to a page a crawl finds first is random, and so is the depth of this path. Where depth matters, a page
 * that is found again at a smaller depth gets that depth. The links of such a page are nearer too. So if the page was
 * visited already, `rereadsNearer` lets it be read again without a fetch.
 *
 * The first role of a URL is random in the same way. A URL that is queued as a page moves up to the embeds when a
 * visited page needs it. A seed stays a page.
 */
import type { EpochMs } from '../../base/index.ts';
import { RecentTexts } from '../links/recent-texts.ts';
import { hostName, keyHash, pageHash } from './frontier-url.ts';
import { type HostRow, HostRows } from './host-rows.ts';
import {
  isPageRole,
  isSeed,
  type Offer,
  type QueuedUrl,
  queuedUrlOf,
  READ_AGAIN,
  ROLES,
  type Settlement,
  STATE_DONE,
  STATE_DROPPED,
  STATE_GONE,
  STATE_QUEUED,
  type UrlRow,
} from './known-url.ts';
import type { CrawlState } from './state.ts';

export type Verdict = 'queued' | 'known' | 'host-full' | 'variant';

export type QueuedHost = { readonly id: number; readonly name: string; readonly queued: number };

/** How many URLs of one key a run may queue. More URLs of one key usually differ in session ids. */
const VARIANTS_MAX = 16;
const SEEN_REMEMBERED_MAX = 64_000;
/** A rank is the number of a band times this, plus a number within the band. */
export const RANK_STEP = 2 ** 40;

// These are constants, because a string that is built for each URL would also be hashed for each URL.
const INSERT_URL = `INSERT INTO url (host, key, page, url, run, state, role, depth, hops, rank) VALUES (?, ?, ?, ?, ?, ${STATE_QUEUED}, ?, ?, ?, ?)
  ON CONFLICT DO NOTHING`;

const RENEW_ANY = `UPDATE url SET run = ?, state = ${STATE_QUEUED}, role = ?, depth = ?, hops = ?, rank = ?, tries = 0
  WHERE host = ? AND key = ? AND page = ? AND run < ?`;
const RENEW_GONE = `${RENEW_ANY} AND state = ${STATE_GONE}`;

const COUNT_VARIANTS = `SELECT count(*) AS count FROM url WHERE host = ? AND key = ? AND run = ? AND state <> ${STATE_DROPPED}`;
const NEARER = `UPDATE url SET depth = ? WHERE host = ? AND key = ? AND page = ? AND depth > ? AND role IN (${ROLES.indexOf('page')}, ${ROLES.indexOf('frame')})
  RETURNING run, state`;
const DEPTH_OF = 'SELECT depth FROM url WHERE host = ? AND key = ? AND page = ?';
const REQUEUE = `UPDATE url SET state = ${STATE_QUEUED}, rank = ?, tries = ${READ_AGAIN} WHERE host = ? AND key = ? AND page = ?`;
const REQUEUE_REDIRECT = `UPDATE url SET state = ${STATE_QUEUED}, hops = ?, tries = 0
  WHERE host = ? AND key = ? AND page = ? AND run = ? AND state = ${STATE_DONE} AND status BETWEEN 300 AND 399 AND verified <= ?
  RETURNING role, depth`;
const SET_RANK = 'UPDATE url SET rank = ? WHERE host = ? AND key = ? AND page = ?';
const WAITING_PAGE = `SELECT rank FROM url WHERE host = ? AND key = ? AND page = ? AND run = ? AND state = ${STATE_QUEUED} AND tries <> ${READ_AGAIN}
  AND depth > 0 AND role IN (${ROLES.indexOf('page')}, ${ROLES.indexOf('frame')})`;
const MAKE_NEED = `UPDATE url SET role = ${ROLES.indexOf('embed')}, depth = min(depth, ?), hops = ?, rank = ? WHERE host = ? AND key = ? AND page = ?`;
const DROP_URL = `UPDATE url SET state = ${STATE_DROPPED} WHERE host = ? AND key = ? AND page = ?`;

const ENQUEUE = 'INSERT INTO queue (host, rank, key, page) VALUES (?, ?, ?, ?)';
const DEQUEUE = 'DELETE FROM queue WHERE host = ? AND rank = ? AND key = ? AND page = ?';
const LAST_NUMBER = `SELECT max(rank % ${RANK_STEP}) AS last FROM queue WHERE host IN (SELECT id FROM host WHERE collection = ? AND queued > 0)`;

const SEED_RANK_END = 3 * RANK_STEP;
/** Counts queued pages of depth 0. Their ranks are all below SEED_RANK_END. */
const QUEUED_SEEDS = `SELECT count(*) AS count FROM queue JOIN url ON url.host = queue.host AND url.key = queue.key AND url.page = queue.page
  WHERE queue.host IN (SELECT id FROM host WHERE collection = ? AND queued > 0) AND queue.rank < ${SEED_RANK_END} AND url.depth = 0 AND url.role IN (${ROLES.indexOf('page')}, ${ROLES.indexOf('frame')})`;

const NEED_RANK_END = 2 * RANK_STEP;
/** True for queued embeds that visited pages need. Their ranks are all below NEED_RANK_END. */
const IS_NEED = `queue.rank < ${NEED_RANK_END} AND url.role = ${ROLES.indexOf('embed')}`;
const QUEUED_URL = 'queue JOIN url ON url.host = queue.host AND url.key = queue.key AND url.page = queue.page';
const peekQueue = (condition: string) =>
  `SELECT queue.rank, url.host, url.key, url.page, url.url, url.role, url.depth, url.hops, url.tries, url.status, url.captured, url.verified,
     url.etag, url.modified, url.digest
   FROM ${QUEUED_URL} WHERE queue.host = ? AND queue.rank > ? ${condition} ORDER BY queue.rank LIMIT ?`;
const PEEK_ALL = peekQueue('');
const PEEK_NEEDS = peekQueue(`AND ${IS_NEED}`);
const hostsFrom = (condition: string) =>
  `SELECT id, name, queued FROM host WHERE collection = ? AND queued > 0 AND id > ? ${condition} ORDER BY id LIMIT ?`;
const HOSTS_ALL = hostsFrom('');
const HOSTS_NEEDS = hostsFrom(`AND EXISTS (SELECT 1 FROM ${QUEUED_URL} WHERE queue.host = host.id AND ${IS_NEED})`);

export type FrontierOptions = {
  readonly collection: string;
  /** The number of the run. */
  readonly run: number;
  readonly urlsPerHostMax: number;
  /** Whether the shortest path to a page must be found; true by default. */
  readonly depthMatters?: boolean;
};

export class Frontier {
  readonly #state: CrawlState;
  readonly #collection: string;
  readonly #run: number;
  readonly #urlsPerHostMax: number;
  readonly #depthMatters: boolean;
  readonly #hosts: HostRows;
  /**
   * URLs that were recently offered as pages (`#seenEmbeds`: as embeds). So links that all pages of a site share cost
   * almost nothing.
   */
  readonly #seen = new RecentTexts(SEEN_REMEMBERED_MAX);
  readonly #seenEmbeds = new RecentTexts(SEEN_REMEMBERED_MAX / 4);
  /** The last number within a band; undefined until it is read from the queue. */
  #lastNumber: number | undefined;
  /** The rank of the URL that was queued last. */
  lastRank = 0;
  /** The former rank of the URL that was queued last, if it was already queued. */
  movedFrom: number | undefined;
  /**
   * Set when the limit of pages is reached. From then on the queue returns the embeds that visited pages need, and
   * nothing else.
   */
  onlyNeeds = false;
  /** Whether visited pages that are found again at a smaller depth are read again. */
  rereadsNearer = false;
  /** The number of queued pages of depth 0; undefined until it is counted. */
  #queuedSeeds: number | undefined;

  constructor(state: CrawlState, { collection, run, urlsPerHostMax, depthMatters = true }: FrontierOptions) {
    this.#state = state;
    this.#collection = collection;
    this.#hosts = new HostRows(state, collection);
    this.#run = run;
    this.#urlsPerHostMax = urlsPerHostMax;
    this.#depthMatters = depthMatters;
  }

  /**
   * Whether this URL was recently remembered at this depth or a smaller one. For embeds, the depth is that of
   * `needDistance`.
   */
  remembers(url: string, isEmbed: boolean, depth: number): boolean {
    return isEmbed ? this.#seenEmbeds.has(url, depth) : this.#seen.has(url, this.#depthMatters ? depth : 0);
  }

  /** Remembers a URL for a while, because a decision about it was made at this depth. */
  remember(url: string, isEmbed: boolean, depth: number): void {
    if (isEmbed) this.#seenEmbeds.add(url, depth);
    else this.#seen.add(url, this.#depthMatters ? depth : 0);
  }

  /**
   * Whether the queue has a page that may be a seed, or the target of a redirect from a seed. Such pages may widen the
   * scope.
   */
  get hasQueuedSeeds(): boolean {
    this.#queuedSeeds ??= this.#state.get<{ count: number }>(QUEUED_SEEDS, this.#collection)!.count;
    return this.#queuedSeeds > 0;
  }

  /** Forgets remembered URLs and hosts. Called when a transaction failed or the scope grew. */
  forget(): void {
    this.#seen.clear();
    this.#seenEmbeds.clear();
    this.#hosts.forget();
  }

  /**
   * Queues a URL unless this run knows it. With `onlyNew`, a URL that the collection knows is not queued either, unless
   * it is gone and `orGone` is set. Must be called within `transaction`.
   */
  offer(offer: Offer, onlyNew: boolean, orGone = false): Verdict {
    const name = hostName(offer.url);
    const host = this.#hosts.get(name);
    const [key, page] = [keyHash(offer.url), pageHash(offer.url)];
    const role = ROLES.indexOf(offer.role);
    const rank = this.#nextRank(offer);
    const isFull = host.known >= this.#urlsPerHostMax;
    const inserted = isFull
      ? 0
      : this.#state.run(INSERT_URL, host.id, key, page, offer.url, this.#run, role, offer.depth, offer.hops, rank);
    if (inserted === 1) {
      this.#hosts.countKnown(host);
    } else {
      if (this.#isNearerAndDone(offer, host.id, key, page) && this.rereadsNearer) {
        this.#requeueToRead(host, offer, key, page);
        return 'queued';
      }
      if (isNeed(offer) && this.#moveUp(host, offer, key, page)) return 'queued';
      if (onlyNew && !orGone) return isFull && !this.#isKnown(host.id, key, page) ? 'host-full' : 'known';
      const renewed = this.#state.run(
        onlyNew ? RENEW_GONE : RENEW_ANY,
        this.#run,
        role,
        offer.depth,
        offer.hops,
        rank,
        host.id,
        key,
        page,
        this.#run,
      );
      if (renewed === 0) return isFull && !this.#isKnown(host.id, key, page) ? 'host-full' : 'known';
    }
    if (this.#variants(host.id, key) > VARIANTS_MAX) {
      this.#state.run(DROP_URL, host.id, key, page);
      return 'variant';
    }
    this.#enqueue(host, offer, key, page);
    return 'queued';
  }

  /** Reduces the depth of a known page. Returns whether it was reduced and this run has visited the page. */
  #isNearerAndDone({ role, depth }: Offer, host: number, key: number, page: number): boolean {
    if (!this.#depthMatters || !isPageRole(role)) return false;
    const row = this.#state.get<{ run: number; state: number }>(NEARER, depth, host, key, page, depth);
    return row?.run === this.#run && row.state === STATE_DONE;
  }

  #requeueToRead(host: HostRow, offer: Offer, key: number, page: number): void {
    this.#state.run(REQUEUE, this.#nextRank(offer), host.id, key, page);
    this.#enqueue(host, offer, key, page);
  }

  /** Moves a URL that is queued as a page up to the embeds. Returns whether its rank has changed. */
  #moveUp(host: HostRow, offer: Offer, key: number, page: number): boolean {
    const waiting = this.#state.get<{ rank: number }>(WAITING_PAGE, host.id, key, page, this.#run);
    if (!waiting) return false;
    // The target of a redirect from a page already has a rank among the embeds.
    const isMoved = waiting.rank >= NEED_RANK_END;
    const rank = isMoved ? this.#nextRank(offer) : waiting.rank;
    this.#state.run(MAKE_NEED, offer.depth, offer.hops, rank, host.id, key, page);
    if (!isMoved) return false;
    this.#dequeue(host, { key, page }, waiting.rank);
    this.#enqueue(host, offer, key, page);
    this.movedFrom = waiting.rank;
    return true;
  }

  /**
   * Queues a visited URL again if it redirected. A URL that this run visited after `time` is not queued. Must be called
   * within `transaction`. Returns whether it is queued.
   */
  requeueRedirect(url: string, hops: number, time: EpochMs): boolean {
    const host = this.#hosts.get(hostName(url));
    const [key, page] = [keyHash(url), pageHash(url)];
    const row = this.#state.get<{ role: number; depth: number }>(
      REQUEUE_REDIRECT,
      hops,
      host.id,
      key,
      page,
      this.#run,
      time,
    );
    if (!row) return false;
    this.#enqueue(host, { url, role: ROLES[row.role]!, depth: row.depth, hops }, key, page);
    this.#state.run(SET_RANK, this.lastRank, host.id, key, page);
    return true;
  }

  #row(url: string, key = keyHash(url), page = pageHash(url)): (UrlRow & { run: number; state: number }) | undefined {
    return this.#state.get(
      `SELECT url.* FROM url JOIN host ON host.id = url.host WHERE host.collection = ? AND host.name = ? AND url.key = ? AND url.page = ?`,
      this.#collection,
      hostName(url),
      key,
      page,
    );
  }

  /**
   * Returns a URL that this run found, or with `orEarlier` any run, and whether it was visited. Undefined when the URL
   * is unknown, gone or dropped.
   */
  find(url: string, orEarlier: boolean): (QueuedUrl & { readonly isDone: boolean }) | undefined {
    const row = this.#row(url);
    if (row?.state === STATE_GONE || row?.state === STATE_DROPPED) return undefined;
    return row && (orEarlier || row.run === this.#run)
      ? { ...queuedUrlOf(row), isDone: row.state === STATE_DONE }
      : undefined;
  }

  /**
   * Returns a URL that a rendered page requests, with the results of its earlier visits, and whether this run has
   * settled it. An unknown URL is returned as a new one.
   */
  lookUp(offer: Offer): QueuedUrl & { readonly isSettled: boolean } {
    const [key, page] = [keyHash(offer.url), pageHash(offer.url)];
    const row = this.#row(offer.url, key, page);
    if (row) return { ...queuedUrlOf(row), ...offer, isSettled: row.run === this.#run && row.state !== STATE_QUEUED };
    const none = { captured: undefined, verified: undefined, etag: undefined, modified: undefined, digest: undefined };
    return { ...offer, ...none, host: 0, key, page, tries: 0, status: 0, isSettled: false };
  }

  /**
   * Adds a URL that a rendered page requested, without queueing it. Must be called within `transaction`, and before
   * `settle`.
   */
  addUnqueued(item: QueuedUrl): QueuedUrl {
    const host = this.#hosts.get(hostName(item.url));
    const role = ROLES.indexOf(item.role);
    const inserted = this.#state.run(
      `INSERT INTO url (host, key, page, url, run, state, role, depth, hops) VALUES (?, ?, ?, ?, ?, ${STATE_DONE}, ?, ?, ?)
       ON CONFLICT DO UPDATE SET run = excluded.run WHERE run < excluded.run`,
      host.id,
      item.key,
      item.page,
      item.url,
      this.#run,
      role,
      item.depth,
      item.hops,
    );
    if (inserted === 1 && item.host === 0) {
      this.#hosts.countKnown(host);
    }
    return { ...item, host: host.id };
  }

  /**
   * The number of URLs of a key that this run found. URLs of earlier runs do not count, because a site may use new
   * session ids in each run.
   */
  #variants(host: number, key: number): number {
    return this.#state.get<{ count: number }>(COUNT_VARIANTS, host, key, this.#run)!.count;
  }

  #isKnown(host: number, key: number, page: number): boolean {
    return this.#state.get('SELECT 1 FROM url WHERE host = ? AND key = ? AND page = ?', host, key, page) !== undefined;
  }

  /**
   * Returns a rank that no other URL has. The last number is read lazily, because `planRecrawl` fills the queue after
   * the frontier was made.
   */
  #nextRank(offer: Offer): number {
    this.#lastNumber ??= this.#state.get<{ last: number | null }>(LAST_NUMBER, this.#collection)!.last ?? 0;
    return bandOf(offer) * RANK_STEP + this.#lastNumber + 1;
  }

  #enqueue(host: HostRow, offer: Offer, key: number, page: number): void {
    this.lastRank = this.#nextRank(offer);
    this.#lastNumber!++;
    this.movedFrom = undefined;
    if (this.#queuedSeeds !== undefined && isSeed(offer)) this.#queuedSeeds++;
    this.#state.run(ENQUEUE, host.id, this.lastRank, key, page);
    this.#hosts.countQueued(host, 1);
  }

  #dequeue(host: HostRow, { key, page }: Pick<QueuedUrl, 'key' | 'page'>, rank: number): void {
    this.#hosts.countQueued(host, -this.#state.run(DEQUEUE, host.id, rank, key, page));
  }

  /** Runs offers and settlements in one transaction. */
  transaction(work: () => void): void {
    try {
      this.#state.transaction(() => {
        work();
        this.#hosts.write();
      });
    } catch (error) {
      this.#hosts.revert();
      this.#queuedSeeds = undefined;
      this.forget();
      throw error;
    }
  }

  /** The next URLs of a host after a rank, in order. They include URLs that are being visited. */
  peek(host: number, after: number, count: number): (QueuedUrl & { readonly rank: number })[] {
    const sql = this.onlyNeeds ? PEEK_NEEDS : PEEK_ALL;
    const rows = this.#state.all<UrlRow & { rank: number }>(sql, host, after, count);
    return rows.map((row) => ({ ...queuedUrlOf(row), rank: row.rank }));
  }

  /**
   * Settles a URL and removes it from the queue. `rank`: its rank when it was taken; undefined if it was never queued.
   * `movedTo`: its new rank, if it has moved since. Must be called within `transaction`, after its captures were
   * acknowledged. Returns true when the URL was found at a smaller depth during its visit, and is queued again to be
   * read again.
   */
  settle(settlement: Settlement, rank: number | undefined, movedTo?: number): boolean {
    const { item, state, status, verified, captured, etag, modified, digest, isChanged } = settlement;
    if (rank !== undefined) {
      const host = this.#hosts.get(hostName(item.url));
      this.#dequeue(host, item, rank);
      if (movedTo !== undefined) this.#dequeue(host, item, movedTo);
      if (this.#queuedSeeds !== undefined && isSeed(item) && rank < SEED_RANK_END) this.#queuedSeeds--;
    }
    const watched =
      isChanged !== undefined && item.verified !== undefined && verified !== undefined ? verified - item.verified : 0;
    this.#state.run(
      `UPDATE url SET state = ?, role = coalesce(?, role), hops = coalesce(?, hops), status = ?, verified = coalesce(?, verified), captured = coalesce(?, captured), etag = ?, modified = ?,
         digest = coalesce(?, digest), visits = visits + ?, changes = changes + ?, watched = watched + ?
       WHERE host = ? AND key = ? AND page = ?`,
      state,
      // If the URL moved up to the embeds during its visit, it was still visited as a page.
      rank === undefined ? null : ROLES.indexOf(item.role),
      rank === undefined ? null : item.hops,
      status,
      verified ?? null,
      captured ?? null,
      etag ?? null,
      modified ?? null,
      digest ?? null,
      isChanged === undefined ? 0 : 1,
      isChanged ? 1 : 0,
      Math.max(0, watched),
      item.host,
      item.key,
      item.page,
    );
    return rank !== undefined && state === STATE_DONE && this.#readIfNearer(item);
  }

  /** Queues a visited page to be read again, if its depth became smaller during the visit. */
  #readIfNearer(item: QueuedUrl): boolean {
    if (!this.#depthMatters || !this.rereadsNearer) return false;
    const { depth } = this.#state.get<{ depth: number }>(DEPTH_OF, item.host, item.key, item.page)!;
    if (depth >= item.depth) return false;
    this.#requeueToRead(this.#hosts.get(hostName(item.url)), { ...item, depth }, item.key, item.page);
    return true;
  }

  /** Counts a failed visit that will be tried again. */
  countTry(item: QueuedUrl): void {
    this.#state.run(
      'UPDATE url SET tries = tries + 1 WHERE host = ? AND key = ? AND page = ?',
      item.host,
      item.key,
      item.page,
    );
  }

  /** Hosts with queued URLs whose id is greater than `after`, in order of id. */
  hostsWithQueue(after: number, count: number): QueuedHost[] {
    const sql = this.onlyNeeds ? HOSTS_NEEDS : HOSTS_ALL;
    return this.#state.all<QueuedHost>(sql, this.#collection, after, count);
  }

  /** The hosts with the most queued URLs. */
  fullestHosts(count: number): QueuedHost[] {
    return this.#state.all<QueuedHost>(
      'SELECT id, name, queued FROM host WHERE collection = ? AND queued > 0 ORDER BY queued DESC LIMIT ?',
      this.#collection,
      count,
    );
  }

  totals(): { known: number; queued: number } {
    return this.#state.get<{ known: number; queued: number }>(
      'SELECT coalesce(sum(known), 0) AS known, coalesce(sum(queued), 0) AS queued FROM host WHERE collection = ?',
      this.#collection,
    )!;
  }

  /** Empties the queue. */
  clearQueue(): void {
    this.#state.transaction(() => {
      this.#state.run('DELETE FROM queue WHERE host IN (SELECT id FROM host WHERE collection = ?)', this.#collection);
      this.#state.run('UPDATE host SET queued = 0 WHERE collection = ?', this.#collection);
    });
    this.#queuedSeeds = undefined;
    this.forget();
  }
}

/**
 * Whether a visited page needs this URL to be shown. A URL that a page names but does not show, such as a preview
 * picture for other sites, has no hops.
 */
function isNeed({ role, hops, isHint }: Offer): boolean {
  return role === 'embed' && hops > 0 && !isHint;
}

/** Returns the band of a URL: sitemaps come first, then embeds, then pages by their depth. */
function bandOf({ role, depth, hops }: Offer): number {
  if (role === 'sitemap') return 0;
  if (role === 'embed' || hops > 0) return 1;
  return 2 + Math.min(depth, 1000);
}
