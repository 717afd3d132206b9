/** crawl: frontier, politeness, robots, fetching, recrawls, schedules. No other room sends requests to the web. */
export { crawl, recrawl, resumeCrawl } from './crawl.ts';
export { type EmulateOptions, emulate } from './emulator.ts';
export type { Exchange, FetchFailure } from './fetch/exchange.ts';
export { HttpFetcher } from './fetch/http-fetcher.ts';
export { FETCH_DEFAULTS, type FetchSettings } from './fetch-settings.ts';
export { CrawlState } from './frontier/state.ts';
export { RobotsRules } from './politeness/robots-rules.ts';
export { type CrawlReport, hasReachedNothing } from './report.ts';
export { runsOf } from './run.ts';
export { dueCrawls, putSchedule, removeSchedule, runScheduled, schedules } from './schedule.ts';
export type { BrowserUse, CrawlOptions, CrawlProgress, CrawlSettings, GonePolicy, ScopeKind } from './settings.ts';
