/**
 * Jobs of the kind `crawl`: a crawl from seeds, a new crawl of the pages of a collection, or the rest of an interrupted
 * crawl. Private addresses are never fetched.
 */
import { type Static, Type } from 'typebox';
import { PinakesError } from '../../base/index.ts';
import type { CrawlOptions, CrawlProgress, CrawlReport, CrawlSettings } from '../../crawl/index.ts';
import { badRequest } from '../http/problem.ts';
import { closed, NewCollection } from '../schema.ts';
import { defineJobKind, type JobContext, type JobKind } from './job-kind.ts';

const Patterns = Type.Array(Type.String({ minLength: 1, maxLength: 2000 }), { maxItems: 1000 });

const CrawlInput = closed({
  mode: Type.Optional(
    Type.Enum(['new', 'again', 'resume', 'scheduled'], {
      description:
        '`new`: from seeds (the default). `again`: over the known pages. `resume`: continue an interrupted crawl. `scheduled`: by the schedule of the collection.',
    }),
  ),
  seeds: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 65_536 }), {
      maxItems: 10_000,
      description: 'URLs to start from.',
    }),
  ),
  collection: Type.Optional(NewCollection),
  scope: Type.Optional(
    Type.Enum(['host', 'domain', 'prefix', 'list'], {
      description: 'The hosts of the seeds, their domains, URLs that begin like a seed, or the seeds alone.',
    }),
  ),
  depthMax: Type.Optional(Type.Integer({ minimum: 0, maximum: 1000, description: 'How many links away from a seed.' })),
  pagesMax: Type.Optional(Type.Integer({ minimum: 1 })),
  bytesMax: Type.Optional(Type.Integer({ minimum: 1 })),
  timeMsMax: Type.Optional(Type.Integer({ minimum: 1 })),
  delayMs: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 3_600_000, description: 'The minimum time between two requests to a host.' }),
  ),
  include: Type.Optional(Patterns),
  exclude: Type.Optional(Patterns),
  urlsPerHostMax: Type.Optional(Type.Integer({ minimum: 1 })),
  robots: Type.Optional(Type.Enum(['obey', 'ignore'])),
  sitemaps: Type.Optional(Type.Boolean({ description: 'Also read sitemaps.' })),
  budget: Type.Optional(
    Type.Integer({ minimum: 1, description: 'How many pages a crawl of the mode `again` may request.' }),
  ),
  fixed: Type.Optional(Type.Boolean({ description: 'Crawl every page again, whatever its rate of change.' })),
  gone: Type.Optional(
    Type.Enum(['keep-history', 'expunge'], { description: 'What to do about pages that are gone (404, 410).' }),
  ),
  userAgent: Type.Optional(Type.String({ minLength: 1, maxLength: 300 })),
  htmlOnly: Type.Optional(Type.Boolean({ description: 'Keep only HTML.' })),
  browser: Type.Optional(
    Type.Enum(['none', 'empty', 'all'], {
      description:
        'Which pages are also rendered in a browser: none (the default), pages without text in their HTML, or all.',
    }),
  ),
  screenshots: Type.Optional(Type.Boolean({ description: 'Keep a screenshot of every rendered page (the default).' })),
  fresh: Type.Optional(
    Type.Boolean({ description: 'Drop the remaining work of an unfinished crawl of the collection.' }),
  ),
});

export const crawlKind: JobKind = defineJobKind({
  name: 'crawl',
  lane: 'crawl',
  // The queue of URLs is shared. A scheduled crawl stays due instead, and is submitted again.
  isResumable: (input) => (input as { mode?: string }).mode !== 'scheduled',
  input: CrawlInput,
  run: async (context, { mode = 'new', seeds = [], fresh = false, collection = 'default', ...settings }) => {
    if (mode === 'new' && seeds.length === 0)
      throw badRequest('a crawl needs at least one URL', 'Name the seeds.', 'seeds');
    // What a server that died has done of the job is not dropped.
    const isFresh = fresh && context.attempt === 1;
    const report = await run(context, mode, seeds, { ...settings, collection }, isFresh).catch((error: unknown) => {
      const isHelped = error instanceof PinakesError && error.code === 'CRAWL_RUNNING' && context.attempt > 1;
      if (!isHelped) throw error;
      return join(context, collection);
    });
    // The pages fetched so far are kept, and the crawl can be resumed.
    if (report.outcome === 'interrupted') context.signal.throwIfAborted();
    return report;
  },
});

async function run(
  { archive, signal, progress }: JobContext,
  mode: NonNullable<Static<typeof CrawlInput>['mode']>,
  seeds: readonly string[],
  settings: Partial<CrawlSettings> & { readonly collection: string },
  fresh: boolean,
): Promise<CrawlReport> {
  const { crawl, recrawl, resumeCrawl, runScheduled, schedules } = await import('../../crawl/index.ts');
  const options: CrawlOptions = { signal, onProgress: (now) => progress(progressOf(now)) };
  if (mode === 'again') return recrawl(archive, settings.collection, settings, options);
  if (mode === 'scheduled') {
    const all = await schedules(archive);
    if (!all.some(({ collection }) => collection === settings.collection))
      throw badRequest(
        'this collection has no schedule',
        'Give it one with `pinakes crawl --every`.',
        settings.collection,
      );
    // In a cluster several servers notice a crawl that is due, and the first one runs it.
    const report = await runScheduled(archive, settings.collection, options, archive.database === undefined);
    if (!report) throw new PinakesError('CRAWL_RUNNING', { where: settings.collection });
    return report;
  }
  if (mode === 'resume') return resumeCrawl(archive, settings.collection, settings, options);
  return crawl(archive, seeds, settings, { ...options, fresh });
}

/** Continues a crawl whose server died while others helped it. */
async function join({ archive, signal, progress }: JobContext, collection: string): Promise<CrawlReport> {
  const { joinCrawl } = await import('../../crawl/index.ts');
  return await joinCrawl(archive, collection, { signal, onProgress: (now) => progress(progressOf(now)) });
}

function progressOf({ fetched, queued, bytes, failed, unchanged, duplicate, url, ...rest }: CrawlProgress) {
  const { rendered, screenshots, waitMs } = rest;
  const detail = { queued, bytes, failed, unchanged, duplicate, new: rest.new, rendered, screenshots };
  const message = waitMs > 0 ? `waiting ${Math.ceil(waitMs / 1000)} s until the next request to a host` : url;
  return { done: fetched, total: fetched + queued, unit: 'pages', message, detail };
}
