/** The frontier in the database of a cluster. `crawler-lease.ts` explains leases, `batch-write.ts` the transaction. */
import { setTimeout } from 'node:timers/promises';
import { type Clock, Exclusive } from '../../../base/index.ts';
import { type Database, rowSet } from '../../../database/index.ts';
import type { CrawlCounts, CrawlReport, FrontierTotals } from '../../report.ts';
import type { CrawlRun } from '../../run.ts';
import { UNBOUNDED } from '../../settings.ts';
import type { Cookie } from '../cookie.ts';
import type {
  CrawlerFindings,
  Frontier,
  FrontierBatch,
  FrontierNews,
  LeasedHost,
  QueuedHost,
  ReadRequest,
  RunEnd,
  TakenUrl,
  WrittenBatch,
} from '../frontier.ts';
import { hostName, keyHash, pageHash } from '../frontier-url.ts';
import type { EarlierVisits, HostFacts } from '../host-facts.ts';
import { type KnownUrl, type Offer, type QueuedUrl, ROLES, STATE_GONE, STATE_QUEUED } from '../known-url.ts';
import { NEED_RANK_END, SEED_RANK_END } from '../rank.ts';
import { BatchWriter, saveFacts } from './batch-write.ts';
import { CrawlerLease } from './crawler-lease.ts';
import { queueRecrawl } from './recrawl-queue.ts';
import { endRun } from './run-end.ts';
import type { Tables } from './tables.ts';
import { queuedOf, URL_NAMES, type UrlRow, urlRowOf } from './url-rows.ts';
import { knownUrlOf } from './url-table.ts';

const TICK_MS = 1000;
const RESERVE_MS = 250;
/** Cookies that changed this long before the last look are read again: their transaction may have ended since. */
const COOKIE_OVERLAP_MS = 10_000;
/** How many pages a crawler may visit beyond those that it has, where a limit of pages holds. */
const GRANT_MAX = 16;
const IS_NEED = `u.rank < ${NEED_RANK_END} and u.role = ${ROLES.indexOf('embed')}`;
const PAGE_ROLES = [ROLES.indexOf('page'), ROLES.indexOf('frame')].join(', ');

export type PostgresFrontierOptions = {
  readonly database: Database;
  readonly tables: Tables;
  readonly run: CrawlRun;
  readonly isResumed: boolean;
  readonly elapsedMs: number;
  readonly clock: Clock;
};

export class PostgresFrontier implements Frontier {
  readonly isShared = true;
  readonly countsBefore: CrawlCounts | undefined = undefined;
  readonly elapsedMsBefore: number;
  others = { pages: 0, bytes: 0 };
  onlyNeeds = false;
  rereadsNearer = false;
  hasQueuedSeeds = true;
  readonly #options: PostgresFrontierOptions;
  readonly #lease: CrawlerLease;
  readonly #writer: BatchWriter;
  /** Hosts that are in use, by their names, with their buckets. */
  readonly #active = new Map<string, number>();
  #news: { wanted: number[]; movedSeeds: string[]; cookies: Cookie[] } = { wanted: [], movedSeeds: [], cookies: [] };
  #seedsSeen: number;
  #cookiesSeen = 0;
  #granted = 0;
  #used = 0;
  #livingCount = 1;
  #totals: FrontierTotals = { known: 0, queued: 0, fullest: [] };
  #timer: NodeJS.Timeout | undefined;
  readonly #ticking = new Exclusive();
  #isClosed = false;
  #hasLeft = false;

  private constructor(options: PostgresFrontierOptions, lease: CrawlerLease) {
    this.#options = options;
    this.#lease = lease;
    this.elapsedMsBefore = options.elapsedMs;
    this.#seedsSeen = options.run.movedSeeds.length;
    const { database, tables, run } = options;
    this.#writer = new BatchWriter({ database, tables, run, crawler: () => lease });
  }

