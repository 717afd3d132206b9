/**
 * Queues the known URLs that a recrawl of a collection visits; see `recrawl-plan.ts` for which, and in which order.
 */
import type { EpochMs } from '../../../base/index.ts';
import { zeroCounts } from '../../report.ts';
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
import { EXPIRING_SHARE, type RecrawlPlan } from '../recrawl-plan.ts';
import type { CrawlFile } from './crawl-file.ts';
import { saveCounts } from './run-rows.ts';

/** Queues the pages of a recrawl in the order in which they must be visited. */
export function queueRecrawl(
  file: CrawlFile,
  run: CrawlRun,
  now: EpochMs,
  isWanted: (known: Pick<Offer, 'url' | 'role' | 'depth'>) => boolean,
): RecrawlPlan {
  const { settings, collection, number } = run;
  file.define<number>('change_likelihood', (visits, changes, watched, since) =>
    changeLikelihood(visits, changes, watched, since),
  );
  file.define<number | string>('in_scope', (url, role, depth) =>
    isWanted({ url: String(url), role: ROLES[Number(role)]!, depth: Number(depth) }) ? 1 : 0,
  );
  const isInScope = 'in_scope(url.url, url.role, url.depth)';
  return file.transaction(() => {
    const queue = (
      band: number,
      where: string,
      order: string,
      limit: number,
      ...values: (number | string)[]
    ): number => {
      const count = file.run(
        `INSERT INTO queue (host, rank, key, page)
         SELECT url.host, ${band} * ${RANK_STEP} + row_number() OVER (ORDER BY ${order}), url.key, url.page
         FROM url JOIN host ON host.id = url.host
         WHERE host.collection = ? AND url.run < ? AND (${where}) AND ${isInScope} ORDER BY ${order} LIMIT ?`,
        collection,
        number,
        ...values,
        Math.min(limit, UNBOUNDED),
      );
      file.run(
        `UPDATE url SET run = ?, state = ${STATE_QUEUED}, rank = queue.rank, tries = 0 FROM queue
         WHERE queue.host = url.host AND queue.key = url.key AND queue.page = url.page AND url.run < ?
           AND url.host IN (SELECT id FROM host WHERE collection = ?)`,
        number,
        number,
        collection,
      );
      return count;
    };
    const oldest = 'coalesce(url.verified, 0), url.host, url.key, url.page';
    const unverified = queue(
      0,
      `url.state IN (${STATE_UNVERIFIED}, ${STATE_FORBIDDEN}, ${STATE_QUEUED})
         OR url.state IN (${STATE_GONE}, ${STATE_DROPPED}) AND url.url IN (SELECT value FROM json_each(?))`,
      oldest,
      UNBOUNDED,
      JSON.stringify([...run.seeds, ...run.movedSeeds]),
    );
    // Use the lifetime in the settings of this run, not in those of the last visit.
    const old = now - settings.lifetimeMs * (1 - EXPIRING_SHARE);
    const expiring = queue(1, `url.state = ${STATE_DONE} AND url.verified <= ?`, oldest, UNBOUNDED, old);
    const likelihood = `change_likelihood(url.visits, url.changes, url.watched, ${now} - coalesce(url.verified, 0)) DESC`;
    const budget = settings.fixed ? UNBOUNDED : Math.max(0, settings.budget);
    const likely = queue(
      2,
      `url.state NOT IN (${STATE_GONE}, ${STATE_DROPPED}, ${STATE_QUEUED})`,
      settings.fixed ? oldest : `${likelihood}, ${oldest}`,
      budget,
    );
    file.run(
      'UPDATE host SET queued = (SELECT count(*) FROM queue WHERE queue.host = host.id) WHERE collection = ?',
      collection,
    );
    saveCounts(file, run, zeroCounts());
    const { outOfScope } = file.get<{ outOfScope: number }>(
      `SELECT count(*) AS outOfScope FROM url JOIN host ON host.id = url.host
       WHERE host.collection = ? AND url.run < ? AND url.state NOT IN (${STATE_GONE}, ${STATE_DROPPED}) AND NOT ${isInScope}`,
      collection,
      number,
    )!;
    return { unverified, expiring, likely, outOfScope };
  });
}
