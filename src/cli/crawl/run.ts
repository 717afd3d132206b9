/** `pinakes crawl`: fetches sites into the archive, once or repeatedly, and stores only new contents. */
import { resolve } from 'node:path';
import { type Archive, openArchive } from '../../archive/index.ts';
import { badArgument, formatW3cDate, limitHeapGrowth } from '../../base/index.ts';
import {
  type CrawlOptions,
  type CrawlProgress,
  type CrawlReport,
  crawl,
  dueCrawls,
  emulate,
  hasReachedNothing,
  joinCrawl,
  putSchedule,
  recrawl,
  removeSchedule,
  resumeCrawl,
  runScheduled,
  schedules,
  withCrawlState,
} from '../../crawl/index.ts';
import { openingOptions } from '../archive-command.ts';
import { type CommandContext, inputBytes, resolveTypedPath } from '../command.ts';
import { EXIT_FINE, EXIT_FOUND, EXIT_INTERRUPTED, printFailure } from '../outcome.ts';
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
    // The path is made absolute, because a scheduled crawl runs in another directory than the one where it was typed.
    ...(browserPath !== undefined && { browserPath: resolve(context.directory, browserPath) }),
  };
  const collection = collectionOf(options);
  if (options.every === 'never') {
    const had = await removeSchedule(archive, collection);
    const sentence = had ? `removed the schedule of ${collection}` : `${collection} had no schedule`;
    await (options.json ? context.terminal.json({ collection, isRemoved: had }) : context.terminal.line(sentence));
    return EXIT_FINE;
  }
  if (options.join !== undefined) {
    const joined = await joinCrawl(archive, options.join, crawlOptionsOf(context));
    context.reportToJob?.(joined);
    return printReport(context, archive, joined, options);
  }
  const seeds = options.seeds === undefined ? named : [...named, ...(await readSeedList(context, options.seeds))];
  // Checked first, so that no schedule is saved for a crawl that would be refused.
  if (seeds.length === 0 && !options.again && !options.resume)
    throw badArgument('crawl', 'name a URL to start from, or a collection with --again or --resume');
  if (options.every !== undefined) {
    const { due } = await putSchedule(archive, { collection, every: options.every, seeds, settings });
    context.terminal.say(
      `${collection}: next crawl at ${formatW3cDate(due)}, run by \`pinakes serve\` or \`pinakes crawl --due\``,
    );
  }
  const crawlOptions = crawlOptionsOf(context);
  const report = options.resume
    ? await resumeCrawl(archive, collection, settings, crawlOptions)
    : options.again
      ? await recrawl(archive, collection, settings, crawlOptions)
      : await crawl(archive, seeds, settings, { ...crawlOptions, fresh: options.fresh ?? false });
  context.reportToJob?.(report);
  return printReport(context, archive, report, options);
}

const LIST_BYTES_MAX = 256 * 1024 * 1024;

/** Reads a list of URLs, one per line. Empty lines, and lines that start with #, are skipped. */
async function readSeedList(context: CommandContext, file: string): Promise<string[]> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of inputBytes(context, file)) {
    pieces.push(piece);
    length += piece.length;
    // A file of this size is probably not a list of URLs, but for example a WARC file.
    if (length > LIST_BYTES_MAX) throw badArgument(file, 'the file is too large for a list of seeds');
  }
  const text = Buffer.concat(pieces).toString();
  const lines = text.replace(/^\ufeff/, '').split(/\r\n?|\n/);
  return lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'));
}

function collectionOf({ collection, again, resume }: CrawlCommandOptions): string {
  const named = [again, resume].find((value) => typeof value === 'string') as string | undefined;
  return named ?? collection ?? 'default';
}

/** Shows a crawl on the terminal while it runs. */
function crawlOptionsOf({ terminal, signal }: CommandContext): CrawlOptions {
  return {
    signal,
    onProgress: (progress) => terminal.status(progressLine(progress)),
    onRun: (run, canBeJoined) => {
      if (canBeJoined) terminal.say(`this is run ${run}; \`pinakes crawl --join ${run}\` on another machine helps it`);
    },
    onSeedTrouble: (url, why) => terminal.say(printable(`${url}: ${why}; it will be tried again`)),
  };
}

