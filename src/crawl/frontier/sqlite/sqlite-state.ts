/** The state of crawls in `crawl.sqlite`, for the process that owns the archive. */
import type { Clock, EpochMs } from '../../../base/index.ts';
import type { CrawlRun } from '../../run.ts';
import type { CrawlSettings } from '../../settings.ts';
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
import { CrawlFile } from './crawl-file.ts';
import { allSeeds, beginRun, dropRun, lastFirstRun, resumeRun, runOfNumber, runsOf } from './run-rows.ts';
import { SqliteFrontier } from './sqlite-frontier.ts';

/**
 * Deletes expired files of the next few origins in the table. Many such steps delete all expired files, so the whole
 * table need not be scanned.
 */
const FORGET_SOME = `DELETE FROM robots WHERE origin IN
  (SELECT origin FROM (SELECT origin, fetched FROM robots WHERE origin > ? ORDER BY origin LIMIT 4) WHERE abs(fetched - ?) > ${ROBOTS_FRESH_MS})`;

type ScheduleRow = {
  collection: string;
  every: string;
  seeds: string;
  settings: string;
  due: number;
  last: number | null;
};

function scheduleOf(row: ScheduleRow, isClaimed = false): Schedule {
  return {
    collection: row.collection,
    every: row.every,
    seeds: JSON.parse(row.seeds) as string[],
    settings: JSON.parse(row.settings) as Partial<CrawlSettings>,
    due: row.due,
    last: row.last ?? undefined,
    isClaimed,
  };
}

export class SqliteState implements CrawlState {
  readonly isShared = false;
  readonly #file: CrawlFile;
  readonly #clock: Clock;
  readonly #claimed: Set<string>;

  constructor(directory: string, clock: Clock) {
    this.#file = CrawlFile.open(directory);
    this.#clock = clock;
    this.#claimed = CLAIMED.get(directory) ?? new Set();
    CLAIMED.set(directory, this.#claimed);
  }

  async now(): Promise<EpochMs> {
    return this.#clock();
  }

  async runs(collection: string | undefined, count: number): Promise<CrawlRun[]> {
    return runsOf(this.#file, collection, count);
  }

  async run(number: number): Promise<CrawlRun | undefined> {
    return runOfNumber(this.#file, number);
  }

  async lastFirstRun(collection: string): Promise<CrawlRun | undefined> {
    return lastFirstRun(this.#file, collection);
  }

  async allSeeds(collection: string): Promise<string[]> {
    return allSeeds(this.#file, collection);
  }

  async begin(run: NewRun): Promise<CrawlRun> {
    return beginRun(this.#file, run, this.#clock());
  }

  async resume(run: CrawlRun, settings: CrawlSettings): Promise<CrawlRun> {
    return resumeRun(this.#file, run, settings);
  }

  async drop(run: CrawlRun): Promise<void> {
    dropRun(this.#file, run);
  }

  async frontier(run: CrawlRun, isResumed: boolean): Promise<Frontier> {
    return new SqliteFrontier(this.#file, run, this.#clock, isResumed);
  }

  async schedules(): Promise<Schedule[]> {
    const rows = this.#file.all<ScheduleRow>('SELECT * FROM schedule ORDER BY due');
    return rows.map((row) => scheduleOf(row, this.#claimed.has(row.collection)));
  }

  async putSchedule({
    collection,
    every,
    seeds,
    settings,
    due,
  }: Parameters<CrawlState['putSchedule']>[0]): Promise<Schedule> {
    this.#file.run(
      'INSERT OR REPLACE INTO schedule (collection, every, seeds, settings, due) VALUES (?, ?, ?, ?, ?)',
      collection,
      every,
      JSON.stringify(seeds),
      JSON.stringify(settings),
      due,
    );
    return scheduleOf(this.#file.get<ScheduleRow>('SELECT * FROM schedule WHERE collection = ?', collection)!);
  }

  async removeSchedule(collection: string): Promise<boolean> {
    return this.#file.run('DELETE FROM schedule WHERE collection = ?', collection) > 0;
  }

  async claimDue(collection: string, isEarly = false): Promise<DueClaim | undefined> {
    const row = this.#file.get<ScheduleRow>('SELECT * FROM schedule WHERE collection = ?', collection);
    if (!row || (row.due > this.#clock() && !isEarly) || this.#claimed.has(collection)) return undefined;
    this.#claimed.add(collection);
    const giveUp = async () => {
      this.#claimed.delete(collection);
    };
    const settle = async (due: EpochMs, last: EpochMs | undefined) => {
      this.#file.run(
        'UPDATE schedule SET due = ?, last = coalesce(?, last) WHERE collection = ? AND every = ?',
        due,
        last ?? null,
        collection,
        row.every,
      );
      await giveUp();
    };
    return { schedule: scheduleOf(row, true), settle, giveUp };
  }

  async robots(origins: readonly string[]): Promise<Map<string, RobotsFile>> {
    const files = new Map<string, RobotsFile>();
    for (const origin of origins) {
      const row = this.#file.get<{ fetched: number; verdict: RobotsVerdict; body: Uint8Array }>(
        'SELECT fetched, verdict, body FROM robots WHERE origin = ?',
        origin,
      );
      if (row) files.set(origin, row);
    }
    return files;
  }

  async putRobots(origin: string, { verdict, body, fetched }: RobotsFile): Promise<void> {
    this.#file.run(
      'INSERT OR REPLACE INTO robots (origin, fetched, verdict, body) VALUES (?, ?, ?, ?)',
      origin,
      fetched,
      verdict,
      body,
    );
    this.#file.run(FORGET_SOME, origin, fetched);
  }

  async close(): Promise<void> {
    this.#file.close();
  }
}

/** Collections whose scheduled crawl runs in this process, by the directory of their archive. */
const CLAIMED = new Map<string, Set<string>>();
