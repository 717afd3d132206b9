/** Begins, resumes and ends the runs of crawls, and stores a row for each run. */
import { type EpochMs, PinakesError } from '../base/index.ts';
import { Frontier } from './frontier/frontier.ts';
import type { CrawlState } from './frontier/state.ts';
import type { CrawlCounts, CrawlReport } from './report.ts';
import { CRAWL_DEFAULTS, type CrawlSettings } from './settings.ts';

/** `first`: a crawl from seeds along links. `again`: a recrawl of known URLs, and of new links on changed pages. */
export type RunKind = 'first' | 'again';

/** `running`: also when the process of the run died. `limited`: a limit was reached while URLs were queued. */
export type CrawlRunState = 'running' | 'interrupted' | 'limited' | 'done' | 'dropped';

export type CrawlRun = {
  readonly number: number;
  readonly collection: string;
  readonly kind: RunKind;
  readonly state: CrawlRunState;
  readonly seeds: readonly string[];
  /** The URLs that seeds redirected to. */
  readonly movedSeeds: readonly string[];
  readonly settings: CrawlSettings;
  readonly startedAt: EpochMs;
  readonly endedAt: EpochMs | undefined;
  readonly counts: CrawlCounts | undefined;
  readonly report: CrawlReport | undefined;
};

type RunRow = {
  number: number;
  collection: string;
  kind: RunKind;
  state: CrawlRunState;
  seeds: string;
  settings: string;
  started: number;
  ended: number | null;
  counts: string | null;
  report: string | null;
};

function runOf(row: RunRow): CrawlRun {
  const { given, grown } = JSON.parse(row.seeds) as { given: string[]; grown: string[] };
  return {
    number: row.number,
    collection: row.collection,
    kind: row.kind,
    state: row.state,
    seeds: given,
    movedSeeds: grown,
    settings: { ...CRAWL_DEFAULTS, ...(JSON.parse(row.settings) as Partial<CrawlSettings>) },
    startedAt: row.started,
    endedAt: row.ended ?? undefined,
    counts: row.counts === null ? undefined : (JSON.parse(row.counts) as CrawlCounts),
    report: row.report === null ? undefined : (JSON.parse(row.report) as CrawlReport),
  };
}

/** The runs of a collection, or of all collections. The latest run comes first. */
export function runsOf(state: CrawlState, collection?: string, count = 100): CrawlRun[] {
  const rows =
    collection === undefined
      ? state.all<RunRow>('SELECT * FROM crawl ORDER BY number DESC LIMIT ?', count)
      : state.all<RunRow>('SELECT * FROM crawl WHERE collection = ? ORDER BY number DESC LIMIT ?', collection, count);
  return rows.map(runOf);
}

/** The last run, if it has URLs left. */
export function unfinishedRun(state: CrawlState, collection: string): CrawlRun | undefined {
  const [last] = runsOf(state, collection, 1);
  return last && last.state !== 'done' && last.state !== 'dropped' ? last : undefined;
}

export function beginRun(
  state: CrawlState,
  kind: RunKind,
  seeds: readonly string[],
  settings: CrawlSettings,
  now: EpochMs,
): CrawlRun {
  state.run(
    "INSERT INTO crawl (collection, kind, state, seeds, settings, started) VALUES (?, ?, 'running', ?, ?, ?)",
    settings.collection,
    kind,
    JSON.stringify({ given: seeds, grown: [] }),
    JSON.stringify(settings),
    now,
  );
  return runsOf(state, settings.collection, 1)[0]!;
}

/** Resumes an interrupted run. Its settings may differ from those it began with. */
export function resumeRun(state: CrawlState, run: CrawlRun, settings: CrawlSettings): CrawlRun {
  state.run(
    "UPDATE crawl SET state = 'running', settings = ?, ended = NULL WHERE number = ?",
    JSON.stringify(settings),
    run.number,
  );
  return { ...run, state: 'running', settings };
}

/** Drops the queue of an unfinished run. Its captures stay. */
export function dropRun(state: CrawlState, run: CrawlRun): void {
  new Frontier(state, { collection: run.collection, run: run.number, urlsPerHostMax: 0 }).clearQueue();
  state.run("UPDATE crawl SET state = 'dropped' WHERE number = ?", run.number);
}

export function saveMovedSeeds(state: CrawlState, run: CrawlRun, grown: readonly string[]): void {
  state.run('UPDATE crawl SET seeds = ? WHERE number = ?', JSON.stringify({ given: run.seeds, grown }), run.number);
}

export function saveCounts(state: CrawlState, run: CrawlRun, counts: CrawlCounts): void {
  state.run('UPDATE crawl SET counts = ? WHERE number = ?', JSON.stringify(counts), run.number);
}

export function endRun(state: CrawlState, run: CrawlRun, report: CrawlReport, ended: EpochMs): void {
  state.run(
    'UPDATE crawl SET state = ?, counts = ?, report = ?, ended = ? WHERE number = ?',
    report.outcome,
    JSON.stringify(report.counts),
    JSON.stringify(report),
    ended,
    run.number,
  );
}

/** The last run of a collection. Throws if the collection was never crawled. */
export function lastRun(state: CrawlState, collection: string): CrawlRun {
  const [last] = runsOf(state, collection, 1);
  if (!last) throw new PinakesError('CRAWL_UNKNOWN', { where: collection });
  return last;
}

/** The last run from seeds, whose settings recrawls use. Settings of a recrawl apply to that recrawl only. */
export function lastFirstRun(state: CrawlState, collection: string): CrawlRun {
  const row = state.get<RunRow>(
    "SELECT * FROM crawl WHERE collection = ? AND kind = 'first' ORDER BY number DESC LIMIT 1",
    collection,
  );
  if (!row) throw new PinakesError('CRAWL_UNKNOWN', { where: collection });
  return runOf(row);
}

/** The seeds of all crawls of a collection, with the URLs they redirected to. */
export function allSeeds(state: CrawlState, collection: string): string[] {
  const rows = state.all<RunRow>("SELECT * FROM crawl WHERE collection = ? AND kind = 'first'", collection);
  return rows.map(runOf).flatMap(({ seeds, movedSeeds }) => [...seeds, ...movedSeeds]);
}
