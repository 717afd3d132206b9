/** `pinakes crawl`: fetches sites into the archive, again and again, and stores only what is new. */
import { resolve } from 'node:path';
import { type Archive, openArchive } from '../../archive/index.ts';
import { formatW3cDate, limitHeapGrowth, PinakesError } from '../../base/index.ts';
import {
  type CrawlOptions,
  type CrawlProgress,
  type CrawlReport,
  CrawlState,
  crawl,
  dueCrawls,
  emulate,
  hasReachedNothing,
  putSchedule,
  recrawl,
  removeSchedule,
  resumeCrawl,
  runScheduled,
  runsOf,
  schedules,
} from '../../crawl/index.ts';
import { openingOptions } from '../archive-command.ts';
import { type CommandContext, inputBytes, pathFrom } from '../command.ts';
import { EXIT_FINE, EXIT_FOUND, EXIT_INTERRUPTED, tellFailure } from '../outcome.ts';
import { formatDuration } from '../progress.ts';
import { counted, formatBytes, OutputFailed, printable } from '../terminal.ts';
import { type CrawlCommandOptions, numberOf, settingsOf } from './options.ts';

export async function crawlCommand(
  context: CommandContext,
  archive: Archive,
  named: readonly string[],
  options: CrawlCommandOptions,
): Promise<number> {
  limitHeapGrowth();
  if (options.schedules) return listSchedules(context, archive, options);
  if (options.due) return runDue(context, archive, options);
  if (options.replay !== undefined) return replay(context, archive, options.replay, options);
  const { browserPath } = options;
  const settings = {
    ...settingsOf(options),
    // A schedule is run from another directory than it was typed in.
    ...(browserPath !== undefined && { browserPath: resolve(context.directory, browserPath) }),
  };
  const collection = collectionOf(options);
  if (options.every === 'never') {
    const had = removeSchedule(archive, collection);
    const sentence = had ? `${collection} is not crawled again by itself any more` : `${collection} had no schedule`;
    await (options.json ? context.terminal.json({ collection, isRemoved: had }) : context.terminal.line(sentence));
    return EXIT_FINE;
  }
  const seeds = options.seeds === undefined ? named : [...named, ...(await listed(context, options.seeds))];
  // Before a schedule is noted for a crawl that is then refused.
  if (seeds.length === 0 && !options.again && !options.resume)
    throw new PinakesError('BAD_ARGUMENT', {
      where: 'crawl',
      detail: 'name a URL to begin with, or a collection with --again or --resume',
    });
  if (options.every !== undefined) {
    const { due } = putSchedule(archive, { collection, every: options.every, seeds, settings });
    context.terminal.say(
      `${collection}: next at ${formatW3cDate(due)}, by \`pinakes serve\` or \`pinakes crawl --due\``,
    );
  }
  const shown = new Shown(context, archive);
  const crawlOptions = shown.options();
  const report = options.resume
    ? await resumeCrawl(archive, collection, settings, crawlOptions)
    : options.again
      ? await recrawl(archive, collection, settings, crawlOptions)
      : await crawl(archive, seeds, settings, { ...crawlOptions, fresh: options.fresh ?? false });
  context.report?.(report);
  return shown.end(report, options);
}

const LIST_BYTES_MAX = 256 * 1024 * 1024;

/** The URLs of a list: one a line; empty lines, and those that begin with a #, are none. */
async function listed(context: CommandContext, file: string): Promise<string[]> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of inputBytes(context, file)) {
    pieces.push(piece);
    length += piece.length;
    // Something else was meant: a WARC file, say.
    if (length > LIST_BYTES_MAX)
      throw new PinakesError('BAD_ARGUMENT', { where: file, detail: 'it is too large for a list of seeds' });
  }
  const text = Buffer.concat(pieces).toString();
  const lines = text.replace(/^\ufeff/, '').split(/\r\n?|\n/);
  return lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'));
}

function collectionOf({ collection, again, resume }: CrawlCommandOptions): string {
  const named = [again, resume].find((value) => typeof value === 'string') as string | undefined;
  return named ?? collection ?? 'default';
}

/** What is shown of a crawl: a line that moves while it runs, and its report. */
class Shown {
  readonly #context: CommandContext;
  readonly #archive: Archive;

  constructor(context: CommandContext, archive: Archive) {
    this.#context = context;
    this.#archive = archive;
  }

  options(): CrawlOptions {
    const { terminal, signal } = this.#context;
    return {
      signal,
      onProgress: (progress) => terminal.status(progressLine(progress)),
      onSeedTrouble: (url, why) => terminal.say(printable(`${url}: ${why}; it is tried again`)),
    };
  }

