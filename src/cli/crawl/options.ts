/**
 * The options of `pinakes crawl`, and the settings they stand for. An option that is not given sets nothing, so that a
 * resumed or repeated crawl keeps its earlier setting.
 */
import { type Command, Option } from 'commander';
import { badArgument, type PinakesError } from '../../base/index.ts';
import type { BrowserUse, CrawlSettings, GonePolicy, ScopeKind } from '../../crawl/index.ts';
import type { ArchiveCommandOptions } from '../archive-command.ts';
import { appendValue, choiceOption } from '../command.ts';
import { parseSpan } from '../span.ts';

export type CrawlCommandOptions = ArchiveCommandOptions & {
  readonly seeds?: string;
  readonly collection?: string;
  readonly scope?: ScopeKind;
  readonly depth?: string;
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
  readonly pages?: string;
  readonly bytes?: string;
  readonly time?: string;
  readonly bodyLimit?: string;
  readonly delay?: string;
  readonly concurrency?: string;
  readonly hostConcurrency?: string;
  readonly allowPrivate?: boolean;
  readonly anyCertificate?: boolean;
  readonly robots?: 'obey' | 'ignore';
  readonly nofollow?: 'obey' | 'ignore';
  readonly sitemaps?: boolean;
  readonly htmlOnly?: boolean;
  readonly conditional?: boolean;
  readonly browser?: BrowserUse;
  readonly browserPath?: string;
  readonly browserSandbox?: boolean;
  readonly browsers?: string;
  readonly renderTime?: string;
  readonly screenshots?: boolean;
  readonly userAgent?: string;
  readonly contact?: string;
  readonly again?: boolean | string;
  readonly resume?: boolean | string;
  readonly fresh?: boolean;
  readonly join?: string;
  readonly budget?: string;
  readonly fixed?: boolean;
  readonly lifetime?: string;
  readonly gone?: GonePolicy;
  readonly every?: string;
  readonly due?: boolean;
  readonly schedules?: boolean;
  readonly replay?: string;
  readonly rate?: string;
};

const SCOPES: readonly ScopeKind[] = ['host', 'domain', 'prefix', 'list'];
const OBEDIENCE = ['obey', 'ignore'];
const GONE_POLICIES: readonly GonePolicy[] = ['keep-history', 'expunge'];

export function addCrawlOptions(command: Command): Command {
  return command
    .option('--seeds <file>', 'also start from the URLs in this file, one per line; `-` is standard input')
    .option('--collection <name>', 'the collection to store the captures in')
    .addOption(new Option('--scope <scope>', 'which URLs belong to the crawl (default: host)').choices(SCOPES))
    .option('--depth <links>', 'follow at most this many links from a seed')
    .option('--include <pattern>', 'only pages whose URL matches this regular expression; may be repeated', appendValue)
    .option('--exclude <pattern>', 'nothing whose URL matches this regular expression; may be repeated', appendValue)
    .option('--pages <number>', 'stop after this many pages')
    .option('--bytes <size>', 'stop after this many bytes, such as 500MB')
    .option('--time <span>', 'stop after this time, such as 30m or 12h')
    .option('--body-limit <size>', 'truncate longer bodies (default: 1GB)')
    .option('--delay <seconds>', 'wait at least this long between requests to a host (default: 1)')
    .option('--concurrency <number>', 'concurrent requests to all hosts together (default: 16)')
    .option('--host-concurrency <number>', 'concurrent requests to one host (default: 1)')
    .option('--allow-private', 'also connect to loopback and private addresses')
    .option('--any-certificate', 'accept certificates that cannot be verified, and TLS before 1.2')
    .addOption(new Option('--robots <what>', 'obey or ignore robots.txt (default: obey)').choices(OBEDIENCE))
    .addOption(
      new Option('--nofollow <what>', 'obey or ignore nofollow in pages and links (default: obey)').choices(OBEDIENCE),
    )
    .option('--no-sitemaps', 'do not read the sitemaps that robots.txt names')
    .option('--html-only', 'store only HTML, and fetch nothing that pages embed')
    .option('--no-conditional', 'fetch pages in full, without asking the server whether they changed')
    .addOption(
      choiceOption(
        '--browser [pages]',
        'also render pages in Chromium: all, or empty for pages without text in their HTML',
        ['all', 'empty', 'none'],
      )
        .preset('all')
        .argParser(browserUse),
    )
    .option(
      '--browser-path <file>',
      'the program file of Chromium or Chrome (default: PINAKES_BROWSER, or the usual places)',
    )
    .option('--no-browser-sandbox', 'run the browser without its sandbox, for containers in which it cannot start one')
    .option('--browsers <number>', 'with --browser: pages rendered concurrently (default: 2)')
    .option('--render-time <span>', 'with --browser: the time limit for rendering a page (default: 2m)')
    .option('--screenshots', 'with --browser: store a screenshot of every rendered page (default: true)')
    .option('--no-screenshots', 'with --browser: store no screenshots')
    .option('--user-agent <text>', 'the User-Agent of the requests')
    .option(
      '--contact <text>',
      'an e-mail address or URL at which the operator of a site can reach you; added to the user agent',
    )
    .option('--again [collection]', 'crawl the known pages of a collection again')
    .option('--budget <pages>', 'with --again: request at most this many pages, those that most likely changed')
    .option('--fixed', 'with --again: request every page')
    .option('--lifetime <span>', 'request a page again after this time, whatever the budget (default: 90d)')
    .addOption(
      new Option(
        '--gone <policy>',
        'what to do with the captures of pages that are gone (default: keep-history)',
      ).choices(GONE_POLICIES),
    )
    .option('--resume [collection]', 'continue an interrupted crawl')
    .option('--join <run>', 'help a crawl that runs on another machine: the number of its run, or its collection')
    .option('--fresh', 'discard the rest of an unfinished crawl of the collection')
    .option(
      '--every <time>',
      'repeat the crawl: hour, day, week, month, 6h, or five fields as in cron (UTC); `never` ends it',
    )
    .option('--due', 'run the scheduled crawls that are due')
    .option('--schedules', 'list the scheduled crawls')
    .option('--replay <archive>', 'crawl the pages of this archive instead of the web')
    .option('--rate <number>', 'with --replay: this many pages per second');
}

