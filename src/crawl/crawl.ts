/** Crawls from seeds along links, recrawls known URLs, and resumes interrupted crawls. */
import type { Archive } from '../archive/index.ts';
import { type EpochMs, formatW3cDate, PinakesError, utf8 } from '../base/index.ts';
import { findBrowser } from './browser/browser-path.ts';
import { BrowserPool } from './browser/browser-pool.ts';
import { viewUrl } from './browser/browser-renderer.ts';
import { openCrawlState } from './crawl-states.ts';
import { CrawlEngine } from './engine.ts';
import { HttpFetcher } from './fetch/http-fetcher.ts';
import { FETCH_DEFAULTS } from './fetch-settings.ts';
import type { CrawlState } from './frontier/crawl-state.ts';
import type { Frontier } from './frontier/frontier.ts';
import { frontierUrl } from './frontier/frontier-url.ts';
import { knownUrlFilter } from './frontier/recrawl-plan.ts';
import { type KnownUrl, Scope } from './frontier/scope.ts';
import { LinkReader } from './links/link-reader.ts';
import type { CrawlReport } from './report.ts';
import { type CrawlRun, isUnfinished } from './run.ts';
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
    const left = await unfinishedRun(state, whole.collection);
    if (left && options.fresh) await state.drop(left);
    else if (left && left.kind === 'first' && sameUrls(left.seeds, urls))
      return runCrawl(archive, state, await state.resume(left, whole), options, true);
    else if (left) throw new PinakesError('CRAWL_UNFINISHED', { where: whole.collection, detail: someOf(left.seeds) });
    const run = await state.begin({ kind: 'first', seeds: urls, movedSeeds: [], settings: whole });
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
    const last = await lastRun(state, collection);
    if (last.state === 'done' && last.report) return last.report;
    const whole = { ...last.settings, ...settings, collection };
    return runCrawl(archive, state, await state.resume(last, whole), options, true);
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
    const left = await unfinishedRun(state, collection);
    // The URLs that a limit left unvisited come first in the new run, which has the whole limit for itself.
    if (left?.state === 'limited') await state.drop(left);
    else if (left) {
      const run = await state.resume(left, { ...left.settings, ...settings });
      return runCrawl(archive, state, run, options, true);
    }
    const first = await state.lastFirstRun(collection);
    if (!first) throw new PinakesError('CRAWL_UNKNOWN', { where: collection });
    const run = await state.begin({
      kind: 'again',
      seeds: first.seeds,
      movedSeeds: [...new Set([...first.movedSeeds, ...(await lastRun(state, collection)).movedSeeds])],
      settings: { ...first.settings, ...settings, collection },
    });
    return runCrawl(archive, state, run, options, false);
  });
}

/**
 * Helps a crawl that another process runs, until it ends or is interrupted. `job`: the number of the run. Its settings
 * and limits hold over all its crawlers together.
 */
export async function joinCrawl(archive: Archive, job: string, options: CrawlOptions = {}): Promise<CrawlReport> {
  const state = openCrawlState(archive);
  try {
    if (!state.isShared) throw new PinakesError('CRAWL_NOT_SHARED', { where: archive.directory });
    const run = /^\d{1,15}$/.test(job) ? await state.run(Number(job)) : (await state.runs(job, 1))[0];
    if (!run) throw new PinakesError('CRAWL_UNKNOWN', { where: job });
    if (run.state !== 'running') throw new PinakesError('CRAWL_NOT_RUNNING', { where: job, detail: run.state });
    return await runCrawl(archive, state, run, options, false, true);
  } finally {
    await state.close();
  }
}

/** The last run, if it has URLs left. */
async function unfinishedRun(state: CrawlState, collection: string): Promise<CrawlRun | undefined> {
  const [last] = await state.runs(collection, 1);
  return last && isUnfinished(last) ? last : undefined;
}

async function lastRun(state: CrawlState, collection: string): Promise<CrawlRun> {
  const [last] = await state.runs(collection, 1);
  if (!last) throw new PinakesError('CRAWL_UNKNOWN', { where: collection });
  return last;
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
    const state = openCrawlState(archive);
    try {
      return await work(state);
    } finally {
      await state.close();
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
  joins = false,
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
  let frontier: Frontier | undefined;
  try {
    const { signal, onProgress } = options;
    frontier = await state.frontier(run, isResumed);
    const isWantedKnown = run.kind === 'again' ? await wantedKnown(state, run) : () => false;
    const engine = new CrawlEngine({
      archive,
      state,
      frontier,
      run,
      fetcher,
      links,
      browsers,
      isResumed,
      isWantedKnown,
      signal,
      onProgress,
      onRetry: seedFailureReporter(run, options),
    });
    // A process can die before it first writes the counts of a run. Then nothing is queued yet.
    if (run.counts === undefined && !joins) {
      if (run.kind === 'again') engine.tally.counts.outOfScope += await frontier.planRecrawl(isWantedKnown);
      else await engine.offerSeeds();
    }
    options.onRun?.(run.number, state.isShared);
    const resumedAt = archive.clock() - frontier.elapsedMsBefore;
    for (;;) {
      const ended = await engine.run();
      const end = await frontier.end(ended.outcome, engine.tally, engine.tally.counts, signal);
      if (end.kind === 'unfinished') continue;
      if (end.kind === 'ended') return end.report;
      const isLast = end.kind === 'last';
      // An interrupted run expunges at its end, after it was resumed.
      const expunged =
        isLast && ended.outcome !== 'interrupted' && settings.gone === 'expunge'
          ? await expunge(archive, run, await frontier.goneUrls())
          : 0;
      const counts = { ...end.counts, expunged: end.counts.expunged + expunged };
      const { known, queued } = await engine.lastTotals();
      const report = reportOf(archive, run, engine, { ...ended, resumedAt, ...end, counts, known, queued });
      if (isLast) {
        await keepReport(archive, report);
        await frontier.finish(report);
      }
      onProgress?.(engine.progress());
      return report;
    }
  } finally {
    await frontier?.close();
    await browsers?.close();
    await fetcher.close();
    await links.close();
  }
}

/** The filter for the known URLs that a recrawl wants. */
async function wantedKnown(state: CrawlState, run: CrawlRun): Promise<(known: KnownUrl) => boolean> {
  const first = (await state.lastFirstRun(run.collection)) ?? run;
  return knownUrlFilter(run, first, await state.allSeeds(run.collection));
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
  {
    outcome,
    limit,
    resumedAt,
    counts,
    failedUrls,
    partlyReadUrls,
    known,
    queued,
  }: Pick<CrawlReport, 'outcome' | 'counts' | 'failedUrls' | 'partlyReadUrls' | 'known' | 'queued'> & {
    limit: CrawlReport['limit'];
    resumedAt: EpochMs;
  },
): CrawlReport {
  const now = archive.clock();
  const elapsedMs = now - resumedAt;
  const { software } = archive;
  // Other crawlers of the run have counted pages too.
  const otherPages = counts.pages - engine.tally.counts.pages;
  const pagesPerSecond = engine.tally.pagesPerSecond(elapsedMs, otherPages);
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
    pagesPerSecond: Math.round(pagesPerSecond * 10) / 10,
    known,
    queued,
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
async function expunge(archive: Archive, run: CrawlRun, gone: readonly string[]): Promise<number> {
  const collection = await archive.collections.number(run.collection);
  let removed = 0;
  for (const url of gone.flatMap((page) => [page, viewUrl(page)])) {
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
