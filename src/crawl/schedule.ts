/**
 * Repeated crawls. The state of an archive says when each is due. The processes that keep the archive open (servers, or
 * `crawl --due`) ask which are due and run them. One process claims a crawl that is due. If it dies, another claims the
 * crawl and resumes it.
 */
import type { Archive } from '../archive/index.ts';
import { PinakesError } from '../base/index.ts';
import { crawl, recrawl, seedUrls } from './crawl.ts';
import { hasCrawlState, withCrawlState } from './crawl-states.ts';
import type { DueClaim, Schedule } from './frontier/crawl-state.ts';
import { nextTime } from './frontier/recurrence.ts';
import { Scope } from './frontier/scope.ts';
import { type CrawlReport, hasReachedNothing } from './report.ts';
import { CRAWL_DEFAULTS, type CrawlOptions } from './settings.ts';

/** A crawl that reached nothing is tried again after this time. A laptop that just woke up may have no network yet. */
const TRY_AGAIN_MS = 60 * 60 * 1000;

/**
 * Sets the schedule of a collection, or replaces it. Seeds are needed unless the collection was crawled before. The
 * first run is at the next matching time.
 */
export async function putSchedule(
  archive: Archive,
  { collection, every, seeds, settings }: Pick<Schedule, 'collection' | 'every' | 'seeds' | 'settings'>,
): Promise<Schedule> {
  // Refuse settings that can never work while the user can see the error.
  nextTime(every, archive.clock());
  archive.collections.check(collection);
  new Scope({ ...CRAWL_DEFAULTS, ...settings }, seedUrls(seeds));
  return withCrawlState(archive, async (state) => {
    if (seeds.length === 0 && !(await state.lastFirstRun(collection)))
      throw new PinakesError('CRAWL_UNKNOWN', { where: collection });
    const due = nextTime(every, await state.now());
    return state.putSchedule({ collection, every, seeds, settings: { ...settings, collection }, due });
  });
}

/** Returns whether the collection had a schedule. */
export function removeSchedule(archive: Archive, collection: string): Promise<boolean> {
  return withCrawlState(archive, (state) => state.removeSchedule(collection));
}

export async function schedules(archive: Archive): Promise<Schedule[]> {
  if (!hasCrawlState(archive)) return [];
  return withCrawlState(archive, (state) => state.schedules());
}

/** Schedules that are due. The longest overdue comes first. */
export async function dueCrawls(archive: Archive): Promise<Schedule[]> {
  if (!hasCrawlState(archive)) return [];
  return withCrawlState(archive, async (state) => {
    const now = await state.now();
    return (await state.schedules()).filter(({ due, isClaimed }) => due <= now && !isClaimed);
  });
}

/**
 * Runs a scheduled crawl: from its seeds the first time, afterwards as a recrawl. Returns undefined when another
 * process runs it. `isEarly`: also when it is not due. The next due time is set when the crawl ends, so a killed crawl
 * is still due and is resumed. A crawl that reached nothing is due again after TRY_AGAIN_MS, and `last` stays.
 */
export async function runScheduled(
  archive: Archive,
  collection: string,
  options: CrawlOptions = {},
  isEarly = false,
): Promise<CrawlReport | undefined> {
  return withCrawlState(archive, async (state) => {
    const claim = await state.claimDue(collection, isEarly);
    if (!claim) return undefined;
    try {
      return await runClaimed(archive, claim, options, async () => ({
        isKnown: (await state.runs(collection, 1)).length > 0,
        now: await state.now(),
      }));
    } finally {
      await claim.giveUp();
    }
  });
}

async function runClaimed(
  archive: Archive,
  claim: DueClaim,
  options: CrawlOptions,
  look: () => Promise<{ readonly isKnown: boolean; readonly now: number }>,
): Promise<CrawlReport> {
  const { collection, seeds, settings, every } = claim.schedule;
  const report = (await look()).isKnown
    ? await recrawl(archive, collection, settings, options)
    : await crawl(archive, seeds, settings, options);
  if (report.outcome === 'interrupted') return report;
  const { now } = await look();
  const next = nextTime(every, now);
  const hasFailed = hasReachedNothing(report);
  await claim.settle(hasFailed ? Math.min(next, now + TRY_AGAIN_MS) : next, hasFailed ? undefined : now);
  return report;
}
