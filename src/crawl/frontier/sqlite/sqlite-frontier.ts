/**
 * The frontier in `crawl.sqlite`, for the process that owns the archive. Its methods do all their work before they
 * return, so that no two of them run at the same time.
 */
import type { Clock, EpochMs } from '../../../base/index.ts';
import type { CrawlCounts, CrawlReport, FrontierTotals } from '../../report.ts';
import type { CrawlRun } from '../../run.ts';
import { depthMatters } from '../../settings.ts';
import type {
  CrawlerFindings,
  FoundUrl,
  Frontier,
  FrontierBatch,
  LeasedHost,
  QueuedHost,
  ReadRequest,
  RunEnd,
  TakenUrl,
  Verdict,
  Visit,
  WrittenBatch,
} from '../frontier.ts';
import { hostName, keyHash, pageHash } from '../frontier-url.ts';
import {
  isPageRole,
  isSeed,
  isVisited,
  type KnownUrl,
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
} from '../known-url.ts';
import { bandOf, isNeed, NEED_RANK_END, RANK_STEP, SEED_RANK_END, VARIANTS_MAX } from '../rank.ts';
import type { CrawlFile } from './crawl-file.ts';
import { type HostRow, HostRows } from './host-rows.ts';
import { queueRecrawl } from './recrawl-queue.ts';
import { endRun, saveCounts, saveMovedSeeds } from './run-rows.ts';
import { WaitingEmbeds } from './waiting-embeds.ts';

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

const COUNT_TRY = 'UPDATE url SET tries = tries + 1 WHERE host = ? AND key = ? AND page = ?';

const ENQUEUE = 'INSERT INTO queue (host, rank, key, page) VALUES (?, ?, ?, ?)';
const DEQUEUE = 'DELETE FROM queue WHERE host = ? AND rank = ? AND key = ? AND page = ?';
const LAST_NUMBER = `SELECT max(rank % ${RANK_STEP}) AS last FROM queue WHERE host IN (SELECT id FROM host WHERE collection = ? AND queued > 0)`;

/** Counts queued pages of depth 0. Their ranks are all below SEED_RANK_END. */
const QUEUED_SEEDS = `SELECT count(*) AS count FROM queue JOIN url ON url.host = queue.host AND url.key = queue.key AND url.page = queue.page
  WHERE queue.host IN (SELECT id FROM host WHERE collection = ? AND queued > 0) AND queue.rank < ${SEED_RANK_END} AND url.depth = 0 AND url.role IN (${ROLES.indexOf('page')}, ${ROLES.indexOf('frame')})`;

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

const NO_EARLIER_VISITS = { facts: undefined, unnotedAgoMs: undefined };

export class SqliteFrontier implements Frontier {
  readonly isShared = false;
  readonly countsBefore: CrawlCounts | undefined;
  readonly elapsedMsBefore = 0;
  readonly others = { pages: 0, bytes: 0 };
  readonly #file: CrawlFile;
  readonly #run: CrawlRun;
  readonly #clock: Clock;
  readonly #isResumed: boolean;
  readonly #collection: string;
  readonly #urlsPerHostMax: number;
  readonly #depthMatters: boolean;
  readonly #hosts: HostRows;
  readonly #waiting: WaitingEmbeds;
  /** The last number within a band; undefined until it is read from the queue. */
  #lastNumber: number | undefined;
  /** The rank of the URL that was queued last. */
  #lastRank = 0;
  onlyNeeds = false;
  rereadsNearer = false;
  /** The number of queued pages of depth 0; undefined until it is counted. */
  #queuedSeeds: number | undefined;

  constructor(file: CrawlFile, run: CrawlRun, clock: Clock, isResumed = false) {
    this.#file = file;
    this.#run = run;
    this.#clock = clock;
    this.#isResumed = isResumed;
    this.countsBefore = run.counts;
    this.#collection = run.collection;
    this.#hosts = new HostRows(file, run.collection);
    this.#waiting = new WaitingEmbeds(file);
    this.#urlsPerHostMax = run.settings.urlsPerHostMax;
    this.#depthMatters = depthMatters(run.settings);
  }

