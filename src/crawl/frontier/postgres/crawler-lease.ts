/**
 * The lease of a crawler on a run, and the buckets of hosts that it holds under it.
 *
 * - One row is renewed for all buckets. A crawler that could not renew it in time loses all of them, and begins a new
 *   epoch without any.
 * - A lease ends by the clock of the database. The crawler itself stops MARGIN_MS earlier, counted from before the
 *   renewal was sent. So it asks no host after another crawler may have taken it over, also after a pause of the
 *   process. (A pause of the whole machine that stops its clocks too is noticed by the next renewal only.)
 * - Another crawler marks a lease that has ended as gone before it takes buckets over. So a transaction that has locked
 *   the row of its own lease and found it living holds its buckets until its commit.
 * - Each crawler takes its share of the buckets that have queued URLs. One that has more gives some back when another
 *   has less. A bucket that is wanted for a single request is given back too.
 */
import type { Clock, EpochMs } from '../../../base/index.ts';
import { type Database, type Query, rowSet } from '../../../database/index.ts';
import type { CrawlRun } from '../../run.ts';
import { bucketOf, type CrawlerId } from './batch-write.ts';
import { BUCKETS, type Tables } from './tables.ts';

export const LEASE_MS = 15_000;
const MARGIN_MS = 3000;
/** After a search for free buckets that found none, the next one waits this long. */
const SEARCH_MS = 300;
/** A bucket that was reserved for a single request is kept this long. */
const RESERVED_MS = 5000;

export type HeldBucket = {
  readonly number: number;
  /** How long ago a crawler that did not give the bucket back may have asked its hosts. */
  readonly cutAt: EpochMs | undefined;
};

export type CrawlerLeaseOptions = {
  readonly database: Database;
  readonly tables: Tables;
  readonly run: CrawlRun;
  readonly clock: Clock;
};

export class CrawlerLease {
  readonly #options: CrawlerLeaseOptions;
  readonly id: string;
  epoch: number;
  #safeUntil: EpochMs;
  readonly #held = new Map<number, HeldBucket>();
  /** Buckets that are given back as soon as none of their hosts is in use. */
  readonly leaving = new Set<number>();
  /** By bucket, until when it is reserved for a single request. */
  readonly #reserved = new Map<number, EpochMs>();
  /** Buckets that were lost and not reported yet. */
  #lost: number[] = [];
  #searchAt: EpochMs = 0;
  readonly #buckets = new Map<string, number>();

  private constructor(options: CrawlerLeaseOptions, { id, epoch }: CrawlerId, safeUntil: EpochMs) {
    this.#options = options;
    this.id = id;
    this.epoch = epoch;
    this.#safeUntil = safeUntil;
  }

  static async take(options: CrawlerLeaseOptions): Promise<CrawlerLease> {
    const { database, tables, run, clock } = options;
    const asked = clock();
    const [row] = await database.query(
      `insert into ${tables.crawlers} (run, id, epoch, expires)
       values ($1, gen_random_uuid()::text, 1, clock_timestamp() + $2 * interval '1 millisecond') returning id, epoch`,
      [run.number, LEASE_MS],
    );
    const id = { id: String(row!.id), epoch: Number(row!.epoch) };
    return new CrawlerLease(options, id, asked + LEASE_MS - MARGIN_MS);
  }

  get isLiving(): boolean {
    return this.#options.clock() < this.#safeUntil;
  }

  get held(): ReadonlyMap<number, HeldBucket> {
    return this.#held;
  }

