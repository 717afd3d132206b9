/**
 * Repeated crawls. The state of an archive says when each is due. The process that keeps the archive open (the server,
 * or `crawl --due`) asks which are due and runs them.
 */
import type { Archive } from '../archive/index.ts';
import type { EpochMs } from '../base/index.ts';
import { crawl, recrawl, seedUrls } from './crawl.ts';
import { nextTime } from './frontier/recurrence.ts';
import { Scope } from './frontier/scope.ts';
import { CrawlState } from './frontier/state.ts';
import { type CrawlReport, hasReachedNothing } from './report.ts';
import { lastFirstRun, runsOf } from './run.ts';
import { CRAWL_DEFAULTS, type CrawlOptions, type CrawlSettings } from './settings.ts';

/** A crawl that reached nothing is tried again after this time. A laptop that just woke up may have no network yet. */
const TRY_AGAIN_MS = 60 * 60 * 1000;

export type Schedule = {
  readonly collection: string;
  /** The recurrence as the user wrote it: `day`, `6h`, `0 3 * * 1`. */
  readonly every: string;
  readonly seeds: readonly string[];
  readonly settings: Partial<CrawlSettings>;
  readonly due: EpochMs;
  /** The end of the last crawl. A crawl that reached nothing does not count. */
  readonly last: EpochMs | undefined;
};

type ScheduleRow = {
  collection: string;
  every: string;
  seeds: string;
  settings: string;
  due: number;
  last: number | null;
};

function scheduleOf(row: ScheduleRow): Schedule {
  return {
    collection: row.collection,
    every: row.every,
    seeds: JSON.parse(row.seeds) as string[],
    settings: JSON.parse(row.settings) as Partial<CrawlSettings>,
    due: row.due,
    last: row.last ?? undefined,
  };
}

function withState<T>(archive: Archive, work: (state: CrawlState) => T): T {
  const state = CrawlState.open(archive.directory);
  try {
    return work(state);
  } finally {
    state.close();
  }
}

/**
 * Sets the schedule of a collection, or replaces it. Seeds are needed unless the collection was crawled before. The
 * first run is at the next matching time.
 */
export function putSchedule(
  archive: Archive,
  { collection, every, seeds, settings }: Pick<Schedule, 'collection' | 'every' | 'seeds' | 'settings'>,
): Schedule {
  const due = nextTime(every, archive.clock());
  // Refuse settings that can never work while the user can see the error.
  archive.collections.check(collection);
  new Scope({ ...CRAWL_DEFAULTS, ...settings }, seedUrls(seeds));
  return withState(archive, (state) => {
    if (seeds.length === 0) lastFirstRun(state, collection);
    state.run(
      'INSERT OR REPLACE INTO schedule (collection, every, seeds, settings, due) VALUES (?, ?, ?, ?, ?)',
      collection,
      every,
      JSON.stringify(seeds),
      JSON.stringify({ ...settings, collection }),
      due,
    );
    return scheduleOf(state.get<ScheduleRow>('SELECT * FROM schedule WHERE collection = ?', collection)!);
  });
}

/** Returns whether the collection had a schedule. */
export function removeSchedule(archive: Archive, collection: string): boolean {
  return withState(archive, (state) => state.run('DELETE FROM schedule WHERE collection = ?', collection) > 0);
}

export function schedules(archive: Archive): Schedule[] {
  if (!CrawlState.exists(archive.directory)) return [];
  return withState(archive, (state) => state.all<ScheduleRow>('SELECT * FROM schedule ORDER BY due').map(scheduleOf));
}

/** Schedules that are due. The longest overdue comes first. */
export function dueCrawls(archive: Archive): Schedule[] {
  const now = archive.clock();
  return schedules(archive).filter(({ due }) => due <= now);
}

/**
 * Runs a scheduled crawl: from its seeds the first time, afterwards as a recrawl. The next due time is set when the
 * crawl ends, so a killed crawl is still due and is resumed. A crawl that reached nothing is due again after
 * TRY_AGAIN_MS, and `last` stays as it was.
 */
export async function runScheduled(
  archive: Archive,
  schedule: Schedule,
  options: CrawlOptions = {},
): Promise<CrawlReport> {
  const { collection, seeds, settings, every } = schedule;
  const isKnown = withState(archive, (state) => runsOf(state, collection, 1).length > 0);
  const report = isKnown
    ? await recrawl(archive, collection, settings, options)
    : await crawl(archive, seeds, settings, options);
  if (report.outcome === 'interrupted') return report;
  const now = archive.clock();
  const next = nextTime(every, now);
  const hasFailed = hasReachedNothing(report);
  withState(archive, (state) =>
    state.run(
      'UPDATE schedule SET due = ?, last = coalesce(?, last) WHERE collection = ? AND every = ?',
      hasFailed ? Math.min(next, now + TRY_AGAIN_MS) : next,
      hasFailed ? null : now,
      collection,
      every,
    ),
  );
  return report;
}
