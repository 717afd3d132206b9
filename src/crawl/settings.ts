/** What a crawl is asked to do: how far, how much, how gently, and what counts as enough. */
import type { LookupFunction } from 'node:net';
import type { FetchSettings } from './fetch-settings.ts';

/**
 * `host`: the hosts of the seeds; `domain`: their registered domains; `prefix`: what begins like a seed; `list`: the
 * seeds alone.
 */
export type ScopeKind = 'host' | 'domain' | 'prefix' | 'list';

/** What happens to pages that are gone (404, 410). */
export type GonePolicy = 'keep-history' | 'expunge';

/**
 * `all`: every HTML page is rendered in a browser too; `empty`: those alone whose HTML has scripts and next to no text.
 */
export type BrowserUse = 'none' | 'empty' | 'all';

export type CrawlSettings = {
  readonly collection: string;
  readonly scope: ScopeKind;
  /** Links followed from a seed; 0 is the seeds alone. */
  readonly depthMax: number;
  /**
   * Regular expressions on whole URLs. With any `include`, a page has to match one; whatever matches an `exclude` is
   * left out, embeds too.
   */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  readonly pagesMax: number;
  readonly bytesMax: number;
  readonly timeMsMax: number;
  readonly urlsPerHostMax: number;
  /** Least time between two requests to a host. */
  readonly delayMs: number;
  /** Requests at a time, over all hosts. */
  readonly concurrency: number;
  /** Requests at a time to one host. */
  readonly hostConcurrency: number;
  /** How many times its own response time a host is left alone. */
  readonly delayFactor: number;
  readonly delayMsMax: number;
  /** A Crawl-delay beyond this is taken as this. */
  readonly crawlDelayMsMax: number;
  readonly robots: 'obey' | 'ignore';
  /** Whether `nofollow` of pages and links is heeded. */
  readonly nofollow: 'obey' | 'ignore';
  readonly sitemaps: boolean;
  /** Only HTML is kept, and nothing is fetched for the sake of showing it. */
  readonly htmlOnly: boolean;
  /** Whether stored validators are sent along. */
  readonly conditional: boolean;
  readonly retries: number;
  readonly retryDelayMs: number;
  /** Pages that a recrawl may ask for; those that expire come on top. */
  readonly budget: number;
  /** Recrawl every page, whatever its rate of change. */
  readonly fixed: boolean;
  readonly lifetimeMs: number;
  readonly gone: GonePolicy;
  readonly userAgent: string;
  /** The name that robots.txt files call this crawler by. */
  readonly productToken: string;
  readonly allowPrivate: boolean;
  readonly anyCertificate: boolean;
  readonly browser: BrowserUse;
  /** Whether a picture is kept of every page that was rendered. */
  readonly screenshots: boolean;
  /** The program file of the browser; '' for the one that the environment or the system has. */
  readonly browserPath: string;
  /** Whether the browser shuts its pages off from the system. */
  readonly browserSandbox: boolean;
  /** Memory that a browser may take with its page; one that takes more is ended. */
  readonly browserBytesMax: number;
  /** Pages that are rendered at a time, each in a browser of its own. */
  readonly browsers: number;
  /** How long the rendering of a page may take, with all that it asks for on the way. */
  readonly renderMsMax: number;
  /** Bounds of a single fetch; what is not given is as by default. */
  readonly fetch: Partial<Omit<FetchSettings, 'clock' | 'resolve'>>;
};

/** The usual bound on depth is there to end traps. Who sets a smaller one wants to know exactly what is within it. */
const DEPTH_MAX_DEFAULT = 100;

/** Whether it matters which of several ways to a page is the shortest. */
export function depthMatters({ depthMax }: CrawlSettings): boolean {
  return depthMax < DEPTH_MAX_DEFAULT;
}

const SECOND = 1000;
const DAY = 24 * 3600 * SECOND;

/** No bound. A number, so that settings can be kept as JSON. */
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
  delayMs: SECOND,
  concurrency: 16,
  hostConcurrency: 1,
  delayFactor: 2,
  delayMsMax: 30 * SECOND,
  crawlDelayMsMax: 120 * SECOND,
  robots: 'obey',
  nofollow: 'obey',
  sitemaps: true,
  htmlOnly: false,
  conditional: true,
  retries: 3,
  retryDelayMs: 10 * SECOND,
  budget: UNBOUNDED,
  fixed: false,
  lifetimeMs: 90 * DAY,
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
  renderMsMax: 120 * SECOND,
  fetch: {},
};

export type CrawlOptions = {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: CrawlProgress) => void;
  /** Called when a seed cannot be fetched, the first time it cannot. It is tried again. */
  readonly onSeedTrouble?: (url: string, why: string) => void;
  /** Looks names up; the system's by default. */
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
  /** Pages that were rendered in a browser, and pictures that were taken of them. */
  readonly rendered: number;
  readonly screenshots: number;
  readonly pagesPerSecond: number;
  readonly elapsedMs: number;
  /**
   * For how long nothing will be asked for, when it is for longer than usual, since all hosts that have something left
   * are to be left alone.
   */
  readonly waitMs: number;
  /** The hosts with most to do. */
  readonly hosts: readonly { readonly host: string; readonly queued: number }[];
  /** What was fetched last. */
  readonly url: string;
};
