/**
 * The counts of a crawl, which are reported while it runs, and its report, which is stored in the collection at its
 * end.
 */
import type { EpochMs } from '../base/index.ts';
import { isGoneStatus, isPageRole, STATE_FORBIDDEN } from './frontier/known-url.ts';
import type { PageFindings } from './links/link-batch.ts';
import type { Settled, Visited } from './outcome.ts';
import type { CrawlProgress } from './settings.ts';

const NO_COUNTS = {
  /** Captures made, including robots.txt files. */
  captures: 0,
  /** URLs visited as pages, including frames. */
  pages: 0,
  /** Bytes of received bodies. */
  bytes: 0,
  /** Captures whose content was new to the archive. */
  new: 0,
  /** Captures whose content the archive already held, under any URL. */
  duplicate: 0,
  /** Pages whose content is the same as at their last visit. */
  unchanged: 0,
  /** Unchanged pages that the server confirmed with a 304. */
  notModified: 0,
  redirects: 0,
  truncated: 0,
  /**
   * Pages and sitemaps that were read in part, because their body was cut or is too large. They may have more links.
   */
  partlyRead: 0,
  failed: 0,
  retried: 0,
  /** URLs that robots.txt forbids. */
  forbidden: 0,
  nofollow: 0,
  outOfScope: 0,
  trapped: 0,
  skipped: 0,
  /** Captures of an interrupted process that were found in the archive. */
  recovered: 0,
  gone: 0,
  expunged: 0,
  /** Pages rendered in a browser. */
  rendered: 0,
  screenshots: 0,
  /** Requests of rendered pages that were refused: sockets, event streams, forms, other methods, too many requests. */
  refused: 0,
  statuses: {} as Record<string, number>,
  failures: {} as Record<string, number>,
  traps: {} as Record<string, number>,
};

export type CrawlCounts = typeof NO_COUNTS;

export type CrawlReport = {
  readonly collection: string;
  readonly run: number;
  readonly kind: 'first' | 'again';
  readonly outcome: 'done' | 'limited' | 'interrupted';
  /** The limit that ended the crawl. */
  readonly limit?: 'pages' | 'bytes' | 'time';
  readonly seeds: readonly string[];
  readonly startedAt: string;
  readonly endedAt: string;
  /** Time since the crawl was started or resumed. */
  readonly elapsedMs: number;
  readonly pagesPerSecond: number;
  readonly known: number;
  readonly queued: number;
  readonly counts: CrawlCounts;
  /** The first URLs that failed, with the reason. */
  readonly failedUrls: readonly { readonly url: string; readonly reason: string }[];
  /** The first URLs that were read in part, with the reason. */
  readonly partlyReadUrls: readonly { readonly url: string; readonly reason: string }[];
  readonly software?: string;
};

/** True when a crawl reached no page at all, for example because there was no network. */
export function hasReachedNothing({ counts }: CrawlReport): boolean {
  return counts.failed > 0 && counts.pages === 0;
}

const REPORTED_URLS_MAX = 100;

export function zeroCounts(): CrawlCounts {
  return structuredClone(NO_COUNTS);
}

export class CrawlTally {
  readonly counts: CrawlCounts;
  readonly failedUrls: { url: string; reason: string }[];
  readonly partlyReadUrls: { url: string; reason: string }[];
  readonly startedAt: EpochMs;
  readonly #pagesBefore: number;

  /** `counts` and `report`: what the run had counted and reported when it was interrupted. */
  constructor(counts: CrawlCounts | undefined, startedAt: EpochMs, report?: CrawlReport) {
    this.counts = { ...zeroCounts(), ...counts };
    this.failedUrls = [...(report?.failedUrls ?? [])];
    this.partlyReadUrls = [...(report?.partlyReadUrls ?? [])];
    this.startedAt = startedAt;
    this.#pagesBefore = this.counts.pages;
  }