/** Prints the report of a crawl. Returns the exit code. */
async function printReport(
  { terminal }: CommandContext,
  archive: Archive,
  report: CrawlReport,
  { json }: CrawlCommandOptions,
): Promise<number> {
  terminal.clearStatus();
  if (json) await terminal.json(report);
  else await terminal.line(terminal.expandCommands(summary(report, await takesAnyCertificate(archive, report))));
  if (report.outcome === 'interrupted') return EXIT_INTERRUPTED;
  return hasReachedNothing(report) ? EXIT_FOUND : EXIT_FINE;
}

/** Whether an option of this command or of an earlier one let the crawl accept any certificate. */
async function takesAnyCertificate(archive: Archive, { collection }: CrawlReport): Promise<boolean> {
  const [run] = await withCrawlState(archive, (state) => state.runs(collection, 1));
  return run?.settings.anyCertificate ?? false;
}

function progressLine(progress: CrawlProgress): string {
  const { fetched, queued, bytes, failed, unchanged, duplicate, rendered, pagesPerSecond, hosts, waitMs, url } =
    progress;
  const busiest = hosts.map((host) => `${host.host} ${host.queued}`).join(', ');
  // The most important figures come first, because narrow terminals cut off the rest.
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

/** The OpenSSL error for an answer that is not TLS, such as plain HTTP. */
const NO_TLS = 'ERR_SSL_WRONG_VERSION_NUMBER';

function summary(report: CrawlReport, acceptsAny: boolean): string {
  const { counts, outcome, limit, elapsedMs, pagesPerSecond, queued, collection, failedUrls, partlyReadUrls } = report;
  const seconds = (elapsedMs / 1000).toFixed(1);
  const lines = [
    `${counted(counts.captures, 'capture')} of ${counted(counts.pages, 'page')} and what they need, ${formatBytes(counts.bytes)}, in ${seconds} s (${pagesPerSecond} pages/s)`,
    `${counts.new} new, ${counts.unchanged} unchanged (${counts.notModified} reported as not modified by the server), ${counts.duplicate} already in the archive`,
  ];
  const details: [number, string][] = [
    [counts.rendered, `${counts.rendered} rendered in a browser`],
    [counts.screenshots, counted(counts.screenshots, 'screenshot')],
    [counts.refused, `${counted(counts.refused, 'request')} of rendered pages refused, such as sockets`],
    [counts.redirects, counted(counts.redirects, 'redirect')],
    [counts.gone, `${counts.gone} gone`],
    [counts.expunged, `${counted(counts.expunged, 'capture')} expunged`],
    [counts.truncated, `${counts.truncated} truncated`],
    [counts.partlyRead, `${counts.partlyRead} read in part`],
    [counts.retried, `${counts.retried} tried again`],
    [counts.forbidden, `${counts.forbidden} forbidden by robots.txt`],
    [counts.nofollow, `${counted(counts.nofollow, 'link')} not to be followed`],
    [counts.outOfScope, `${counted(counts.outOfScope, 'link')} out of scope`],
    [counts.trapped, `${counts.trapped} in crawler traps`],
    [counts.skipped, `${counts.skipped} of excluded types`],
    [counts.recovered, `${counts.recovered} recovered from before the interruption`],
  ];
  const more = details.filter(([count]) => count > 0).map(([, what]) => what);
  if (more.length > 0) lines.push(more.join(', '));
  if (counts.failed > 0) {
    const reasons = Object.entries(counts.failures).map(([reason, count]) => `${count} ${reason}`);
    lines.push(`${counts.failed} failed (${reasons.join(', ')}); the next crawl requests them first`);
    lines.push(...failedUrls.slice(0, 5).map(({ url, reason }) => `  ${url}: ${reason}`));
    if (counts.failures['address-refused'])
      lines.push('  loopback and private addresses are refused; add --allow-private to crawl your own network');
    const plain = failedUrls.filter(({ reason }) => reason.includes(NO_TLS)).length;
    if (plain > 0) lines.push('  the server does not speak TLS; use a URL that starts with http://');
    if ((counts.failures.certificate || (counts.failures.tls ?? 0) > plain) && !acceptsAny)
      lines.push(
        '  certificates that cannot be verified, and TLS before 1.2, are refused; add --any-certificate to accept them',
      );
  }
  if (counts.partlyRead > 0) {
    lines.push('read in part, so that some of their links may be missing:');
    lines.push(...partlyReadUrls.slice(0, 5).map(({ url, reason }) => `  ${url}: ${reason}`));
  }
  if (outcome === 'limited')
    lines.push(
      `stopped at the limit of ${limit}, ${queued} left: continue with \`pinakes crawl --resume ${collection}\` and another limit`,
    );
  if (outcome === 'interrupted')
    lines.push(`interrupted, ${queued} left: continue with \`pinakes crawl --resume ${collection}\``);
  return lines.join('\n');
}

async function listSchedules(
  { terminal }: CommandContext,
  archive: Archive,
  { json }: CrawlCommandOptions,
): Promise<number> {
  const all = await schedules(archive);
  if (all.length === 0 && !json) terminal.say('No crawl is scheduled; `pinakes crawl URL --every day` repeats one.');
  for (const { collection, every, due, last, seeds } of all) {
    const times = { due: formatW3cDate(due), ...(last !== undefined && { last: formatW3cDate(last) }) };
    if (json) await terminal.json({ collection, every, ...times, seeds });
    else await terminal.line(`${collection}  ${every}  next ${times.due}${times.last ? `, last ${times.last}` : ''}`);
  }
  return EXIT_FINE;
}

/** Runs the crawls that are due. A crawl that fails does not stop the others. */
async function runDue(context: CommandContext, archive: Archive, options: CrawlCommandOptions): Promise<number> {
  const { terminal, signal } = context;
  const failures: { readonly collection: string; readonly error: unknown }[] = [];
  let code = EXIT_FINE;
  let crawls = 0;
  context.reportToJob?.({ crawls });
  for (const { collection } of await dueCrawls(archive)) {
    try {
      const report = await runScheduled(archive, collection, crawlOptionsOf(context));
      // Another process runs it.
      if (!report) continue;
      context.reportToJob?.(++crawls === 1 ? report : { crawls });
      code = Math.max(code, await printReport(context, archive, report, options));
    } catch (error) {
      if (error instanceof OutputFailed) throw error;
      failures.push({ collection, error });
    }
    if (signal.aborted) break;
  }
  for (const { collection, error } of failures) {
    terminal.say(printable(`${collection} was due and could not be crawled:`));
    code = Math.max(code, printFailure(terminal, error));
  }
  return code;
}

const DAMAGE_SHOWN_MAX = 20;

/** Crawls the pages of another archive as if they were on the web. */
async function replay(
  context: CommandContext,
  archive: Archive,
  path: string,
  options: CrawlCommandOptions,
): Promise<number> {
  const { terminal, signal } = context;
  const rate = options.rate === undefined ? undefined : numberOf(options.rate, '--rate');
  if (rate === 0) throw badArgument('--rate 0', 'a number above 0 is expected');
  // From here on, commands in messages are about the source archive.
  terminal.namedArchive = path;
  const source = await openArchive(resolveTypedPath(context, path), openingOptions(context, 'replay'));
  let damageShown = 0;
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
        if (++damageShown <= DAMAGE_SHOWN_MAX) terminal.say(printable(`${where} was left out: ${why}`));
      },
    });
    terminal.clearStatus();
    context.reportToJob?.(report);
    if (options.json) await terminal.json(report);
    else
      await terminal.line(
        `${counted(report.pages, 'page')} replayed, ${formatBytes(report.bytes)}: ${report.new} new, ${report.duplicate} already in the archive, in ${(report.elapsedMs / 1000).toFixed(1)} s`,
      );
    const { damaged, unresolved, limit } = report;
    if (limit) terminal.say(`stopped at the limit of ${limit}`);
    if (unresolved > 0)
      terminal.say(`${counted(unresolved, 'revisit')} left out: ${path} does not have their contents`);
    if (damaged > 0) terminal.say(`${counted(damaged, 'damaged record')} left out; \`pinakes verify\` lists them`);
    return damaged > 0 ? EXIT_FOUND : EXIT_FINE;
  } finally {
    await source.close();
  }
}
