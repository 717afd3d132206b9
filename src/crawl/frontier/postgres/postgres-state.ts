/** The state of crawls in the database of a cluster. */
import { setTimeout } from 'node:timers/promises';
import { type Clock, type EpochMs, PinakesError } from '../../../base/index.ts';
import type { Database, Query, Row } from '../../../database/index.ts';
import { type CrawlReport, zeroCounts } from '../../report.ts';
import type { CrawlRun, CrawlRunState, RunKind } from '../../run.ts';
import { CRAWL_DEFAULTS, type CrawlSettings } from '../../settings.ts';
import {
  type CrawlState,
  type DueClaim,
  type NewRun,
  ROBOTS_FRESH_MS,
  type RobotsFile,
  type RobotsVerdict,
  type Schedule,
} from '../crawl-state.ts';
import type { Frontier } from '../frontier.ts';
import { PostgresFrontier } from './postgres-frontier.ts';
import { BUCKETS, makeTables, type Tables, tablesIn } from './tables.ts';

/** How long a claim of a scheduled crawl lasts, and how often it is renewed. */
const CLAIM_MS = 60_000;
const CLAIM_AGAIN_MS = 15_000;

/** Databases whose tables are up to date. */
const MADE = new WeakMap<Database, Promise<void>>();

export class PostgresState implements CrawlState {
  readonly isShared = true;
  readonly #database: Database;
  readonly #tables: Tables;
  readonly #clock: Clock;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#tables = tablesIn(database);
    this.#clock = clock;
  }

  readonly #query: Query = async (text, values) => {
    await this.#makeTables();
    return this.#database.query(text, values);
  };

  #makeTables(): Promise<void> {
    const made = MADE.get(this.#database) ?? makeTables(this.#database);
    MADE.set(this.#database, made);
    made.catch(() => MADE.delete(this.#database));
    return made;
  }

  async now(): Promise<EpochMs> {
    const [row] = await this.#query(`select ${NOW_MS} as now`);
    return Math.floor(Number(row!.now));
  }

  async runs(collection: string | undefined, count: number): Promise<CrawlRun[]> {
    const rows = await this.#query(
      `select * from ${this.#tables.crawls} where $1::text is null or collection = $1 order by number desc limit $2`,
      [collection ?? null, count],
    );
    return rows.map(runOf);
  }

  async run(number: number): Promise<CrawlRun | undefined> {
    const [row] = await this.#query(`select * from ${this.#tables.crawls} where number = $1`, [number]);
    return row && runOf(row);
  }

  async lastFirstRun(collection: string): Promise<CrawlRun | undefined> {
    const [row] = await this.#query(
      `select * from ${this.#tables.crawls} where collection = $1 and kind = 'first' order by number desc limit 1`,
      [collection],
    );
    return row && runOf(row);
  }

  async allSeeds(collection: string): Promise<string[]> {
    const rows = await this.#query(
      `select * from ${this.#tables.crawls} where collection = $1 and kind = 'first' order by number`,
      [collection],
    );
    return rows.map(runOf).flatMap(({ seeds, movedSeeds }) => [...seeds, ...movedSeeds]);
  }

  async begin({ kind, seeds, movedSeeds, settings }: NewRun): Promise<CrawlRun> {
    await this.#makeTables();
    const { crawls, crawl_buckets } = this.#tables;
    return this.#database.transact(async (query) => {
      const [row] = await query(
        `insert into ${crawls} (collection, kind, state, seeds, moved_seeds, settings, started, resumed_at)
         values ($1, $2, 'running', $3, $4, $5, $6, clock_timestamp()) on conflict (collection) where state = 'running' do nothing
         returning *`,
        [
          settings.collection,
          kind,
          JSON.stringify(seeds),
          JSON.stringify(movedSeeds),
          JSON.stringify(settings),
          this.#clock(),
        ],
      );
      if (!row) throw new PinakesError('CRAWL_RUNNING', { where: settings.collection });
      await query(
        `insert into ${crawl_buckets} (run, number) select $1, number from generate_series(0, ${BUCKETS - 1}) number`,
        [row.number],
      );
      return runOf(row);
    });
  }

  async resume(run: CrawlRun, settings: CrawlSettings): Promise<CrawlRun> {
    const { crawls } = this.#tables;
    return this.#database.transact(async (query) => {
      await this.#lockAlone(query, run);
      const [row] = await query(
        `update ${crawls} set state = 'running', settings = $2, ended = null, report = null, finisher = null,
           is_resumed = true, resumed_at = clock_timestamp() where number = $1 returning *`,
        [run.number, JSON.stringify(settings)],
      );
      return runOf(row!);
    });
  }

  async drop(run: CrawlRun): Promise<void> {
    const { crawls, hosts, urls } = this.#tables;
    await this.#database.transact(async (query) => {
      await this.#lockAlone(query, run);
      await query(
        `update ${urls} set rank = null where rank is not null
           and host in (select id from ${hosts} where collection = $1 and queued > 0)`,
        [run.collection],
      );
      await query(`update ${hosts} set queued = 0 where collection = $1 and queued > 0`, [run.collection]);
      await query(`update ${crawls} set state = 'dropped' where number = $1`, [run.number]);
    });
  }

  /** Locks a run, and fails if any crawler works on it. */
  async #lockAlone(query: Query, { number, collection }: CrawlRun): Promise<void> {
    const { crawls, crawlers } = this.#tables;
    await query(`select 1 from ${crawls} where number = $1 for update`, [number]);
    await query(
      `update ${crawlers} set is_gone = true, gone_at = expires
       where run = $1 and not is_gone and expires < clock_timestamp()`,
      [number],
    );
    const living = await query(`select 1 from ${crawlers} where run = $1 and not is_gone`, [number]);
    if (living.length > 0)
      throw new PinakesError('CRAWL_RUNNING', { where: collection, detail: `help it with --join ${number}` });
  }

  async frontier(run: CrawlRun, isResumed: boolean): Promise<Frontier> {
    const [row] = await this.#query(
      `select state, is_resumed, extract(epoch from clock_timestamp() - resumed_at) * 1000 as elapsed
       from ${this.#tables.crawls} where number = $1`,
      [run.number],
    );
    if (row?.state !== 'running')
      throw new PinakesError('CRAWL_NOT_RUNNING', { where: String(run.number), detail: String(row?.state) });
    return PostgresFrontier.open({
      database: this.#database,
      tables: this.#tables,
      run,
      isResumed: isResumed || row.is_resumed === true,
      elapsedMs: Math.max(0, Number(row.elapsed)),
      clock: this.#clock,
    });
  }

  async schedules(): Promise<Schedule[]> {
    return (await this.#query(`select *, ${IS_CLAIMED} as is_claimed from ${this.#tables.schedules} order by due`)).map(
      scheduleOf,
    );
  }

  async putSchedule({
    collection,
    every,
    seeds,
    settings,
    due,
  }: Parameters<CrawlState['putSchedule']>[0]): Promise<Schedule> {
    const [row] = await this.#query(
      `insert into ${this.#tables.schedules} (collection, every, seeds, settings, due) values ($1, $2, $3, $4, $5)
       on conflict (collection) do update set every = excluded.every, seeds = excluded.seeds,
         settings = excluded.settings, due = excluded.due, last = null returning *, false as is_claimed`,
      [collection, every, JSON.stringify(seeds), JSON.stringify(settings), due],
    );
    return scheduleOf(row!);
  }

  async removeSchedule(collection: string): Promise<boolean> {
    const removed = await this.#query(`delete from ${this.#tables.schedules} where collection = $1 returning 1`, [
      collection,
    ]);
    return removed.length > 0;
  }

  async claimDue(collection: string, isEarly = false): Promise<DueClaim | undefined> {
    const { schedules } = this.#tables;
    const [row] = await this.#query(
      `update ${schedules} set claimed_by = gen_random_uuid()::text,
         claimed_until = clock_timestamp() + $3 * interval '1 millisecond'
       where collection = $1 and not ${IS_CLAIMED} and ($2 or due <= ${NOW_MS})
       returning *, true as is_claimed`,
      [collection, isEarly, CLAIM_MS],
    );
    return row && this.#claimOf(row);
  }

  #claimOf(row: Row): DueClaim {
    const { schedules } = this.#tables;
    const holder = [row.collection, row.claimed_by];
    const ending = new AbortController();
    const renew = async () => {
      for (;;) {
        await setTimeout(CLAIM_AGAIN_MS, undefined, { signal: ending.signal, ref: false });
        await this.#query(
          `update ${schedules} set claimed_until = clock_timestamp() + $3 * interval '1 millisecond'
           where collection = $1 and claimed_by = $2`,
          [...holder, CLAIM_MS],
        ).catch(() => {});
      }
    };
    // It ends with the signal.
    renew().catch(() => {});
    const giveUp = async () => {
      ending.abort();
      await this.#query(
        `update ${schedules} set claimed_by = null, claimed_until = null where collection = $1 and claimed_by = $2`,
        holder,
      );
    };
    const settle = async (due: EpochMs, last: EpochMs | undefined) => {
      ending.abort();
      await this.#query(
        `update ${schedules} set due = $3, last = coalesce($4, last), claimed_by = null, claimed_until = null
         where collection = $1 and claimed_by = $2 and every = $5`,
        [...holder, due, last ?? null, row.every],
      );
    };
    return { schedule: scheduleOf(row), settle, giveUp };
  }

  async robots(origins: readonly string[]): Promise<Map<string, RobotsFile>> {
    const rows = await this.#query(
      `select origin, fetched, verdict, body from ${this.#tables.robots} where origin = any($1::text[])`,
      [origins],
    );
    return new Map(
      rows.map(({ origin, fetched, verdict, body }) => [
        String(origin),
        { fetched: Number(fetched), verdict: verdict as RobotsVerdict, body: body as Uint8Array },
      ]),
    );
  }

  async putRobots(origin: string, { verdict, body, fetched }: RobotsFile): Promise<void> {
    const { robots } = this.#tables;
    await this.#query(
      `insert into ${robots} values ($1, $2, $3, $4) on conflict (origin) do update
         set fetched = excluded.fetched, verdict = excluded.verdict, body = excluded.body`,
      [origin, fetched, verdict, Buffer.from(body)],
    );
    // Many such steps delete all expired files.
    await this.#query(
      `delete from ${robots} where abs(fetched - $2) > ${ROBOTS_FRESH_MS}
         and origin in (select origin from ${robots} where origin > $1 order by origin limit 4)`,
      [origin, fetched],
    );
  }

  async close(): Promise<void> {}
}

