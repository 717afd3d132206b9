/** What an engine needs to run a crawl. */
import type { Archive } from '../archive/index.ts';
import type { BrowserPool } from './browser/browser-pool.ts';
import type { Fetcher } from './fetch/exchange.ts';
import type { CrawlState } from './frontier/crawl-state.ts';
import type { Frontier } from './frontier/frontier.ts';
import type { KnownUrl } from './frontier/scope.ts';
import type { LinkReader } from './links/link-reader.ts';
import type { CrawlRun } from './run.ts';
import type { CrawlProgress } from './settings.ts';

export type CrawlEngineOptions = {
  readonly archive: Archive;
  readonly state: CrawlState;
  readonly frontier: Frontier;
  readonly run: CrawlRun;
  readonly fetcher: Fetcher;
  readonly links: LinkReader;
  /** Set when pages are rendered. */
  readonly browsers?: BrowserPool | undefined;
  /** Whether an earlier process queued URLs, some of which it may have visited. */
  readonly isResumed: boolean;
  /** Whether a recrawl wants a known URL. */
  readonly isWantedKnown: (known: KnownUrl) => boolean;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: CrawlProgress) => void) | undefined;
  /** Called when a URL could not be fetched and will be tried again. */
  readonly onRetry?: ((url: string, why: string) => void) | undefined;
};
