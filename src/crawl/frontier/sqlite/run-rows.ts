/** The rows of runs in `crawl.sqlite`. */
import type { EpochMs } from '../../../base/index.ts';
import type { CrawlCounts, CrawlReport } from '../../report.ts';
import type { CrawlRun, CrawlRunState, RunKind } from '../../run.ts';
import { CRAWL_DEFAULTS, type CrawlSettings } from '../../settings.ts';
import type { NewRun } from '../crawl-state.ts';
import type { CrawlFile } from './crawl-file.ts';

export type RunRow = {
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
export function runsOf(file: CrawlFile, collection: string | undefined, count: number): CrawlRun[] {
  const rows =
    collection === undefined
      ? file.all<RunRow>('SELECT * FROM crawl ORDER BY number DESC LIMIT ?', count)
      : file.all<RunRow>('SELECT * FROM crawl WHERE collection = ? ORDER BY number DESC LIMIT ?', collection, count);
  return rows.map(runOf);
}

export function runOfNumber(file: CrawlFile, number: number): CrawlRun | undefined {
  const row = file.get<RunRow>('SELECT * FROM crawl WHERE number = ?', number);
  return row && runOf(row);
}

export function beginRun(file: CrawlFile, { kind, seeds, movedSeeds, settings }: NewRun, now: EpochMs): CrawlRun {
  file.run(
    "INSERT INTO crawl (collection, kind, state, seeds, settings, started) VALUES (?, ?, 'running', ?, ?, ?)",
    settings.collection,
    kind,
    JSON.stringify({ given: seeds, grown: movedSeeds }),
    JSON.stringify(settings),
    now,
  );
  return runsOf(file, settings.collection, 1)[0]!;
}

export function resumeRun(file: CrawlFile, run: CrawlRun, settings: CrawlSettings): CrawlRun {
  file.run(
    "UPDATE crawl SET state = 'running', settings = ?, ended = NULL WHERE number = ?",
    JSON.stringify(settings),
    run.number,
  );
  return { ...run, state: 'running', settings };
}

/** Drops the queue of an unfinished run. */
export function dropRun(file: CrawlFile, { collection, number }: CrawlRun): void {
  file.transaction(() => {
    file.run('DELETE FROM queue WHERE host IN (SELECT id FROM host WHERE collection = ?)', collection);
    file.run('UPDATE host SET queued = 0 WHERE collection = ?', collection);
    file.run("UPDATE crawl SET state = 'dropped' WHERE number = ?", number);
  });
}

export function saveMovedSeeds(file: CrawlFile, run: CrawlRun, grown: readonly string[]): void {
  file.run('UPDATE crawl SET seeds = ? WHERE number = ?', JSON.stringify({ given: run.seeds, grown }), run.number);
}

export function saveCounts(file: CrawlFile, run: CrawlRun, counts: CrawlCounts): void {
  file.run('UPDATE crawl SET counts = ? WHERE number = ?', JSON.stringify(counts), run.number);
}

export function endRun(file: CrawlFile, run: CrawlRun, report: CrawlReport, ended: EpochMs): void {
  file.run(
    'UPDATE crawl SET state = ?, counts = ?, report = ?, ended = ? WHERE number = ?',
    report.outcome,
    JSON.stringify(report.counts),
    JSON.stringify(report),
    ended,
    run.number,
  );
}

/** The last run from seeds. */
export function lastFirstRun(file: CrawlFile, collection: string): CrawlRun | undefined {
  const row = file.get<RunRow>(
    "SELECT * FROM crawl WHERE collection = ? AND kind = 'first' ORDER BY number DESC LIMIT 1",
    collection,
  );
  return row && runOf(row);
}

/** The seeds of all crawls of a collection, with the URLs they redirected to. */
export function allSeeds(file: CrawlFile, collection: string): string[] {
  const rows = file.all<RunRow>("SELECT * FROM crawl WHERE collection = ? AND kind = 'first'", collection);
  return rows.map(runOf).flatMap(({ seeds, movedSeeds }) => [...seeds, ...movedSeeds]);
}
