/** The settings of a crawl: its scope, its limits, its speed, and which documents it keeps. */
import type { LookupFunction } from 'node:net';
import type { FetchSettings } from './fetch-settings.ts';

/**
 * `host`: the hosts of the seeds. `domain`: their registered domains. `prefix`: URLs that begin like a seed. `list`:
 * the seeds alone.
 */
export type ScopeKind = 'host' | 'domain' | 'prefix' | 'list';

/** What happens to the captures of pages that are gone (404, 410). */
export type GonePolicy = 'keep-history' | 'expunge';

/**
 * `all`: every HTML page is rendered in a browser. `empty`: pages whose HTML has scripts and almost no text are
 * rendered.
 */
export type BrowserUse = 'none' | 'empty' | 'all';

export type CrawlSettings = {
  readonly collection: string;
  readonly scope: ScopeKind;
  /** How many links in a row are followed from a seed. With 0, the seeds alone are visited. */
  readonly depthMax: number;
  /**
   * Regular expressions that whole URLs are matched against. If `include` has any, a page must match one of them. A URL
   * that matches an `exclude` is left out, even if it is an embed.
   */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  readonly pagesMax: number;
  readonly bytesMax: number;
  readonly timeMsMax: number;
  readonly urlsPerHostMax: number;
  /** The least time between two requests to a host. */
  readonly delayMs: number;
  /** How many requests run at a time, over all hosts. */
  readonly concurrency: number;
  /** How many requests run at a time to one host. */
  readonly hostConcurrency: number;
  /** The pause of a host, as a multiple of its response time. */
  readonly delayFactor: number;
  readonly delayMsMax: number;
  /** A longer `Crawl-delay` of robots.txt is shortened to this. */
  readonly crawlDelayMsMax: number;
  readonly robots: 'obey' | 'ignore';
  /** Whether the `nofollow` of pages and of links is respected. */
  readonly nofollow: 'obey' | 'ignore';
  readonly sitemaps: boolean;
  /** Keeps HTML only. Images, styles and other embeds are not fetched. */
  readonly htmlOnly: boolean;
  /** Whether the validators of earlier captures are sent (`If-None-Match`, `If-Modified-Since`). */
  readonly conditional: boolean;
  readonly retries: number;
  readonly retryDelayMs: number;
  /** How many pages a recrawl may visit besides the expiring pages. */
  readonly budget: number;
  /** Whether a recrawl visits all pages and not just those that probably changed. */
  readonly fixed: boolean;
  readonly lifetimeMs: number;
  readonly gone: GonePolicy;
  readonly userAgent: string;
  /** The name of this crawler in robots.txt files. */
  readonly productToken: string;
  readonly allowPrivate: boolean;
  readonly anyCertificate: boolean;
  readonly browser: BrowserUse;
  /** Whether a screenshot is kept of every rendered page. */
  readonly screenshots: boolean;
  /** The program file of the browser. If it is '', PINAKES_BROWSER or the usual paths give the browser. */
  readonly browserPath: string;
  /** Whether the browser runs its pages in its sandbox. */
  readonly browserSandbox: boolean;
  /** How much memory a browser may use, including its page. A browser that uses more is killed. */
  readonly browserBytesMax: number;
  /** How many pages are rendered at a time, each in its own browser. */
  readonly browsers: number;
  /** How long rendering a page may take, with all requests of the page. */
  readonly renderMsMax: number;
  /** Bounds of a single fetch, which replace FETCH_DEFAULTS. */
  readonly fetch: Partial<Omit<FetchSettings, 'clock' | 'resolve'>>;
};

/** The default bound is there to end traps. With a smaller bound the exact depth of each page matters. */
const DEPTH_MAX_DEFAULT = 100;

/** Whether the shortest path to a page must be found. */
export function depthMatters({ depthMax }: CrawlSettings): boolean {
  return depthMax < DEPTH_MAX_DEFAULT;
}

const SECOND_MS = 1000;
const DAY_MS = 24 * 3600 * SECOND_MS;

/** No bound. It is a finite number, because settings are stored as JSON. */
export const UNBOUNDED = Number.MAX_SAFE_INTEGER;

export const CRAWL_DEFAULTS: CrawlSettings = {
  collection: 'default',
  scope: 'host',
  depthMax: DEPTH_MAX_DEFAULT,
  include: [],
  exclude: [],
  pagesMax: UNBOUNDED,
  bytesMax: UNBOUNDED,
  timeMsMax: UNBOUNDED,
  urlsPerHostMax: 10_000_000,
  delayMs: SECOND_MS,
  concurrency: 16,
  hostConcurrency: 1,
  delayFactor: 2,
  delayMsMax: 30 * SECOND_MS,
  crawlDelayMsMax: 120 * SECOND_MS,
  robots: 'obey',
  nofollow: 'obey',
  sitemaps: true,
  htmlOnly: false,
  conditional: true,
  retries: 3,
  retryDelayMs: 10 * SECOND_MS,
  budget: UNBOUNDED,
  fixed: false,
  lifetimeMs: 90 * DAY_MS,
  gone: 'keep-history',
  userAgent: 'Mozilla/5.0 (compatible; pinakes; web archive crawler)',
  productToken: 'pinakes',
  allowPrivate: false,
  anyCertificate: false,
  browser: 'none',
  screenshots: true,
  browserPath: '',
  browserSandbox: true,
  browserBytesMax: 2 * 1024 ** 3,
  browsers: 2,
  renderMsMax: 120 * SECOND_MS,
  fetch: {},
};

export type CrawlOptions = {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: CrawlProgress) => void;
  /** Called when the crawl begins, with the number of its run and whether other machines can join it. */
  readonly onRun?: (run: number, canBeJoined: boolean) => void;
  /** Called when the first try to fetch a seed fails. The seed is tried again. */
  readonly onSeedTrouble?: (url: string, why: string) => void;
  /** Resolves host names; the resolver of the system by default. */
  readonly resolve?: LookupFunction;
};

export type CrawlProgress = {
  readonly fetched: number;
  readonly queued: number;
  readonly known: number;
  readonly bytes: number;
  readonly new: number;
  readonly unchanged: number;
  readonly duplicate: number;
  readonly failed: number;
  /** Counts of the pages rendered in a browser, and of their screenshots. */
  readonly rendered: number;
  readonly screenshots: number;
  readonly pagesPerSecond: number;
  readonly elapsedMs: number;
  /** How long until the next request when all hosts with queued URLs have a long pause; otherwise 0. */
  readonly waitMs: number;
  /** The hosts with the most queued URLs. */
  readonly hosts: readonly { readonly host: string; readonly queued: number }[];
  /** The URL that was fetched last. */
  readonly url: string;
};