  get hasQueuedSeeds(): boolean {
    this.#queuedSeeds ??= this.#file.get<{ count: number }>(QUEUED_SEEDS, this.#collection)!.count;
    return this.#queuedSeeds > 0;
  }

  async write(batch: FrontierBatch): Promise<WrittenBatch> {
    const written = { queued: [], again: [], unqueuedSitemaps: [], refused: [], lost: [] } as {
      queued: { host: string; rank: number }[];
      again: string[];
      unqueuedSitemaps: string[];
      refused: { reason: string; count: number }[];
      lost: Visit[];
    };
    const offerAll = (urls: readonly FoundUrl[]) => {
      for (const found of urls) {
        const verdict = this.#offer(found.offer, batch.onlyNew, found.orGone);
        if (verdict === 'queued') written.queued.push({ host: hostName(found.offer.url), rank: this.#lastRank });
        else if (verdict !== 'known') written.refused.push({ reason: verdict, count: 1 });
        if (verdict !== 'queued' && found.offer.role === 'sitemap') written.unqueuedSitemaps.push(found.offer.url);
      }
    };
    this.#transaction(() => {
      offerAll(batch.urls);
      for (const visit of batch.visits) {
        const { findings } = visit;
        if (findings) {
          offerAll(findings.urls);
          for (const { page, links } of findings.pageEmbeds) {
            // A recrawl may leave out known pages, so it accepts pages of earlier runs. A crawl from seeds queues every
            // wanted page again.
            const item = this.#find(page, batch.onlyNew);
            if (item && isVisited(item)) offerAll(batch.offersOf(item, links, findings.orGone));
            else if (item) {
              const leftOut = this.#waiting.put(item, links);
              if (leftOut > 0) written.refused.push({ reason: 'embeds', count: leftOut });
            }
          }
          const waiting = findings.waitingEmbeds === 'stay' ? [] : this.#waiting.take(visit.item);
          if (findings.waitingEmbeds === 'offered' && waiting.length > 0)
            offerAll(batch.offersOf(visit.settlement.item, waiting, findings.orGone));
        }
        const settlement =
          visit.rank === undefined ? { ...visit.settlement, item: this.#addUnqueued(visit.item) } : visit.settlement;
        if (this.#settle(settlement, visit.rank))
          written.queued.push({ host: hostName(visit.item.url), rank: this.#lastRank });
        const again = findings?.again;
        if (again && this.#requeueRedirect(again.url, again.hops, again.since)) {
          written.queued.push({ host: hostName(again.url), rank: this.#lastRank });
          written.again.push(again.url);
        }
      }
      for (const item of batch.tries) this.#file.run(COUNT_TRY, item.host, item.key, item.page);
      if (batch.movedSeeds) saveMovedSeeds(this.#file, this.#run, batch.movedSeeds);
      saveCounts(this.#file, this.#run, batch.counts(written.refused));
    });
    return written;
  }

  /**
   * Queues a URL unless this run knows it. With `onlyNew`, a URL that the collection knows is not queued either, unless
   * it is gone and `orGone` is set.
   */
  #offer(offer: Offer, onlyNew: boolean, orGone: boolean): Verdict {
    const name = hostName(offer.url);
    const host = this.#hosts.get(name);
    const [key, page] = [keyHash(offer.url), pageHash(offer.url)];
    const role = ROLES.indexOf(offer.role);
    const rank = this.#nextRank(offer);
    const isFull = host.known >= this.#urlsPerHostMax;
    const inserted = isFull
      ? 0
      : this.#file.run(
          INSERT_URL,
          host.id,
          key,
          page,
          offer.url,
          this.#run.number,
          role,
          offer.depth,
          offer.hops,
          rank,
        );
    if (inserted === 1) {
      this.#hosts.countKnown(host);
    } else {
      if (this.#isNearerAndDone(offer, host.id, key, page) && this.rereadsNearer) {
        this.#requeueToRead(host, offer, key, page);
        return 'queued';
      }
      if (isNeed(offer) && this.#moveUp(host, offer, key, page)) return 'queued';
      if (onlyNew && !orGone) return isFull && !this.#isKnown(host.id, key, page) ? 'host-full' : 'known';
      const renewed = this.#file.run(
        onlyNew ? RENEW_GONE : RENEW_ANY,
        this.#run.number,
        role,
        offer.depth,
        offer.hops,
        rank,
        host.id,
        key,
        page,
        this.#run.number,
      );
      if (renewed === 0) return isFull && !this.#isKnown(host.id, key, page) ? 'host-full' : 'known';
    }
    if (this.#variants(host.id, key) > VARIANTS_MAX) {
      this.#file.run(DROP_URL, host.id, key, page);
      return 'variant';
    }
    this.#enqueue(host, offer, key, page);
    return 'queued';
  }

  /** Reduces the depth of a known page. Returns whether it was reduced and this run has visited the page. */
  #isNearerAndDone({ role, depth }: Offer, host: number, key: number, page: number): boolean {
    if (!this.#depthMatters || !isPageRole(role)) return false;
    const row = this.#file.get<{ run: number; state: number }>(NEARER, depth, host, key, page, depth);
    return row?.run === this.#run.number && row.state === STATE_DONE;
  }

  #requeueToRead(host: HostRow, offer: Offer, key: number, page: number): void {
    this.#file.run(REQUEUE, this.#nextRank(offer), host.id, key, page);
    this.#enqueue(host, offer, key, page);
  }

  /** Moves a URL that is queued as a page up to the embeds. Returns whether its rank has changed. */
  #moveUp(host: HostRow, offer: Offer, key: number, page: number): boolean {
    const waiting = this.#file.get<{ rank: number }>(WAITING_PAGE, host.id, key, page, this.#run.number);
    if (!waiting) return false;
    // The target of a redirect from a page already has a rank among the embeds.
    const isMoved = waiting.rank >= NEED_RANK_END;
    const rank = isMoved ? this.#nextRank(offer) : waiting.rank;
    this.#file.run(MAKE_NEED, offer.depth, offer.hops, rank, host.id, key, page);
    if (!isMoved) return false;
    this.#dequeue(host, { key, page }, waiting.rank);
    this.#enqueue(host, offer, key, page);
    return true;
  }

  /** Queues a visited URL again if it redirected. Returns whether it is queued. */
  #requeueRedirect(url: string, hops: number, time: EpochMs): boolean {
    const host = this.#hosts.get(hostName(url));
    const [key, page] = [keyHash(url), pageHash(url)];
    const row = this.#file.get<{ role: number; depth: number }>(
      REQUEUE_REDIRECT,
      hops,
      host.id,
      key,
      page,
      this.#run.number,
      time,
    );
    if (!row) return false;
    this.#enqueue(host, { url, role: ROLES[row.role]!, depth: row.depth, hops }, key, page);
    this.#file.run(SET_RANK, this.#lastRank, host.id, key, page);
    return true;
  }

  #row(url: string, key = keyHash(url), page = pageHash(url)): (UrlRow & { run: number; state: number }) | undefined {
    return this.#file.get(
      `SELECT url.* FROM url JOIN host ON host.id = url.host WHERE host.collection = ? AND host.name = ? AND url.key = ? AND url.page = ?`,
      this.#collection,
      hostName(url),
      key,
      page,
    );
  }