  async end(report: CrawlReport, { json }: CrawlCommandOptions): Promise<number> {
    const { terminal } = this.#context;
    terminal.clearStatus();
    if (json) await terminal.json(report);
    else await terminal.line(terminal.typable(summary(report, this.#takesAnyCertificate(report))));
    if (report.outcome === 'interrupted') return EXIT_INTERRUPTED;
    return hasReachedNothing(report) ? EXIT_FOUND : EXIT_FINE;
  }

  /** Whether the crawl did so, by what it was told now or had been told before. */
  #takesAnyCertificate({ collection }: CrawlReport): boolean {
    const state = CrawlState.open(this.#archive.directory);
    const [run] = runsOf(state, collection, 1);
    state.close();
    return run?.settings.anyCertificate ?? false;
  }
}

function progressLine(progress: CrawlProgress): string {
  const { fetched, queued, bytes, failed, unchanged, duplicate, rendered, pagesPerSecond, hosts, waitMs, url } =
    progress;
  const busiest = hosts.map((host) => `${host.host} ${host.queued}`).join(', ');
  // What goes on stands first: narrow terminals cut the rest off.
  const rate =
    waitMs > 0 ? `waiting ${formatDuration(waitMs / 1000)} for hosts` : `${pagesPerSecond.toFixed(1)} pages/s`;
  const parts = [
    `crawl ${fetched} fetched, ${queued} queued, ${formatBytes(bytes)}, ${rate}`,
    `${progress.new} new, ${unchanged} unchanged, ${duplicate} duplicate, ${failed} failed`,
    rendered > 0 ? `${rendered} rendered` : '',
    busiest,
    url,
  ];
  return parts.filter((part) => part !== '').join('  ');
}

/** How OpenSSL calls an answer that is none of TLS, such as one of HTTP. */
const NO_TLS = 'ERR_SSL_WRONG_VERSION_NUMBER';

function summary(report: CrawlReport, takesAnyCertificate: boolean): string {
  const { counts, outcome, limit, elapsedMs, pagesPerSecond, queued, collection, failedUrls, partlyReadUrls } = report;
  const seconds = (elapsedMs / 1000).toFixed(1);
  const lines = [
    `${counted(counts.captures, 'capture')} of ${counted(counts.pages, 'page')} and what they need, ${formatBytes(counts.bytes)}, in ${seconds} s (${pagesPerSecond} pages/s)`,
    `${counts.new} new, ${counts.unchanged} unchanged (${counts.notModified} by the server's word), ${counts.duplicate} held already`,
  ];
  const told: [number, string][] = [
    [counts.rendered, `${counts.rendered} rendered in a browser`],
    [counts.screenshots, counted(counts.screenshots, 'screenshot')],
    [counts.refused, `${counted(counts.refused, 'request')} of pages refused, such as sockets`],
    [counts.redirects, counted(counts.redirects, 'redirect')],
    [counts.gone, `${counts.gone} gone`],
    [counts.expunged, `${counted(counts.expunged, 'capture')} expunged`],
    [counts.truncated, `${counts.truncated} truncated`],
    [counts.partlyRead, `${counts.partlyRead} read in part`],
    [counts.retried, `${counts.retried} tried again`],
    [counts.forbidden, `${counts.forbidden} forbidden by robots.txt`],
    [counts.nofollow, `${counted(counts.nofollow, 'link')} not to be followed`],
    [counts.outOfScope, `${counted(counts.outOfScope, 'link')} out of scope`],
    [counts.trapped, `${counts.trapped} in traps`],
    [counts.skipped, `${counts.skipped} of kinds not wanted`],
    [counts.recovered, `${counts.recovered} recovered from before the interruption`],
  ];
  const more = told.filter(([count]) => count > 0).map(([, what]) => what);
  if (more.length > 0) lines.push(more.join(', '));
  if (counts.failed > 0) {
    const reasons = Object.entries(counts.failures).map(([reason, count]) => `${count} ${reason}`);
    lines.push(`${counts.failed} failed (${reasons.join(', ')}); the next crawl asks for them first`);
    lines.push(...failedUrls.slice(0, 5).map(({ url, reason }) => `  ${url}: ${reason}`));
    if (counts.failures['address-refused'])
      lines.push(
        '  loopback and private addresses are refused; --allow-private lets a crawl of your own network connect',
      );
    const plain = failedUrls.filter(({ reason }) => reason.includes(NO_TLS)).length;
    if (plain > 0)
      lines.push('  what answers there does not speak TLS; a URL that begins with http:// asks it without');
    if ((counts.failures.certificate || (counts.failures.tls ?? 0) > plain) && !takesAnyCertificate)
      lines.push(
        '  certificates that cannot be verified, and TLS before 1.2, are refused; --any-certificate takes them',
      );
  }
  if (counts.partlyRead > 0) {
    lines.push('read in part, so that links on them may be missing:');
    lines.push(...partlyReadUrls.slice(0, 5).map(({ url, reason }) => `  ${url}: ${reason}`));
  }
  if (outcome === 'limited')
    lines.push(
      `stopped at the limit of ${limit}, ${queued} left: go on with \`pinakes crawl --resume ${collection}\` and another limit`,
    );
  if (outcome === 'interrupted')
    lines.push(`interrupted, ${queued} left: go on with \`pinakes crawl --resume ${collection}\``);
  return lines.join('\n');
}

async function listSchedules(
  { terminal }: CommandContext,
  archive: Archive,
  { json }: CrawlCommandOptions,
): Promise<number> {
  const all = schedules(archive);
  if (all.length === 0 && !json) terminal.say('No crawl is scheduled; `pinakes crawl URL --every day` repeats one.');
  for (const { collection, every, due, last, seeds } of all) {
    const times = { due: formatW3cDate(due), ...(last !== undefined && { last: formatW3cDate(last) }) };
    if (json) await terminal.json({ collection, every, ...times, seeds });
    else await terminal.line(`${collection}  ${every}  next ${times.due}${times.last ? `, last ${times.last}` : ''}`);
  }
  return EXIT_FINE;
}

/** Runs what is due. A crawl that cannot run keeps none of the others from it. */
async function runDue(context: CommandContext, archive: Archive, options: CrawlCommandOptions): Promise<number> {
  const { terminal, signal } = context;
  const failures: { readonly collection: string; readonly error: unknown }[] = [];
  let code = EXIT_FINE;
  let crawls = 0;
  context.report?.({ crawls });
  for (const schedule of dueCrawls(archive)) {
    const shown = new Shown(context, archive);
    try {
      const report = await runScheduled(archive, schedule, shown.options());
      context.report?.(++crawls === 1 ? report : { crawls });
      code = Math.max(code, await shown.end(report, options));
    } catch (error) {
      if (error instanceof OutputFailed) throw error;
      failures.push({ collection: schedule.collection, error });
    }
    if (signal.aborted) break;
  }
  for (const { collection, error } of failures) {
    terminal.say(printable(`${collection} was due and could not be crawled:`));
    code = Math.max(code, tellFailure(terminal, error));
  }
  return code;
}

const DAMAGE_TOLD_MAX = 20;

/** Plays another archive as if it were crawled. */
async function replay(
  context: CommandContext,
  archive: Archive,
  path: string,
  options: CrawlCommandOptions,
): Promise<number> {
  const { terminal, signal } = context;
  const rate = options.rate === undefined ? undefined : numberOf(options.rate, '--rate');
  if (rate === 0) throw new PinakesError('BAD_ARGUMENT', { where: '--rate 0', detail: 'more than none is expected' });
  // What is advised from here on is for the archive that is read.
  terminal.namedArchive = path;
  const source = await openArchive(pathFrom(context, path), openingOptions(context, 'replay'));
  let told = 0;
  try {
    const { pagesMax, bytesMax, timeMsMax } = settingsOf(options);
    const report = await emulate(archive, source, {
      collection: collectionOf(options),
      ...(pagesMax !== undefined && { pagesMax }),
      ...(bytesMax !== undefined && { bytesMax }),
      ...(timeMsMax !== undefined && { timeMsMax }),
      ...(rate !== undefined && { rate }),
      signal,
      onProgress: ({ pages, bytes }) => terminal.status(`replay ${counted(pages, 'page')}, ${formatBytes(bytes)}`),
      onDamage: (where, why) => {
        if (++told <= DAMAGE_TOLD_MAX) terminal.say(printable(`${where} is left out: ${why}`));
      },
    });
    terminal.clearStatus();
    context.report?.(report);
    if (options.json) await terminal.json(report);
    else
      await terminal.line(
        `${counted(report.pages, 'page')} played, ${formatBytes(report.bytes)}: ${report.new} new, ${report.duplicate} held already, in ${(report.elapsedMs / 1000).toFixed(1)} s`,
      );
    const { damaged, unresolved, limit } = report;
    if (limit) terminal.say(`stopped at the limit of ${limit}`);
    if (unresolved > 0)
      terminal.say(`${counted(unresolved, 'revisit')} left out: ${path} does not hold their contents`);
    if (damaged > 0) terminal.say(`${counted(damaged, 'damaged record')} left out; \`pinakes verify\` names them`);
    return damaged > 0 ? EXIT_FOUND : EXIT_FINE;
  } finally {
    await source.close();
  }
}
