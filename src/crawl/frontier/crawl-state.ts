/** What an archive knows of its crawls: runs, schedules, robots.txt files, and the frontier of each run. */
import type { EpochMs } from '../../base/index.ts';
import type { CrawlRun, RunKind } from '../run.ts';
import type { CrawlSettings } from '../settings.ts';
import type { Frontier } from './frontier.ts';

export type RobotsVerdict = 'rules' | 'allow' | 'forbid';

/** How long a robots.txt file is fresh (RFC 9309, 2.4). */
export const ROBOTS_FRESH_MS = 24 * 3600_000;

export type RobotsFile = { readonly verdict: RobotsVerdict; readonly body: Uint8Array; readonly fetched: EpochMs };

export type Schedule = {
  readonly collection: string;
  /** The recurrence as the user wrote it: `day`, `6h`, `0 3 * * 1`. */
  readonly every: string;
  readonly seeds: readonly string[];
  readonly settings: Partial<CrawlSettings>;
  readonly due: EpochMs;
  /** The end of the last crawl. A crawl that reached nothing does not count. */
  readonly last: EpochMs | undefined;
  /** Whether a process runs the crawl. */
  readonly isClaimed: boolean;
};

/** The right to run a scheduled crawl that is due. It is renewed until it is settled or given up. */
export type DueClaim = {
  readonly schedule: Schedule;
  /** Sets when the crawl is due again; `last` stays if it is undefined. */
  settle(due: EpochMs, last: EpochMs | undefined): Promise<void>;
  /** Gives the crawl up. It stays due. */
  giveUp(): Promise<void>;
};

export type NewRun = {
  readonly kind: RunKind;
  readonly seeds: readonly string[];
  readonly movedSeeds: readonly string[];
  readonly settings: CrawlSettings;
};

export interface CrawlState {
  /** Whether several processes may work on one run. */
  readonly isShared: boolean;
  /** The time by which schedules are due. */
  now(): Promise<EpochMs>;
  /** The runs of a collection, or of all collections. The latest run comes first. */
  runs(collection: string | undefined, count: number): Promise<CrawlRun[]>;
  run(number: number): Promise<CrawlRun | undefined>;
  /** The last run from seeds, whose settings recrawls use. */
  lastFirstRun(collection: string): Promise<CrawlRun | undefined>;
  /** The seeds of all crawls of a collection, with the URLs they redirected to. */
  allSeeds(collection: string): Promise<string[]>;
  /** Fails if another process works on the last run of the collection. */
  begin(run: NewRun): Promise<CrawlRun>;
  /** Resumes a run, maybe with other settings. Fails if another process works on it. */
  resume(run: CrawlRun, settings: CrawlSettings): Promise<CrawlRun>;
  /** Drops the queue of an unfinished run. Its captures stay. Fails if another process works on it. */
  drop(run: CrawlRun): Promise<void>;
  /** Works on a run. `isResumed`: whether an earlier process queued URLs, some of which it may have visited. */
  frontier(run: CrawlRun, isResumed: boolean): Promise<Frontier>;

  schedules(): Promise<Schedule[]>;
  putSchedule(schedule: Omit<Schedule, 'last' | 'isClaimed'>): Promise<Schedule>;
  /** Returns whether the collection had a schedule. */
  removeSchedule(collection: string): Promise<boolean>;
  /** Claims the crawl of a collection, if it is due and no other claim holds. `isEarly`: also before it is due. */
  claimDue(collection: string, isEarly?: boolean): Promise<DueClaim | undefined>;

  robots(origins: readonly string[]): Promise<ReadonlyMap<string, RobotsFile>>;
  putRobots(origin: string, file: RobotsFile): Promise<void>;

  close(): Promise<void>;
}
