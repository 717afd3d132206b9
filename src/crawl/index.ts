/** crawl: frontier, politeness, robots, fetching, recrawls, schedules. No other room sends requests to the web. */
export { crawl, joinCrawl, recrawl, resumeCrawl } from './crawl.ts';
export { openCrawlState, withCrawlState } from './crawl-states.ts';
export { type EmulateOptions, emulate } from './emulator.ts';
export type { Exchange, FetchFailure } from './fetch/exchange.ts';
export { HttpFetcher } from './fetch/http-fetcher.ts';
export { FETCH_DEFAULTS, type FetchSettings } from './fetch-settings.ts';
export type { CrawlState, Schedule } from './frontier/crawl-state.ts';
export type { Findings, FoundUrl, Frontier, FrontierBatch, TakenUrl, WrittenBatch } from './frontier/frontier.ts';
export type { HostFacts } from './frontier/host-facts.ts';
export { type Offer, STATE_DONE, STATE_GONE, STATE_UNVERIFIED } from './frontier/known-url.ts';
export { RobotsRules } from './politeness/robots-rules.ts';
export { type CrawlReport, hasReachedNothing, zeroCounts } from './report.ts';
export type { CrawlRun } from './run.ts';
export { dueCrawls, putSchedule, removeSchedule, runScheduled, schedules } from './schedule.ts';
export {
  type BrowserUse,
  CRAWL_DEFAULTS,
  type CrawlOptions,
  type CrawlProgress,
  type CrawlSettings,
  type GonePolicy,
  type ScopeKind,
} from './settings.ts';
