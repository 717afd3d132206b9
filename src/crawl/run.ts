/** The runs of crawls. */
import type { EpochMs } from '../base/index.ts';
import type { CrawlCounts, CrawlReport } from './report.ts';
import type { CrawlSettings } from './settings.ts';

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

/** Whether a run has URLs left that can be visited. */
export function isUnfinished({ state }: CrawlRun): boolean {
  return state !== 'done' && state !== 'dropped';
}
