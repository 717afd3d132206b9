/** Crawls from seeds along links, recrawls known URLs, and resumes interrupted crawls. */
import type { Archive } from '../archive/index.ts';
import { type EpochMs, formatW3cDate, PinakesError, utf8 } from '../base/index.ts';
import { findBrowser } from './browser/browser-path.ts';
import { BrowserPool } from './browser/browser-pool.ts';
import { viewUrl } from './browser/browser-renderer.ts';
import { CrawlEngine } from './engine.ts';
import { HttpFetcher } from './fetch/http-fetcher.ts';
import { FETCH_DEFAULTS } from './fetch-settings.ts';
import { frontierUrl } from './frontier/frontier-url.ts';
import { goneUrls, planRecrawl } from './frontier/recrawl-plan.ts';
import { Scope } from './frontier/scope.ts';
import { CrawlState } from './frontier/state.ts';
import { LinkReader } from './links/link-reader.ts';
import type { CrawlReport } from './report.ts';
import {
  beginRun,
  type CrawlRun,
  dropRun,
  endRun,
  lastFirstRun,
  lastRun,
  resumeRun,
  saveMovedSeeds,
  unfinishedRun,
} from './run.ts';
import { CRAWL_DEFAULTS, type CrawlOptions, type CrawlSettings } from './settings.ts';

/** Collections that are being crawled, with the directory of their archive. */
const crawling = new Set<string>();

/**
 * Crawls from seeds. If the last crawl was interrupted and had the same seeds, it is resumed. If it had other seeds, it
 * must be finished or dropped (`fresh`) first.
 */
export function crawl(
  archive: Archive,
  seeds: readonly string[],
  settings: Partial<CrawlSettings> = {},
  options: CrawlOptions & { readonly fresh?: boolean } = {},
): Promise<CrawlReport> {
  const urls = seedUrls(seeds);
  if (urls.length === 0)
    throw new PinakesError('BAD_ARGUMENT', { where: 'seeds', detail: 'a crawl needs at least one URL' });
  return crawlAlone(archive, settings.collection ?? CRAWL_DEFAULTS.collection, async (state) => {
    const whole = { ...CRAWL_DEFAULTS, ...settings };
    // A wrong name, a wrong pattern or a missing browser must fail before the run is written.
    archive.collections.check(whole.collection);
    new Scope(whole, urls);
    await checkBrowser(whole);
    const left = unfinishedRun(state, whole.collection);
    if (left && options.fresh) dropRun(state, left);
    else if (left && left.kind === 'first' && sameUrls(left.seeds, urls))
      return runCrawl(archive, state, resumeRun(state, left, whole), options, true);
    else if (left) throw new PinakesError('CRAWL_UNFINISHED', { where: whole.collection, detail: someOf(left.seeds) });
    const run = beginRun(state, 'first', urls, whole, archive.clock());
    return runCrawl(archive, state, run, options, false);
  });
}

/** Resumes an interrupted crawl. The given settings replace the old ones. */
export function resumeCrawl(
  archive: Archive,
  collection: string,
  settings: Partial<CrawlSettings> = {},
  options: CrawlOptions = {},
): Promise<CrawlReport> {
  return crawlAlone(archive, collection, async (state) => {
    const last = lastRun(state, collection);
    if (last.state === 'done' && last.report) return last.report;
    const whole = { ...last.settings, ...settings, collection };
    return runCrawl(archive, state, resumeRun(state, last, whole), options, true);
  });
}

/** Crawls a collection again. It visits known URLs by the recrawl plan, and new links of changed pages. */
export function recrawl(
  archive: Archive,
  collection: string,
  settings: Partial<CrawlSettings> = {},
  options: CrawlOptions = {},
): Promise<CrawlReport> {
  return crawlAlone(archive, collection, async (state) => {
    const left = unfinishedRun(state, collection);
    // The URLs that a limit left unvisited come first in the new run, which has the whole limit for itself.
    if (left?.state === 'limited') dropRun(state, left);
    else if (left)
      return runCrawl(archive, state, resumeRun(state, left, { ...left.settings, ...settings }), options, true);
    const first = lastFirstRun(state, collection);
    const movedSeeds = [...new Set([...first.movedSeeds, ...lastRun(state, collection).movedSeeds])];
    const run = beginRun(state, 'again', first.seeds, { ...first.settings, ...settings, collection }, archive.clock());
    saveMovedSeeds(state, run, movedSeeds);
    return runCrawl(archive, state, { ...run, movedSeeds }, options, false);
  });
}

async function crawlAlone<T>(
  archive: Archive,
  collection: string,
  work: (state: CrawlState) => Promise<T>,
): Promise<T> {
  const id = `${archive.directory}\0${collection}`;
  if (crawling.has(id)) throw new PinakesError('CRAWL_RUNNING', { where: collection });
  crawling.add(id);
  try {
    await archive.keepRoom();
    const state = CrawlState.open(archive.directory);
    try {
      return await work(state);
    } finally {
      state.close();
    }
  } finally {
    crawling.delete(id);
  }
}

