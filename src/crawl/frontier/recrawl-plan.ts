/**
 * Chooses the known URLs that a recrawl of a collection visits.
 *
 * First come URLs that the last crawl could not verify, or that its limit left unvisited. Gone seeds are among them,
 * because everything else depends on seeds. Then come all pages that will soon exceed their allowed lifetime, which the
 * budget does not bound. Then come other pages up to the budget, by the probability that they have changed. With
 * `fixed` all pages are visited.
 *
 * URLs that the settings of this run exclude are not visited, and their rows stay unchanged. Gone pages that are not
 * seeds are visited again when a crawl from seeds finds them, or when a gone page that links to them is back.
 */
import type { EpochMs } from '../../base/index.ts';
import { zeroCounts } from '../report.ts';
import { allSeeds, type CrawlRun, lastFirstRun, saveCounts } from '../run.ts';
import { UNBOUNDED } from '../settings.ts';
import { changeLikelihood } from './change-rate.ts';
import { RANK_STEP } from './frontier.ts';
import {
  ROLES,
  STATE_DONE,
  STATE_DROPPED,
  STATE_FORBIDDEN,
  STATE_GONE,
  STATE_QUEUED,
  STATE_UNVERIFIED,
} from './known-url.ts';
import { type KnownUrl, Scope } from './scope.ts';
import type { CrawlState } from './state.ts';

/**
 * A page counts as expiring when less than this share of its lifetime is left, since it would expire before the next
 * crawl.
 */
const EXPIRING_SHARE = 0.1;

export type RecrawlPlan = {
  readonly unverified: number;
  readonly expiring: number;
  readonly likely: number;
  /** The number of known URLs that the settings exclude. */
  readonly outOfScope: number;
};

/** Queues the pages of a recrawl in the order in which they must be visited. */
export function planRecrawl(state: CrawlState, run: CrawlRun, now: EpochMs): RecrawlPlan {
  const { settings, collection, number } = run;
  state.define<number>('change_likelihood', (visits, changes, watched, since) =>
    changeLikelihood(visits, changes, watched, since),
  );
  const isWanted = knownUrlFilter(state, run);
  state.define<number | string>('in_scope', (url, role, depth) =>
    isWanted({ url: String(url), role: ROLES[Number(role)]!, depth: Number(depth) }) ? 1 : 0,
  );
  const isInScope = 'in_scope(url.url, url.role, url.depth)';
  return state.transaction(() => {
    const queue = (
      band: number,
      where: string,
      order: string,
      limit: number,
      ...values: (number | string)[]
    ): number => {
      const count = state.run(
        `INSERT INTO queue (host, rank, key, page)
         SELECT url.host, ${band} * ${RANK_STEP} + row_number() OVER (ORDER BY ${order}), url.key, url.page
         FROM url JOIN host ON host.id = url.host
         WHERE host.collection = ? AND url.run < ? AND (${where}) AND ${isInScope} ORDER BY ${order} LIMIT ?`,
        collection,
        number,
        ...values,
        Math.min(limit, UNBOUNDED),
      );
      state.run(
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
    state.run(
      'UPDATE host SET queued = (SELECT count(*) FROM queue WHERE queue.host = host.id) WHERE collection = ?',
      collection,
    );
    saveCounts(state, run, zeroCounts());
    const { outOfScope } = state.get<{ outOfScope: number }>(
      `SELECT count(*) AS outOfScope FROM url JOIN host ON host.id = url.host
       WHERE host.collection = ? AND url.run < ? AND url.state NOT IN (${STATE_GONE}, ${STATE_DROPPED}) AND NOT ${isInScope}`,
      collection,
      number,
    )!;
    return { unverified, expiring, likely, outOfScope };
  });
}

/** The settings that limit how far a crawl goes from its seeds. */
const REACH = ['scope', 'include', 'depthMax'] as const;

/**
 * Returns a filter for the known URLs that a recrawl wants. If this recrawl has the REACH settings of the last crawl
 * from seeds, they are not applied, because other crawls of the collection found pages beyond them. If one of them was
 * changed for this recrawl, they are applied, from the seeds of all crawls.
 */
export function knownUrlFilter(state: CrawlState, run: CrawlRun): (known: KnownUrl) => boolean {
  const { settings, collection } = run;
  const last = lastFirstRun(state, collection).settings;
  const isNear = REACH.some((name) => JSON.stringify(settings[name]) !== JSON.stringify(last[name]));
  const scope = new Scope(settings, [...run.movedSeeds, ...allSeeds(state, collection)]);
  return (known) => scope.hasKnown(known, isNear);
}

/** URLs that a run found to be gone. */
export function goneUrls(state: CrawlState, run: CrawlRun): string[] {
  const rows = state.all<{ url: string }>(
    `SELECT url.url FROM url JOIN host ON host.id = url.host WHERE host.collection = ? AND url.run = ? AND url.state = ${STATE_GONE}`,
    run.collection,
    run.number,
  );
  return rows.map(({ url }) => url);
}
