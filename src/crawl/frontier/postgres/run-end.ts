/**
 * How crawlers leave a run, and who ends it. It is over when nothing is queued, or a limit is reached, and all other
 * living crawlers have seen this too and hold no bucket. The first to find this under the lock of the run's row ends
 * it. The others wait for the report. If that crawler dies before it has written the report, another takes its place.
 */
import { setTimeout } from 'node:timers/promises';
import type { Database, Query } from '../../../database/index.ts';
import { type CrawlCounts, type CrawlReport, sumOfCounts, zeroCounts } from '../../report.ts';
import type { CrawlRun } from '../../run.ts';
import type { CrawlerFindings, RunEnd } from '../frontier.ts';
import type { CrawlerLease } from './crawler-lease.ts';
import type { Tables } from './tables.ts';

const ASK_MS = 200;
const REPORTED_URLS_MAX = 100;

export type RunEndOptions = {
  readonly database: Database;
  readonly tables: Tables;
  readonly run: CrawlRun;
  readonly lease: CrawlerLease;
  readonly outcome: CrawlReport['outcome'];
  readonly findings: CrawlerFindings;
  readonly counts: CrawlCounts;
  /** A condition with the collection as $2: whether URLs are left that must be visited. */
  readonly anyQueued: string;
  readonly signal: AbortSignal | undefined;
};

export async function endRun(options: RunEndOptions): Promise<RunEnd> {
  const { database, tables, run, lease, findings, counts, signal } = options;
  await database.query(
    `update ${tables.crawlers} set counts = $3, pages = $4, bytes = $5, findings = $6, has_ended = true where run = $1 and id = $2`,
    [
      run.number,
      lease.id,
      JSON.stringify(counts),
      counts.pages,
      counts.bytes,
      JSON.stringify({ failedUrls: findings.failedUrls, partlyReadUrls: findings.partlyReadUrls }),
    ],
  );
  await lease.giveAllBack();
  for (;;) {
    await lease.bury();
    const end = await database.transact((query) => tryToEnd(query, options, signal?.aborted ?? false));
    if (end) return end;
    await setTimeout(ASK_MS);
  }
}

/** Returns undefined while other crawlers must be waited for. */
async function tryToEnd(
  query: Query,
  { tables, run, lease, outcome, anyQueued }: RunEndOptions,
  isAborted: boolean,
): Promise<RunEnd | undefined> {
  const [crawl] = await query(
    `select state, finisher, report, ${anyQueued} as any_queued from ${tables.crawls} where number = $1 for update`,
    [run.number, run.collection],
  );
  if (crawl!.state !== 'running') {
    if (typeof crawl!.report !== 'string') return { kind: 'left', ...(await sumOf(query, tables, run)) };
    return { kind: 'ended', report: JSON.parse(crawl!.report) as CrawlReport };
  }
  const others = await query(
    `select id, has_ended, exists (select 1 from ${tables.crawl_buckets} b
       where b.run = c.run and b.crawler = c.id and b.crawler_epoch = c.epoch) as holds
     from ${tables.crawlers} c where run = $1 and id <> $2 and not is_gone`,
    [run.number, lease.id],
  );
  if ((outcome === 'interrupted' || isAborted) && others.length > 0) {
    await query(
      `update ${tables.crawlers} set is_gone = true, gone_at = clock_timestamp() where run = $1 and id = $2`,
      [run.number, lease.id],
    );
    return { kind: 'left', ...(await sumOf(query, tables, run)) };
  }
  if (outcome !== 'interrupted' && crawl!.any_queued === true) {
    await query(`update ${tables.crawlers} set has_ended = false where run = $1 and id = $2`, [run.number, lease.id]);
    return { kind: 'unfinished' };
  }
  if (others.some(({ id, holds, has_ended }) => holds === true || has_ended !== true || id === crawl!.finisher))
    return undefined;
  await query(`update ${tables.crawls} set finisher = $2 where number = $1`, [run.number, lease.id]);
  return { kind: 'last', ...(await sumOf(query, tables, run)) };
}

/** What all crawlers of the run have counted together. */
async function sumOf(query: Query, { crawlers }: Tables, { number }: CrawlRun) {
  const rows = await query(`select counts, findings from ${crawlers} where run = $1 order by id`, [number]);
  let counts = zeroCounts();
  const failedUrls: CrawlReport['failedUrls'][number][] = [];
  const partlyReadUrls: CrawlReport['failedUrls'][number][] = [];
  for (const row of rows) {
    if (typeof row.counts === 'string') counts = sumOfCounts(counts, JSON.parse(row.counts) as CrawlCounts);
    if (typeof row.findings !== 'string') continue;
    const findings = JSON.parse(row.findings) as CrawlerFindings;
    failedUrls.push(...findings.failedUrls);
    partlyReadUrls.push(...findings.partlyReadUrls);
  }
  return {
    counts,
    failedUrls: failedUrls.slice(0, REPORTED_URLS_MAX),
    partlyReadUrls: partlyReadUrls.slice(0, REPORTED_URLS_MAX),
  };
}