const NOW_MS = '(extract(epoch from clock_timestamp()) * 1000)';
const IS_CLAIMED = 'coalesce(claimed_until > clock_timestamp(), false)';

function runOf(row: Row): CrawlRun {
  return {
    number: Number(row.number),
    collection: String(row.collection),
    kind: row.kind as RunKind,
    state: row.state as CrawlRunState,
    seeds: JSON.parse(String(row.seeds)) as string[],
    movedSeeds: JSON.parse(String(row.moved_seeds)) as string[],
    settings: { ...CRAWL_DEFAULTS, ...(JSON.parse(String(row.settings)) as Partial<CrawlSettings>) },
    startedAt: Number(row.started),
    endedAt: row.ended === null ? undefined : Number(row.ended),
    counts: row.is_begun === true ? zeroCounts() : undefined,
    report: typeof row.report === 'string' ? (JSON.parse(row.report) as CrawlReport) : undefined,
  };
}

function scheduleOf(row: Row): Schedule {
  return {
    collection: String(row.collection),
    every: String(row.every),
    seeds: JSON.parse(String(row.seeds)) as string[],
    settings: JSON.parse(String(row.settings)) as Partial<CrawlSettings>,
    due: Number(row.due),
    last: row.last === null ? undefined : Number(row.last),
    isClaimed: row.is_claimed === true,
  };
}
