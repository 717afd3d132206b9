/**
 * Queues the known URLs that a recrawl of a collection visits; see `recrawl-plan.ts` for which, and in which order. The
 * decision about each URL is kept in a table meanwhile, so that memory does not grow with their number.
 */
import { type Database, rowSet } from '../../../database/index.ts';
import type { CrawlRun } from '../../run.ts';
import { UNBOUNDED } from '../../settings.ts';
import { changeLikelihood } from '../change-rate.ts';
import {
  type Offer,
  ROLES,
  STATE_DONE,
  STATE_DROPPED,
  STATE_FORBIDDEN,
  STATE_GONE,
  STATE_QUEUED,
  STATE_UNVERIFIED,
} from '../known-url.ts';
import { RANK_STEP } from '../rank.ts';
import { EXPIRING_SHARE } from '../recrawl-plan.ts';
import type { Tables } from './tables.ts';
import { ID_COLUMNS, idOf, URL_NAMES, type UrlId, type UrlRow, urlRowOf } from './url-rows.ts';

const PAGE_SIZE = 5000;

type Planned = UrlId & { readonly band: number; readonly likelihood: number; readonly verified: number };

/** Returns how many known URLs are not wanted. */
export async function queueRecrawl(
  database: Database,
  tables: Tables,
  run: CrawlRun,
  isWanted: (known: Pick<Offer, 'url' | 'role' | 'depth'>) => boolean,
): Promise<number> {
  const [clock] = await database.query('select extract(epoch from clock_timestamp()) * 1000 as now');
  const plan = planFor(run, Number(clock!.now));
  await database.query(`delete from ${tables.recrawl_plans} where run = $1`, [run.number]);
  let outOfScope = 0;
  let after: UrlId = { host: -1, key: -1, page: -1 };
  for (;;) {
    const rows: UrlRow[] = (
      await database.query(
        `select ${URL_NAMES} from ${tables.urls} u where (u.host, u.key, u.page) > ($3, $4, $5) and u.run < $2
           and u.host in (select id from ${tables.hosts} where collection = $1)
         order by u.host, u.key, u.page limit ${PAGE_SIZE}`,
        [run.collection, run.number, after.host, after.key, after.page],
      )
    ).map(urlRowOf);
    if (rows.length === 0) break;
    after = rows.at(-1)!;
    const planned: Planned[] = [];
    for (const row of rows) {
      const isGone = row.state === STATE_GONE || row.state === STATE_DROPPED;
      const isIn = isWanted({ url: row.url, role: ROLES[row.role]!, depth: row.depth });
      if (!isIn && !isGone) outOfScope++;
      const item = isIn ? plan(row) : undefined;
      if (item) planned.push(item);
    }
    await keep(database, tables, run.number, planned);
  }
  const budget = run.settings.fixed ? UNBOUNDED : Math.min(UNBOUNDED, Math.max(0, run.settings.budget));
  await database.transact(async (query) => {
    await query(
      `update ${tables.urls} u set run = $1, state = ${STATE_QUEUED}, tries = 0, rank = p.rank
       from (select host, key, page, band, band * ${RANK_STEP} + row_number() over (partition by band order by likelihood desc, verified, host, key, page) as rank,
               row_number() over (partition by band order by likelihood desc, verified, host, key, page) as n
             from ${tables.recrawl_plans} where run = $1) p
       where u.host = p.host and u.key = p.key and u.page = p.page and (p.band < 2 or p.n <= $2)`,
      [run.number, budget],
    );
    await query(`delete from ${tables.recrawl_plans} where run = $1`, [run.number]);
    await query(
      `update ${tables.hosts} h set queued = q.queued, last_number = greatest(h.last_number, q.last)
       from (select host, count(*) as queued, max(rank % ${RANK_STEP}) as last from ${tables.urls}
             where rank is not null and host in (select id from ${tables.hosts} where collection = $1) group by host) q
       where h.id = q.host`,
      [run.collection],
    );
    await query(`update ${tables.crawls} set is_begun = true where number = $1`, [run.number]);
  });
  return outOfScope;
}

/** Decides the band of a known URL; undefined for one that is not visited. */
function planFor({ settings, seeds, movedSeeds }: CrawlRun, now: number): (row: UrlRow) => Planned | undefined {
  const allSeeds = new Set([...seeds, ...movedSeeds]);
  const unverified = new Set([STATE_UNVERIFIED, STATE_FORBIDDEN, STATE_QUEUED]);
  // Use the lifetime in the settings of this run, not in those of the last visit.
  const old = now - settings.lifetimeMs * (1 - EXPIRING_SHARE);
  return (row) => {
    const { host, key, page, state, visits, changes, watched } = row;
    const verified = row.verified ?? 0;
    const id = { host, key, page, verified, likelihood: 0 };
    if (unverified.has(state)) return { ...id, band: 0 };
    if (state === STATE_GONE || state === STATE_DROPPED) return allSeeds.has(row.url) ? { ...id, band: 0 } : undefined;
    if (state === STATE_DONE && row.verified !== null && verified <= old) return { ...id, band: 1 };
    const likelihood = settings.fixed ? 0 : changeLikelihood(visits, changes, watched, now - verified);
    return { ...id, band: 2, likelihood };
  };
}

async function keep(database: Database, { recrawl_plans: table }: Tables, run: number, rows: Planned[]): Promise<void> {
  if (rows.length === 0) return;
  const distinct = [...new Map(rows.map((row) => [idOf(row), row])).values()];
  const columns = [
    ...ID_COLUMNS,
    { name: 'band', type: 'smallint' as const, of: ({ band }: Planned) => band },
    { name: 'likelihood', type: 'text' as const, of: ({ likelihood }: Planned) => String(likelihood) },
    { name: 'verified', type: 'bigint' as const, of: ({ verified }: Planned) => verified },
  ];
  const set = rowSet('r', distinct, columns as never, 2);
  await database.query(
    `insert into ${table} (run, host, key, page, band, likelihood, verified)
     select $1, host, key, page, band, likelihood::float8, verified from ${set.table}`,
    [run, ...set.values],
  );
}