  bucket(name: string): number {
    let bucket = this.#buckets.get(name);
    if (bucket === undefined) {
      if (this.#buckets.size >= 100_000) this.#buckets.clear();
      this.#buckets.set(name, (bucket = bucketOf(name)));
    }
    return bucket;
  }

  /** Whether this crawler may go on asking a host. */
  holds(name: string): boolean {
    return this.isLiving && this.#held.has(this.bucket(name));
  }

  /** Whether this crawler may begin to ask a host. */
  mayAsk(name: string): boolean {
    return this.holds(name) && !this.leaving.has(this.bucket(name));
  }

  /** Renews the lease. If it has ended, everything is lost, and a new epoch begins. */
  async renew(): Promise<void> {
    const { database, tables, run, clock } = this.#options;
    const asked = clock();
    const renewed = await database.query(
      `update ${tables.crawlers} set expires = clock_timestamp() + $4 * interval '1 millisecond'
       where run = $1 and id = $2 and epoch = $3 and not is_gone and expires > clock_timestamp() returning 1`,
      [run.number, this.id, this.epoch, LEASE_MS],
    );
    if (renewed.length > 0) {
      this.#safeUntil = asked + LEASE_MS - MARGIN_MS;
      return;
    }
    this.#lost.push(...this.#held.keys());
    this.#held.clear();
    this.leaving.clear();
    this.#reserved.clear();
    const again = clock();
    const [row] = await database.query(
      `update ${tables.crawlers} set epoch = epoch + 1, is_gone = false, gone_at = null,
         expires = clock_timestamp() + $3 * interval '1 millisecond' where run = $1 and id = $2 returning epoch`,
      [run.number, this.id, LEASE_MS],
    );
    this.epoch = Number(row!.epoch);
    this.#safeUntil = again + LEASE_MS - MARGIN_MS;
  }

  takeLost(): number[] {
    const lost = this.#lost;
    this.#lost = [];
    return lost;
  }

  /** Takes this crawler's share of the free buckets with queued URLs. Returns whether it took any. */
  async takeShare(): Promise<boolean> {
    const now = this.#options.clock();
    if (now < this.#searchAt || !this.isLiving) return false;
    const { database, run } = this.#options;
    const { filled, livingCount } = await this.#look(database.query);
    const count = Math.ceil(filled.length / Math.max(1, livingCount)) - filled.filter((n) => this.#held.has(n)).length;
    const free = count <= 0 ? [] : await this.#free(database.query, filled, run.number);
    const taken = await this.#take(free.slice(0, count));
    if (taken === 0) this.#searchAt = this.#options.clock() + SEARCH_MS;
    return taken > 0;
  }

  /** Takes the bucket of one host, if it is free, or asks its holder to give it back. */
  async reserve(name: string): Promise<boolean> {
    const { database, tables, run, clock } = this.#options;
    const bucket = this.bucket(name);
    if (!this.mayAsk(name)) {
      if (!this.isLiving || this.leaving.has(bucket)) return false;
      const free = await this.#free(database.query, [bucket], run.number);
      if ((await this.#take(free)) === 0) {
        await database.query(
          `update ${tables.crawl_buckets} set is_wanted = true where run = $1 and number = $2 and not is_wanted`,
          [run.number, bucket],
        );
        return false;
      }
    }
    this.#reserved.set(bucket, clock() + RESERVED_MS);
    return true;
  }

  /** Buckets with queued URLs, and how many crawlers live. */
  async #look(query: Query): Promise<{ readonly filled: number[]; readonly livingCount: number }> {
    const { tables, run } = this.#options;
    await this.bury();
    const filled = await query(
      `select number from generate_series(0, ${BUCKETS - 1}) number
       where exists (select 1 from ${tables.hosts} where collection = $1 and bucket = number and queued > 0)`,
      [run.collection],
    );
    const [living] = await query(`select count(*) as count from ${tables.crawlers} where run = $1 and not is_gone`, [
      run.number,
    ]);
    return { filled: filled.map(({ number }) => Number(number)), livingCount: Number(living!.count) };
  }

  /** Marks the leases that have ended as gone. */
  async bury(): Promise<void> {
    const { database, tables, run } = this.#options;
    await database.query(
      `update ${tables.crawlers} set is_gone = true, gone_at = expires
       where run = $1 and not is_gone and expires < clock_timestamp()`,
      [run.number],
    );
  }

  async #free(query: Query, numbers: readonly number[], run: number): Promise<Free[]> {
    const { tables } = this.#options;
    const found = await query(
      `select b.number, b.crawler, b.crawler_epoch from ${tables.crawl_buckets} b
       where b.run = $1 and b.number = any($2::integer[]) and not exists (select 1 from ${tables.crawlers} c
         where c.run = b.run and c.id = b.crawler and c.epoch = b.crawler_epoch and not c.is_gone)
       order by random()`,
      [run, numbers],
    );
    return found.map(({ number, crawler, crawler_epoch }) => ({
      number: Number(number),
      crawler: crawler as string | null,
      epoch: crawler_epoch as number | null,
    }));
  }

  /**
   * Takes buckets that were found free. Each is taken only if nobody has taken it since: a holder that is gone stays
   * gone.
   */
  async #take(free: readonly Free[]): Promise<number> {
    if (free.length === 0) return 0;
    const { database, tables, run, clock } = this.#options;
    const set = rowSet('r', free, FREE_COLUMNS, 4);
    const taken = await database.query(
      `update ${tables.crawl_buckets} b set crawler = $2, crawler_epoch = $3, is_wanted = false,
         cut_at = case when b.crawler is null then b.cut_at else coalesce(
           (select c.gone_at from ${tables.crawlers} c
            where c.run = b.run and c.id = b.crawler and c.epoch = b.crawler_epoch), clock_timestamp()) end
       from ${set.table}
       where b.run = $1 and b.number = r.number and b.crawler is not distinct from r.crawler
         and b.crawler_epoch is not distinct from r.epoch
         and exists (select 1 from ${tables.crawlers} c where c.run = $1 and c.id = $2 and c.epoch = $3
           and not c.is_gone and c.expires > clock_timestamp())
       returning b.number, extract(epoch from clock_timestamp() - b.cut_at) * 1000 as cut_ago`,
      [run.number, this.id, this.epoch, ...set.values],
    );
    const now = clock();
    for (const { number, cut_ago } of taken)
      this.#held.set(Number(number), {
        number: Number(number),
        cutAt: cut_ago === null ? undefined : now - Number(cut_ago),
      });
    return taken.length;
  }

  /** The buckets that other crawlers should have, which this crawler must give back. */
  async wanted(): Promise<number[]> {
    const { database, tables, run } = this.#options;
    const asked = await database.query(
      `select number from ${tables.crawl_buckets} where run = $1 and crawler = $2 and crawler_epoch = $3 and is_wanted`,
      [run.number, this.id, this.epoch],
    );
    const wanted = new Set(asked.map(({ number }) => Number(number)));
    const others = await database.query(
      `select (select count(*) from ${tables.crawl_buckets} b
         where b.run = c.run and b.crawler = c.id and b.crawler_epoch = c.epoch) as held
       from ${tables.crawlers} c where c.run = $1 and c.id <> $2 and not c.is_gone`,
      [run.number, this.id],
    );
    if (others.length > 0) {
      const { filled } = await this.#look(database.query);
      const own = filled.filter((number) => this.#held.has(number) && !this.leaving.has(number));
      const poorest = Math.min(...others.map(({ held }) => Number(held)));
      const share = filled.length / (others.length + 1);
      const surplus = poorest < Math.floor(share) ? own.length - Math.ceil(share) : 0;
      for (const number of own.slice(0, Math.max(0, surplus))) wanted.add(number);
    }
    const news = [...wanted].filter((number) => this.#held.has(number) && !this.leaving.has(number));
    for (const number of news) this.leaving.add(number);
    return news;
  }

  /** Gives buckets back, unless they are reserved. */
  async giveBack(numbers: readonly number[]): Promise<void> {
    const { database, tables, run, clock } = this.#options;
    const now = clock();
    const back = numbers.filter((number) => this.#held.has(number) && (this.#reserved.get(number) ?? 0) <= now);
    if (back.length === 0) return;
    for (const number of back) {
      this.#held.delete(number);
      this.leaving.delete(number);
      this.#reserved.delete(number);
    }
    await database.query(
      `update ${tables.crawl_buckets} set crawler = null, crawler_epoch = null, is_wanted = false
       where run = $1 and crawler = $2 and crawler_epoch = $3 and number = any($4::integer[])`,
      [run.number, this.id, this.epoch, back],
    );
  }

  /** Gives everything back. */
  async giveAllBack(): Promise<void> {
    this.#reserved.clear();
    await this.giveBack([...this.#held.keys()]);
  }

  /** Ends the lease without giving anything back: the next holders count pauses from now. */
  async end(): Promise<void> {
    const { database, tables, run } = this.#options;
    this.#safeUntil = 0;
    await database.query(
      `update ${tables.crawlers} set is_gone = true, gone_at = clock_timestamp()
       where run = $1 and id = $2 and epoch = $3 and not is_gone`,
      [run.number, this.id, this.epoch],
    );
  }
}

type Free = { readonly number: number; readonly crawler: string | null; readonly epoch: number | null };

const FREE_COLUMNS = [
  { name: 'number', type: 'integer' as const, of: ({ number }: Free) => number },
  { name: 'crawler', type: 'text' as const, of: ({ crawler }: Free) => crawler },
  { name: 'epoch', type: 'bigint' as const, of: ({ epoch }: Free) => epoch },
];
