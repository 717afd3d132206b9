/**
 * Jobs of the kind `crawl`: from seeds, again over what a collection knows, or on from where one was interrupted.
 * Private addresses stay out of reach.
 */
import { type Static, Type } from 'typebox';
import type { CrawlOptions, CrawlProgress, CrawlReport, CrawlSettings } from '../../crawl/index.ts';
import { badRequest } from '../http/problem.ts';
import { closed, NewCollection } from '../shape.ts';
import type { JobContext, JobKind } from './job-kind.ts';
import { kindOfJob } from './kind-of-job.ts';

const Patterns = Type.Array(Type.String({ minLength: 1, maxLength: 2000 }), { maxItems: 1000 });

const CrawlInput = closed({
  mode: Type.Optional(
    Type.Enum(['new', 'again', 'resume', 'scheduled'], {
      description:
        '`new` from seeds (unless told), `again` over what is known, `resume` where one was interrupted, `scheduled` as the schedule of the collection says.',
    }),
  ),
  seeds: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 65_536 }), {
      maxItems: 10_000,
      description: 'URLs to begin with.',
    }),
  ),
  collection: Type.Optional(NewCollection),
  scope: Type.Optional(
    Type.Enum(['host', 'domain', 'prefix', 'list'], {
      description: 'The hosts of the seeds, their domains, what begins like a seed, or the seeds alone.',
    }),
  ),
  depthMax: Type.Optional(Type.Integer({ minimum: 0, maximum: 1000, description: 'Links followed from a seed.' })),
  pagesMax: Type.Optional(Type.Integer({ minimum: 1 })),
  bytesMax: Type.Optional(Type.Integer({ minimum: 1 })),
  timeMsMax: Type.Optional(Type.Integer({ minimum: 1 })),
  delayMs: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 3_600_000, description: 'Least time between two requests to a host.' }),
  ),
  include: Type.Optional(Patterns),
  exclude: Type.Optional(Patterns),
  urlsPerHostMax: Type.Optional(Type.Integer({ minimum: 1 })),
  robots: Type.Optional(Type.Enum(['obey', 'ignore'])),
  sitemaps: Type.Optional(Type.Boolean({ description: 'Read sitemaps too.' })),
  budget: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Pages that a crawl of the mode `again` may ask for.' }),
  ),
  fixed: Type.Optional(Type.Boolean({ description: 'Crawl every page again, whatever its rate of change.' })),
  gone: Type.Optional(
    Type.Enum(['keep-history', 'expunge'], { description: 'What happens to pages that are gone (404, 410).' }),
  ),
  userAgent: Type.Optional(Type.String({ minLength: 1, maxLength: 300 })),
  htmlOnly: Type.Optional(Type.Boolean({ description: 'Keep only HTML.' })),
  browser: Type.Optional(
    Type.Enum(['none', 'empty', 'all'], {
      description:
        'Which pages are rendered in a browser too: none (unless told), those without text in their HTML, all.',
    }),
  ),
  screenshots: Type.Optional(
    Type.Boolean({ description: 'Keep a picture of every page that was rendered (unless told not to).' }),
  ),
  fresh: Type.Optional(
    Type.Boolean({ description: 'Drop what an unfinished crawl of the collection had still to do.' }),
  ),
});

export const crawlKind: JobKind = kindOfJob({
  name: 'crawl',
  lane: 'crawl',
  input: CrawlInput,
  run: async (context, { mode = 'new', seeds = [], fresh = false, collection = 'default', ...settings }) => {
    if (mode === 'new' && seeds.length === 0)
      throw badRequest('a crawl needs at least one URL', 'Name its seeds.', 'seeds');
    const report = await run(context, mode, seeds, { ...settings, collection }, fresh);
    // What was fetched so far is kept, and the crawl can be resumed.
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
    const schedule = schedules(archive).find(({ collection }) => collection === settings.collection);
    if (!schedule)
      throw badRequest(
        'this collection has no schedule',
        'Give it one with `pinakes crawl --every`.',
        settings.collection,
      );
    return runScheduled(archive, schedule, options);
  }
  if (mode === 'resume') return resumeCrawl(archive, settings.collection, settings, options);
  return crawl(archive, seeds, settings, { ...options, fresh });
}

function progressOf({ fetched, queued, bytes, failed, unchanged, duplicate, url, ...rest }: CrawlProgress) {
  const { rendered, screenshots, waitMs } = rest;
  const detail = { queued, bytes, failed, unchanged, duplicate, new: rest.new, rendered, screenshots };
  const message = waitMs > 0 ? `waiting ${Math.ceil(waitMs / 1000)} s until a host may be asked again` : url;
  return { done: fetched, total: fetched + queued, unit: 'pages', message, detail };
}