/** Refuses unknown values, because a seed directly after `--browser` is parsed as the value of the option. */
function browserUse(text: string): BrowserUse {
  if (text === 'all' || text === 'empty' || text === 'none') return text;
  throw bad('--browser', text, 'all, empty or none is expected; write the seeds before this option');
}

/** The settings for the options that were given. */
export function settingsOf(options: CrawlCommandOptions): Partial<CrawlSettings> {
  const settings: { -readonly [Name in keyof CrawlSettings]?: CrawlSettings[Name] } = {};
  const { collection, scope, include, exclude, robots, nofollow, gone, browser, screenshots } = options;
  Object.assign(
    settings,
    defined({ collection, scope, include, exclude, robots, nofollow, gone, browser, screenshots }),
  );
  if (options.depth !== undefined) settings.depthMax = wholeNumber(options.depth, '--depth');
  if (options.pages !== undefined) settings.pagesMax = wholeNumber(options.pages, '--pages');
  if (options.bytes !== undefined) settings.bytesMax = sizeOf(options.bytes, '--bytes');
  if (options.time !== undefined) settings.timeMsMax = parseSpan(options.time, '--time');
  if (options.bodyLimit !== undefined) settings.fetch = { bodyBytesMax: sizeOf(options.bodyLimit, '--body-limit') };
  if (options.delay !== undefined) settings.delayMs = Math.round(numberOf(options.delay, '--delay') * 1000);
  if (options.concurrency !== undefined) settings.concurrency = atLeastOne(options.concurrency, '--concurrency');
  if (options.hostConcurrency !== undefined)
    settings.hostConcurrency = atLeastOne(options.hostConcurrency, '--host-concurrency');
  if (options.budget !== undefined) settings.budget = wholeNumber(options.budget, '--budget');
  if (options.lifetime !== undefined) settings.lifetimeMs = parseSpan(options.lifetime, '--lifetime');
  if (options.browsers !== undefined) settings.browsers = atLeastOne(options.browsers, '--browsers');
  if (options.renderTime !== undefined) settings.renderMsMax = parseSpan(options.renderTime, '--render-time');
  if (options.browserSandbox === false) settings.browserSandbox = false;
  if (options.allowPrivate) settings.allowPrivate = true;
  if (options.anyCertificate) settings.anyCertificate = true;
  if (options.sitemaps === false) settings.sitemaps = false;
  if (options.htmlOnly) settings.htmlOnly = true;
  if (options.conditional === false) settings.conditional = false;
  if (options.fixed) settings.fixed = true;
  const agent = userAgentOf(options);
  if (agent !== undefined) settings.userAgent = agent;
  return settings;
}

function userAgentOf({ userAgent, contact }: CrawlCommandOptions): string | undefined {
  if (contact === undefined) return userAgent;
  return userAgent === undefined
    ? `Mozilla/5.0 (compatible; pinakes; web archive crawler; +${contact})`
    : `${userAgent} (+${contact})`;
}

function defined<T extends object>(values: T): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<T>;
}

function bad(where: string, text: string, detail: string): PinakesError {
  return badArgument(`${where} ${text}`, detail);
}

export function numberOf(text: string, where: string): number {
  const number = Number(text);
  if (text.trim() === '' || !Number.isFinite(number) || number < 0) throw bad(where, text, 'a number is expected');
  return number;
}

function wholeNumber(text: string, where: string): number {
  const number = numberOf(text, where);
  if (!Number.isInteger(number)) throw bad(where, text, 'a whole number is expected');
  return number;
}

function atLeastOne(text: string, where: string): number {
  const number = wholeNumber(text, where);
  if (number < 1) throw bad(where, text, 'at least 1 is expected');
  return number;
}

const SIZES: Readonly<Record<string, number>> = {
  '': 1,
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
};

function sizeOf(text: string, where: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim());
  const unit = SIZES[match?.[2]?.toUpperCase() ?? 'none'];
  if (!match || unit === undefined) throw bad(where, text, 'a size looks like 1000000, 500MB or 2GB');
  return Math.round(Number(match[1]) * unit);
}