  static async open(options: PostgresFrontierOptions): Promise<PostgresFrontier> {
    const frontier = new PostgresFrontier(options, await CrawlerLease.take(options));
    try {
      await frontier.tick();
    } catch (error) {
      await frontier.close().catch(() => {});
      throw error;
    }
    frontier.#scheduleTick();
    return frontier;
  }

  #scheduleTick(): void {
    if (this.#isClosed) return;
    this.#timer = globalThis.setTimeout(() => {
      // A database that cannot be reached ends the lease in time. Statements of the crawl report the failure.
      this.tick()
        .catch(() => {})
        .finally(() => this.#scheduleTick());
    }, TICK_MS);
    this.#timer.unref();
  }

  /** Renews the lease, and looks what the other crawlers have done. */
  tick(): Promise<void> {
    return this.#ticking.run(() => this.#tick());
  }

  async #tick(): Promise<void> {
    if (this.#isClosed || this.#hasLeft) return;
    const { database, tables, run } = this.#options;
    await this.#lease.renew();
    await this.#lease.bury();
    const [others] = await database.query(
      `select coalesce(sum(pages), 0) as pages, coalesce(sum(bytes), 0) as bytes, count(*) filter (where not is_gone) as living
       from ${tables.crawlers} where run = $1 and id <> $2`,
      [run.number, this.#lease.id],
    );
    this.others = { pages: Number(others!.pages), bytes: Number(others!.bytes) };
    this.#livingCount = 1 + Number(others!.living);
    await this.#returnPages();
    const [crawl] = await database.query(`select moved_seeds from ${tables.crawls} where number = $1`, [run.number]);
    const moved = JSON.parse(String(crawl!.moved_seeds)) as string[];
    this.#news.movedSeeds.push(...moved.slice(this.#seedsSeen));
    this.#seedsSeen = moved.length;
    await this.#readCookies();
    this.#news.wanted.push(...(await this.#lease.wanted()));
    if (this.#livingCount > 1 || this.#lease.leaving.size > 0) await this.#giveIdleBack();
    if (this.hasQueuedSeeds) await this.#lookForSeeds();
    await this.#readTotals();
  }

  async #lookForSeeds(): Promise<void> {
    const { database, tables, run } = this.#options;
    const [seeds] = await database.query(
      `select not is_begun or exists (select 1 from ${tables.hosts} h where h.collection = $2 and h.queued > 0
         and exists (select 1 from ${tables.urls} u where u.host = h.id and u.rank < ${SEED_RANK_END}
           and u.depth = 0 and u.role in (${PAGE_ROLES}))) as has_seeds
       from ${tables.crawls} where number = $1`,
      [run.number, run.collection],
    );
    this.hasQueuedSeeds = seeds!.has_seeds === true;
  }

  async #readTotals(): Promise<void> {
    const { database, tables, run } = this.#options;
    const [totals] = await database.query(
      `select coalesce(sum(known), 0) as known, coalesce(sum(queued), 0) as queued from ${tables.hosts} where collection = $1`,
      [run.collection],
    );
    const fullest = await database.query(
      `select id, name, queued from ${tables.hosts} where collection = $1 and queued > 0 order by queued desc limit 5`,
      [run.collection],
    );
    this.#totals = {
      known: Number(totals!.known),
      queued: Number(totals!.queued),
      fullest: fullest as unknown as readonly QueuedHost[],
    };
  }

  async #readCookies(): Promise<void> {
    const { database, tables, run } = this.#options;
    const found = await database.query(
      `select domain, name, value, set_at, is_secure, is_needed,
         extract(epoch from changed) * 1000 as changed_ms from ${tables.cookies}
       where run = $1 and changed > to_timestamp($2::float8 / 1000)`,
      [run.number, this.#cookiesSeen],
    );
    for (const { domain, name, value, set_at, is_secure, is_needed, changed_ms } of found) {
      this.#cookiesSeen = Math.max(this.#cookiesSeen, Number(changed_ms) - COOKIE_OVERLAP_MS);
      this.#news.cookies.push({
        domain: String(domain),
        name: String(name),
        value: value === null ? undefined : String(value),
        setAt: Number(set_at),
        isSecure: is_secure === true,
        isNeeded: is_needed === true,
      });
    }
  }

  async #giveIdleBack(): Promise<void> {
    const busy = new Set(this.#active.values());
    await this.#lease.giveBack([...this.#lease.held.keys()].filter((number) => !busy.has(number)));
  }

  write(batch: FrontierBatch): Promise<WrittenBatch> {
    return this.#writer.write(batch, this.rereadsNearer);
  }

  async hosts(after: number, count: number): Promise<LeasedHost[]> {
    let found = await this.#hosts(after, count);
    if (found.length < count && (await this.#lease.takeShare())) found = await this.#hosts(after, count);
    for (const { name } of found) this.#active.set(name, this.#lease.bucket(name));
    return found;
  }

  async #hosts(after: number, count: number): Promise<LeasedHost[]> {
    const { database, tables, run } = this.#options;
    const held = [...this.#lease.held.keys()].filter((number) => !this.#lease.leaving.has(number));
    if (held.length === 0) return [];
    const needs = this.onlyNeeds
      ? `and exists (select 1 from ${tables.urls} u where u.host = h.id and u.rank is not null and ${IS_NEED})`
      : '';
    const found = await database.query(
      `select h.id, h.name, h.queued, ${FACTS} from ${tables.hosts} h
       where h.collection = $2 and h.bucket = any($3::integer[]) and h.queued > 0 and h.id > $4 ${needs}
       order by h.id limit $5`,
      [run.number, run.collection, held, after, count],
    );
    return found.map((row) => {
      const name = String(row.name);
      const earlier = this.#earlier(name, row);
      const mayBeVisited = this.#options.isResumed || earlier.unnotedAgoMs !== undefined;
      return { id: Number(row.id), name, queued: Number(row.queued), earlier, mayBeVisited };
    });
  }

  #earlier(name: string, row: { readonly facts?: unknown; readonly pause_ms?: unknown } | undefined): EarlierVisits {
    const facts = typeof row?.facts === 'string' ? (JSON.parse(row.facts) as HostFacts) : undefined;
    const cutAt = this.#lease.held.get(this.#lease.bucket(name))?.cutAt;
    return {
      facts: facts && { ...facts, pauseMs: Math.max(0, Number(row!.pause_ms ?? 0)) },
      unnotedAgoMs: cutAt === undefined ? undefined : Math.max(0, this.#options.clock() - cutAt),
    };
  }

  async read(requests: readonly ReadRequest[]): Promise<TakenUrl[][]> {
    const { database, tables } = this.#options;
    const set = rowSet('r', requests, REQUEST_COLUMNS, 1);
    const found = await database.query(
      `select r.n, ${URL_NAMES} from ${set.table} cross join lateral (
         select * from ${tables.urls} u where u.host = r.host and u.rank > r.after ${this.onlyNeeds ? `and ${IS_NEED}` : ''}
         order by u.rank limit r.count) u order by r.n, u.rank`,
      set.values,
    );
    const urls: TakenUrl[][] = requests.map(() => []);
    for (const row of found) urls[Number(row.n) - 1]!.push({ ...queuedOf(urlRowOf(row)), rank: Number(row.rank) });
    return urls;
  }

  async reserve(name: string, signal: AbortSignal): Promise<EarlierVisits | undefined> {
    const isKnown = this.#lease.mayAsk(name) && this.#active.has(name);
    while (!(await this.#lease.reserve(name))) await setTimeout(RESERVE_MS, undefined, { signal });
    if (isKnown) return undefined;
    const { database, tables, run } = this.#options;
    const [row] = await database.query(`select ${FACTS} from ${tables.hosts} h where collection = $2 and name = $3`, [
      run.number,
      run.collection,
      name,
    ]);
    return this.#earlier(name, row);
  }

  mayAsk(name: string): boolean {
    return this.#lease.mayAsk(name);
  }

  holds(name: string): boolean {
    return this.#lease.holds(name);
  }

  async release(hosts: ReadonlyMap<string, HostFacts>): Promise<void> {
    const { database, tables, run } = this.#options;
    const held = [...hosts].filter(([name]) => this.#lease.holds(name));
    await saveFacts(database.query, tables, run, held);
    for (const name of hosts.keys()) this.#active.delete(name);
    const busy = new Set(this.#active.values());
    await this.#lease.giveBack([...this.#lease.leaving].filter((number) => !busy.has(number)));
  }

  news(): FrontierNews | undefined {
    const lost = this.#lease.takeLost();
    const news = this.#news;
    if (lost.length + news.wanted.length + news.movedSeeds.length + news.cookies.length === 0) return undefined;
    this.#news = { wanted: [], movedSeeds: [], cookies: [] };
    const gone = new Set(lost);
    for (const [name, bucket] of this.#active) if (gone.has(bucket)) this.#active.delete(name);
    return { ...news, lost };
  }

  pagesAllowed(used: number): number {
    this.#used = used;
    return this.#options.run.settings.pagesMax >= UNBOUNDED ? UNBOUNDED : Math.max(this.#granted, 0);
  }

  /** Gives back the pages that this crawler does not need now, so that others can have them. */
  async #returnPages(): Promise<void> {
    if (this.#granted <= this.#used || this.#livingCount === 1) return;
    this.#granted = this.#used;
    await this.#saveGranted();
  }

  async #saveGranted(): Promise<void> {
    const { database, tables, run } = this.#options;
    await database.query(`update ${tables.crawlers} set pages_granted = $3 where run = $1 and id = $2`, [
      run.number,
      this.#lease.id,
      this.#granted,
    ]);
  }

  async askForPages(used: number): Promise<boolean> {
    const { database, tables, run } = this.#options;
    const { pagesMax } = run.settings;
    if (used < this.pagesAllowed(used)) return true;
    const granted = await database.transact(async (query) => {
      // One crawler at a time.
      await query(`select 1 from ${tables.crawls} where number = $1 for update`, [run.number]);
      const [others] = await query(
        `select coalesce(sum(case when is_gone then pages else greatest(pages, pages_granted) end), 0) as pages
         from ${tables.crawlers} where run = $1 and id <> $2`,
        [run.number, this.#lease.id],
      );
      const left = pagesMax - Number(others!.pages) - used;
      const more = Math.min(left, Math.max(1, Math.min(GRANT_MAX, Math.ceil(left / (2 * this.#livingCount)))));
      if (more <= 0) return used;
      await query(`update ${tables.crawlers} set pages_granted = $3 where run = $1 and id = $2`, [
        run.number,
        this.#lease.id,
        used + more,
      ]);
      return used + more;
    });
    this.#granted = granted;
    return granted > used;
  }

  async find(url: string, orEarlier: boolean): Promise<KnownUrl | undefined> {
    const row = await this.#row(url);
    return row && knownUrlOf(row, this.#options.run.number, orEarlier);
  }

  async lookUp(offer: Offer): Promise<QueuedUrl & { readonly isSettled: boolean }> {
    const row = await this.#row(offer.url);
    const { run } = this.#options;
    if (row) return { ...queuedOf(row), ...offer, isSettled: row.run === run.number && row.state !== STATE_QUEUED };
    const none = { captured: undefined, verified: undefined, etag: undefined, modified: undefined, digest: undefined };
    const [key, page] = [keyHash(offer.url), pageHash(offer.url)];
    return { ...offer, ...none, host: 0, key, page, tries: 0, status: 0, isSettled: false };
  }

  async #row(url: string): Promise<UrlRow | undefined> {
    const { database, tables, run } = this.#options;
    const [row] = await database.query(
      `select ${URL_NAMES} from ${tables.urls} u join ${tables.hosts} h on h.id = u.host
       where h.collection = $1 and h.name = $2 and u.key = $3 and u.page = $4`,
      [run.collection, hostName(url), keyHash(url), pageHash(url)],
    );
    return row && urlRowOf(row);
  }

  async totals(): Promise<FrontierTotals> {
    return this.#totals;
  }

  async isFinished(): Promise<boolean> {
    const { database, tables, run } = this.#options;
    const [crawl] = await database.query(
      `select state <> 'running' as is_over, is_begun and not ${this.#anyQueued} as is_finished
       from ${tables.crawls} where number = $1`,
      [run.number, run.collection],
    );
    return crawl!.is_over === true || crawl!.is_finished === true;
  }

  get #anyQueued(): string {
    const { tables } = this.#options;
    const needs = `and exists (select 1 from ${tables.urls} u where u.host = h.id and u.rank is not null and ${IS_NEED})`;
    return `exists (select 1 from ${tables.hosts} h where h.collection = $2 and h.queued > 0 ${this.onlyNeeds ? needs : ''})`;
  }

  async planRecrawl(isWanted: (known: Pick<Offer, 'url' | 'role' | 'depth'>) => boolean): Promise<number> {
    const { database, tables, run } = this.#options;
    return queueRecrawl(database, tables, run, isWanted);
  }

  async goneUrls(): Promise<string[]> {
    const { database, tables, run } = this.#options;
    const rows = await database.query(
      `select u.url from ${tables.urls} u join ${tables.hosts} h on h.id = u.host
       where h.collection = $1 and u.run = $2 and u.state = ${STATE_GONE}`,
      [run.collection, run.number],
    );
    return rows.map(({ url }) => String(url));
  }

  async end(
    outcome: CrawlReport['outcome'],
    findings: CrawlerFindings,
    counts: CrawlCounts,
    signal?: AbortSignal,
  ): Promise<RunEnd> {
    const { database, tables, run } = this.#options;
    const lease = this.#lease;
    // The facts of hosts were written with their visits.
    this.#active.clear();
    const ended = await endRun({
      database,
      tables,
      run,
      lease,
      outcome,
      findings,
      counts,
      anyQueued: outcome === 'done' || this.onlyNeeds ? this.#anyQueued : 'false and $2::text is null',
      signal,
    });
    await this.#readTotals();
    if (ended.kind !== 'unfinished' && ended.kind !== 'last') this.#hasLeft = true;
    return ended;
  }

  async finish(report: CrawlReport): Promise<void> {
    const { database, tables, run } = this.#options;
    await database.query(
      `update ${tables.crawls} set state = $2, report = $3, ended = extract(epoch from clock_timestamp()) * 1000
       where number = $1 and state = 'running' and finisher = $4`,
      [run.number, report.outcome, JSON.stringify(report), this.#lease.id],
    );
    this.#hasLeft = true;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#ticking.run(async () => {});
    // After a failure, visits may not have been written. What this crawler holds then counts as not given back.
    // A database that cannot be reached ends the lease in time.
    if (this.#hasLeft) await this.#lease.giveAllBack().catch(() => {});
    await this.#lease.end().catch(() => {});
  }
}

/** $1 is the number of the run. */
const FACTS = `case when h.facts_run = $1 then h.facts end as facts,
  extract(epoch from h.not_before - clock_timestamp()) * 1000 as pause_ms`;

const REQUEST_COLUMNS = [
  { name: 'host', type: 'bigint' as const, of: ({ host }: ReadRequest) => host },
  { name: 'after', type: 'bigint' as const, of: ({ after }: ReadRequest) => after },
  { name: 'count', type: 'bigint' as const, of: ({ count }: ReadRequest) => count },
];