  async find(url: string, orEarlier: boolean): Promise<KnownUrl | undefined> {
    return this.#find(url, orEarlier);
  }

  #find(url: string, orEarlier: boolean): KnownUrl | undefined {
    const row = this.#row(url);
    if (row?.state === STATE_GONE || row?.state === STATE_DROPPED) return undefined;
    return row && (orEarlier || row.run === this.#run.number)
      ? { ...queuedUrlOf(row), isDone: row.state === STATE_DONE }
      : undefined;
  }

  async lookUp(offer: Offer): Promise<QueuedUrl & { readonly isSettled: boolean }> {
    const [key, page] = [keyHash(offer.url), pageHash(offer.url)];
    const row = this.#row(offer.url, key, page);
    if (row)
      return { ...queuedUrlOf(row), ...offer, isSettled: row.run === this.#run.number && row.state !== STATE_QUEUED };
    const none = { captured: undefined, verified: undefined, etag: undefined, modified: undefined, digest: undefined };
    return { ...offer, ...none, host: 0, key, page, tries: 0, status: 0, isSettled: false };
  }

  /** Adds a URL that a rendered page requested, without queueing it. */
  #addUnqueued(item: QueuedUrl): QueuedUrl {
    const host = this.#hosts.get(hostName(item.url));
    const role = ROLES.indexOf(item.role);
    const inserted = this.#file.run(
      `INSERT INTO url (host, key, page, url, run, state, role, depth, hops) VALUES (?, ?, ?, ?, ?, ${STATE_DONE}, ?, ?, ?)
       ON CONFLICT DO UPDATE SET run = excluded.run WHERE run < excluded.run`,
      host.id,
      item.key,
      item.page,
      item.url,
      this.#run.number,
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
    return this.#file.get<{ count: number }>(COUNT_VARIANTS, host, key, this.#run.number)!.count;
  }