async function runCrawl(
  archive: Archive,
  state: CrawlState,
  run: CrawlRun,
  options: CrawlOptions,
  isResumed: boolean,
): Promise<CrawlReport> {
  const { settings } = run;
  await checkBrowser(settings);
  const browsers = settings.browser === 'none' ? undefined : await BrowserPool.open(settings);
  const fetcher = new HttpFetcher({
    ...FETCH_DEFAULTS,
    ...settings.fetch,
    clock: () => archive.clock(),
    userAgent: settings.userAgent,
    allowPrivate: settings.allowPrivate,
    privateNetworks: archive.connector.crawl.privateNetworks,
    anyCertificate: settings.anyCertificate,
    ...(options.resolve && { resolve: options.resolve }),
  });
  const links = new LinkReader();
  try {
    const { signal, onProgress } = options;
    const onRetry = seedFailureReporter(run, options);
    const engine = new CrawlEngine({
      archive,
      state,
      run,
      fetcher,
      links,
      browsers,
      isResumed,
      signal,
      onProgress,
      onRetry,
    });
    // A process can die before it first writes the counts of a run. Then nothing is queued yet.
    if (run.counts === undefined) {
      if (run.kind === 'again') engine.tally.counts.outOfScope += planRecrawl(state, run, archive.clock()).outOfScope;
      else engine.offerSeeds();
    }
    const resumedAt = archive.clock();
    const { outcome, limit } = await engine.run();
    // An interrupted run expunges at its end, after it was resumed.
    if (outcome !== 'interrupted' && settings.gone === 'expunge')
      engine.tally.counts.expunged += await expunge(archive, state, run);
    const report = reportOf(archive, run, engine, { outcome, limit, resumedAt });
    await keepReport(archive, report);
    endRun(state, run, report, archive.clock());
    onProgress?.(engine.progress());
    return report;
  } finally {
    await browsers?.close();
    await fetcher.close();
    await links.close();
  }
}

/**
 * A seed that cannot be fetched may be mistyped. So its first failure is reported at once, before it is tried again.
 */
function seedFailureReporter({ seeds }: CrawlRun, { onSeedTrouble }: CrawlOptions): (url: string, why: string) => void {
  const unreported = new Set(seeds);
  return (url, why) => {
    if (unreported.delete(url)) onSeedTrouble?.(url, why);
  };
}

async function checkBrowser({ browser, browserPath, htmlOnly }: CrawlSettings): Promise<void> {
  if (browser === 'none') return;
  const detail = 'a browser renders a page with everything it needs, and --html-only keeps only HTML';
  if (htmlOnly) throw new PinakesError('BAD_ARGUMENT', { where: '--browser', detail });
  await findBrowser(browserPath);
}

function reportOf(
  archive: Archive,
  run: CrawlRun,
  engine: CrawlEngine,
  { outcome, limit, resumedAt }: Pick<CrawlReport, 'outcome'> & { limit: CrawlReport['limit']; resumedAt: EpochMs },
): CrawlReport {
  const now = archive.clock();
  const { counts, failedUrls, partlyReadUrls } = engine.tally;
  const elapsedMs = now - resumedAt;
  const { software } = archive;
  return {
    collection: run.collection,
    run: run.number,
    kind: run.kind,
    outcome,
    ...(limit && { limit }),
    seeds: run.seeds,
    startedAt: formatW3cDate(run.startedAt),
    endedAt: formatW3cDate(now),
    elapsedMs,
    pagesPerSecond: Math.round(engine.tally.pagesPerSecond(elapsedMs) * 10) / 10,
    ...engine.frontier.totals(),
    counts,
    failedUrls,
    partlyReadUrls,
    ...(software !== undefined && { software }),
  };
}

/** Stores the report in the collection, as a metadata record. Returns its content key. */
function keepReport(archive: Archive, report: CrawlReport): Promise<string> {
  return archive.storeMetadata(
    {
      url: `urn:pinakes:crawl:${encodeURIComponent(report.collection)}:${report.run}`,
      time: archive.clock(),
      mime: 'application/json',
      body: utf8(JSON.stringify(report)),
    },
    { collection: report.collection },
  );
}

/** Deletes the captures and screenshots of pages that are gone. Other URLs with the same key keep their captures. */
async function expunge(archive: Archive, state: CrawlState, run: CrawlRun): Promise<number> {
  const collection = await archive.collections.number(run.collection);
  let removed = 0;
  for (const url of goneUrls(state, run).flatMap((gone) => [gone, viewUrl(gone)])) {
    const times: EpochMs[] = [];
    for await (const capture of archive.capturesOfUrl(url))
      if (capture.url === url && capture.collection === collection) times.push(capture.time);
    for (const time of times) {
      await archive.delete({ collection, url, from: time, to: time });
      removed++;
    }
  }
  return removed;
}

/** Brings seeds that people typed into normal form. */
export function seedUrls(seeds: readonly string[]): string[] {
  return seeds.map(seedUrl);
}

/** A scheme ends with a colon. A colon before a digit is that of a host and port. */
const SCHEME = /^[a-z][a-z0-9+.-]*:(?!\d)/i;
const MAIL_ADDRESS = /^[^/?#]*@/;

function seedUrl(text: string): string {
  const typed = text.trim();
  const url = MAIL_ADDRESS.test(typed) ? undefined : frontierUrl(SCHEME.test(typed) ? typed : `https://${typed}`);
  if (url === undefined)
    throw new PinakesError('BAD_ARGUMENT', { where: text, detail: 'a seed must be an http or https URL' });
  return url;
}

const SHOWN_MAX = 5;

function someOf(seeds: readonly string[]): string {
  const more = seeds.length > SHOWN_MAX ? ` and ${seeds.length - SHOWN_MAX} more` : '';
  return seeds.slice(0, SHOWN_MAX).join(' ') + more;
}

function sameUrls(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && [...a].sort().join('\n') === [...b].sort().join('\n');
}
