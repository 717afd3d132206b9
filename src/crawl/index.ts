/** crawl: frontier, politeness, robots, fetching, recrawls, schedules. The only room that goes out to the web. */
export { isPublicAddress } from './address-policy.ts';
export { changeLikelihood, changeRate } from './change-rate.ts';
export { crawl, recrawl, resumeCrawl } from './crawl.ts';
export { type EmulateOptions, type EmulateReport, emulate } from './emulator.ts';
export type { Exchange, FailureReason, Fetcher, FetchFailure, FetchRequest, Truncation } from './exchange.ts';
export { FETCH_DEFAULTS, type FetchSettings } from './fetch-settings.ts';
export { HttpFetcher } from './http-fetcher.ts';
export { nextTime } from './recurrence.ts';
export { type CrawlCounts, type CrawlReport, hasReachedNothing } from './report.ts';
export { RobotsRules } from './robots-rules.ts';
export { type Run, type RunState, runsOf } from './run.ts';
export { dueCrawls, putSchedule, removeSchedule, runScheduled, type Schedule, schedules } from './schedule.ts';
export {
  type BrowserUse,
  CRAWL_DEFAULTS,
  type CrawlOptions,
  type CrawlProgress,
  type CrawlSettings,
  type GonePolicy,
  type ScopeKind,
  UNBOUNDED,
} from './settings.ts';
export { CrawlState } from './state.ts';