  /** The rate of pages since the run was started or resumed. `otherPages`: those of other crawlers. */
  pagesPerSecond(elapsedMs: number, otherPages = 0): number {
    return elapsedMs > 0 ? ((this.counts.pages - this.#pagesBefore + otherPages) * 1000) / elapsedMs : 0;
  }

  add(outcome: Settled, findings: PageFindings = {}): void {
    this.#count(outcome, findings, 1);
  }

  /** Takes an outcome back that could not be written. Another crawler visits the URL again. */
  remove(outcome: Settled, findings: PageFindings = {}): void {
    this.#count(outcome, findings, -1);
  }

  #count(outcome: Settled, { unreadReason }: PageFindings, one: 1 | -1): void {
    const { counts } = this;
    if (outcome.kind === 'visited' && outcome.isReadAgain) return;
    if (unreadReason !== undefined && outcome.kind === 'visited') {
      counts.partlyRead += one;
      if (one > 0 && this.partlyReadUrls.length < REPORTED_URLS_MAX)
        this.partlyReadUrls.push({ url: outcome.settlement.item.url, reason: unreadReason });
    }
    if (outcome.kind === 'visited') this.#visited(outcome, one);
    else if (outcome.kind === 'skipped' && outcome.trap !== undefined) {
      counts.trapped += one;
      addCount(counts.traps, outcome.trap, one);
    } else if (outcome.kind === 'skipped' && outcome.isOutOfScope) counts.outOfScope += one;
    else if (outcome.kind === 'skipped')
      counts[outcome.settlement.state === STATE_FORBIDDEN ? 'forbidden' : 'skipped'] += one;
    else {
      counts.failed += one;
      addCount(counts.failures, outcome.reason, one);
      if (one > 0 && this.failedUrls.length < REPORTED_URLS_MAX)
        this.failedUrls.push({ url: outcome.settlement.item.url, reason: `${outcome.reason}: ${outcome.detail}` });
    }
  }

  #visited(visited: Visited, one: 1 | -1): void {
    const { settlement, novelty, isNotModified, bytes, truncated, redirect, isRecovered, isCounted } = visited;
    const { counts } = this;
    const { item, status } = settlement;
    if (isCounted) {
      if (isPageRole(item.role)) counts.pages += one;
      return;
    }
    counts.captures += one;
    counts.bytes += one * bytes;
    counts[novelty] += one;
    if (isPageRole(item.role)) counts.pages += one;
    if (isNotModified) counts.notModified += one;
    if (truncated) counts.truncated += one;
    if (redirect !== undefined) counts.redirects += one;
    if (isRecovered) counts.recovered += one;
    if (isGoneStatus(status)) counts.gone += one;
    addCount(counts.statuses, String(status), one);
  }
}

/** What the frontier reports about itself. */
export type FrontierTotals = {
  readonly known: number;
  readonly queued: number;
  /** The hosts with the most queued URLs. */
  readonly fullest: readonly { readonly name: string; readonly queued: number }[];
};

/** The progress that a running crawl reports. */
export function crawlProgress(
  tally: CrawlTally,
  { known, queued, fullest }: FrontierTotals,
  { elapsedMs, waitMs, url }: Pick<CrawlProgress, 'elapsedMs' | 'waitMs' | 'url'>,
): CrawlProgress {
  const { counts } = tally;
  return {
    fetched: counts.captures,
    queued,
    known,
    bytes: counts.bytes,
    new: counts.new,
    unchanged: counts.unchanged,
    duplicate: counts.duplicate,
    failed: counts.failed,
    rendered: counts.rendered,
    screenshots: counts.screenshots,
    pagesPerSecond: tally.pagesPerSecond(elapsedMs),
    elapsedMs,
    waitMs,
    hosts: fullest.map(({ name, queued: count }) => ({ host: name, queued: count })),
    url,
  };
}

/** The sum of the counts of two crawlers. */
export function sumOfCounts(first: CrawlCounts, second: CrawlCounts): CrawlCounts {
  const sum = structuredClone(first) as Record<string, number | Record<string, number>>;
  for (const [name, value] of Object.entries(second))
    if (typeof value === 'number') sum[name] = ((sum[name] as number | undefined) ?? 0) + value;
    else for (const [key, count] of Object.entries(value)) addCount(sum[name] as Record<string, number>, key, count);
  return sum as unknown as CrawlCounts;
}

export function addCount(counts: Record<string, number>, name: string, more = 1): void {
  counts[name] = (counts[name] ?? 0) + more;
}