  #isKnown(host: number, key: number, page: number): boolean {
    return this.#file.get('SELECT 1 FROM url WHERE host = ? AND key = ? AND page = ?', host, key, page) !== undefined;
  }

  /**
   * Returns a rank that no other URL has. The last number is read lazily, because `planRecrawl` fills the queue after
   * the frontier was made.
   */
  #nextRank(offer: Offer): number {
    this.#lastNumber ??= this.#file.get<{ last: number | null }>(LAST_NUMBER, this.#collection)!.last ?? 0;
    return bandOf(offer) * RANK_STEP + this.#lastNumber + 1;
  }

  #enqueue(host: HostRow, offer: Offer, key: number, page: number): void {
    this.#lastRank = this.#nextRank(offer);
    this.#lastNumber!++;
    if (this.#queuedSeeds !== undefined && isSeed(offer)) this.#queuedSeeds++;
    this.#file.run(ENQUEUE, host.id, this.#lastRank, key, page);
    this.#hosts.countQueued(host, 1);
  }

  #dequeue(host: HostRow, { key, page }: Pick<QueuedUrl, 'key' | 'page'>, rank: number): void {
    this.#hosts.countQueued(host, -this.#file.run(DEQUEUE, host.id, rank, key, page));
  }

  #transaction(work: () => void): void {
    try {
      this.#file.transaction(() => {
        work();
        this.#hosts.write();
      });
    } catch (error) {
      this.#hosts.revert();
      this.#queuedSeeds = undefined;
      this.#lastNumber = undefined;
      throw error;
    }
  }

  async read(requests: readonly ReadRequest[]): Promise<TakenUrl[][]> {
    const sql = this.onlyNeeds ? PEEK_NEEDS : PEEK_ALL;
    return requests.map(({ host, after, count }) =>
      this.#file
        .all<UrlRow & { rank: number }>(sql, host, after, count)
        .map((row) => ({ ...queuedUrlOf(row), rank: row.rank })),
    );
  }

  /**
   * Settles a URL and removes it from the queue. `rank`: its rank when it was taken; undefined if it was never queued.
   * Returns true when the URL was found at a smaller depth during its visit, and is queued again to be read again.
   */
  #settle(settlement: Settlement, rank: number | undefined): boolean {
    const { item, state, status, verified, captured, etag, modified, digest, isChanged } = settlement;
    const watched =
      isChanged !== undefined && item.verified !== undefined && verified !== undefined ? verified - item.verified : 0;
    const settled = this.#file.get<{ rank: number | null }>(
      `UPDATE url SET state = ?, role = coalesce(?, role), hops = coalesce(?, hops), status = ?, verified = coalesce(?, verified), captured = coalesce(?, captured), etag = ?, modified = ?,
         digest = coalesce(?, digest), visits = visits + ?, changes = changes + ?, watched = watched + ?
       WHERE host = ? AND key = ? AND page = ? RETURNING rank`,
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
    if (rank === undefined) return false;
    // The URL may have moved up in the queue since it was taken.
    this.#dequeue(this.#hosts.get(hostName(item.url)), item, settled?.rank ?? rank);
    if (this.#queuedSeeds !== undefined && isSeed(item) && rank < SEED_RANK_END) this.#queuedSeeds--;
    return state === STATE_DONE && this.#readIfNearer(item);
  }

  /** Queues a visited page to be read again, if its depth became smaller during the visit. */
  #readIfNearer(item: QueuedUrl): boolean {
    if (!this.#depthMatters || !this.rereadsNearer) return false;
    const { depth } = this.#file.get<{ depth: number }>(DEPTH_OF, item.host, item.key, item.page)!;
    if (depth >= item.depth) return false;
    this.#requeueToRead(this.#hosts.get(hostName(item.url)), { ...item, depth }, item.key, item.page);
    return true;
  }

  async hosts(after: number, count: number): Promise<LeasedHost[]> {
    const sql = this.onlyNeeds ? HOSTS_NEEDS : HOSTS_ALL;
    const hosts = this.#file.all<QueuedHost>(sql, this.#collection, after, count);
    return hosts.map((host) => ({ ...host, earlier: NO_EARLIER_VISITS, mayBeVisited: this.#isResumed }));
  }

  async reserve(): Promise<undefined> {}

  mayAsk(): boolean {
    return true;
  }

  holds(): boolean {
    return true;
  }

  async release(): Promise<void> {}

  news(): undefined {}

  pagesAllowed(): number {
    return this.#run.settings.pagesMax;
  }

  async askForPages(): Promise<boolean> {
    return false;
  }

  async totals(): Promise<FrontierTotals> {
    const totals = this.#file.get<{ known: number; queued: number }>(
      'SELECT coalesce(sum(known), 0) AS known, coalesce(sum(queued), 0) AS queued FROM host WHERE collection = ?',
      this.#collection,
    )!;
    const fullest = this.#file.all<QueuedHost>(
      'SELECT id, name, queued FROM host WHERE collection = ? AND queued > 0 ORDER BY queued DESC LIMIT 5',
      this.#collection,
    );
    return { ...totals, fullest };
  }

  async isFinished(): Promise<boolean> {
    return true;
  }

  async planRecrawl(isWanted: (known: Pick<Offer, 'url' | 'role' | 'depth'>) => boolean): Promise<number> {
    const { outOfScope } = queueRecrawl(this.#file, this.#run, this.#clock(), isWanted);
    this.#lastNumber = undefined;
    return outOfScope;
  }

  async goneUrls(): Promise<string[]> {
    const rows = this.#file.all<{ url: string }>(
      `SELECT url.url FROM url JOIN host ON host.id = url.host WHERE host.collection = ? AND url.run = ? AND url.state = ${STATE_GONE}`,
      this.#collection,
      this.#run.number,
    );
    return rows.map(({ url }) => url);
  }

  async end(_: CrawlReport['outcome'], findings: CrawlerFindings, counts: CrawlCounts): Promise<RunEnd> {
    return { kind: 'last', counts, ...findings };
  }

  async finish(report: CrawlReport): Promise<void> {
    endRun(this.#file, this.#run, report, this.#clock());
  }

  async close(): Promise<void> {}
}
