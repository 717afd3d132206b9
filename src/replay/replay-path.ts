/**
 * Parses paths of replay, as received, with their query:
 *
 *     /web/<time><modifier>/<url>      a capture; up to 17 digits of time
 *     /web/[from][-to]* /<url>         the captures of a URL (without the space); <url>*: of all URLs with that prefix
 *     /web/timemap/<format>/<url>      a list of mementos
 *     /web/<url>                       the TimeGate
 *
 * The URL is taken as it is written, with its escapes. Slashes that proxies have merged (`http:/example.org`) and a
 * missing scheme are restored. The parser does not throw for any path.
 */
import { type EpochMs, formatTimestamp, parseTimestamp, parseTimestampEnd } from '../base/index.ts';
import { type Modifier, modifierOf } from './rewrite/modifier.ts';

export const REPLAY_ROOT = '/web/';

const URL_CHARACTERS_MAX = 32 * 1024;

export type ReplayPath =
  | {
      readonly kind: 'capture';
      readonly time: EpochMs;
      /** The digits as written. 14 digits mean a second. Fewer digits mean a span from `time` to `timeEnd`. */
      readonly timestamp: string;
      readonly timeEnd: EpochMs;
      readonly modifier: Modifier;
      readonly url: string;
    }
  | {
      readonly kind: 'query';
      readonly url: string;
      readonly isPrefix: boolean;
      readonly from?: EpochMs;
      readonly to?: EpochMs;
    }
  | { readonly kind: 'timemap'; readonly format: string; readonly url: string }
  | { readonly kind: 'timegate'; readonly url: string; readonly modifier: Modifier }
  | { readonly kind: 'bad'; readonly problem: string };

const TIMEMAP = /^timemap\/(?:([a-z]{1,16})\/)?(.*)$/s;
const QUERY = /^(\d{1,17})?(?:-(\d{1,17})?)?\*\/(.*)$/s;
const CAPTURE = /^(\d{1,64})?([a-z]{1,8}_)?\/{1,3}(.*)$/s;

export function parseReplayPath(path: string): ReplayPath {
  if (!path.startsWith(REPLAY_ROOT)) return bad('this is not a path of replay');
  if (path.length > URL_CHARACTERS_MAX) return bad('the URL is too long');
  const rest = path.slice(REPLAY_ROOT.length);
  const timemap = TIMEMAP.exec(rest);
  if (timemap) return withUrl(timemap[2]!, (url) => ({ kind: 'timemap', format: timemap[1] ?? 'link', url }));
  const query = QUERY.exec(rest);
  if (query) return parseQuery(query[1], query[2], query[3]!);
  const capture = CAPTURE.exec(rest);
  if (capture && (capture[1] !== undefined || capture[2] !== undefined)) {
    return parseCapture(capture[1], capture[2] ?? '', capture[3]!);
  }
  return withUrl(rest, (url) => ({ kind: 'timegate', url, modifier: '' }));
}

function parseQuery(from: string | undefined, to: string | undefined, pattern: string): ReplayPath {
  const isPrefix = pattern.endsWith('*');
  const start = from === undefined ? undefined : timeOf(from);
  const end = to === undefined ? undefined : endOf(to);
  if ((from !== undefined && start === undefined) || (to !== undefined && end === undefined)) {
    return bad('this is not a time');
  }
  return withUrl(isPrefix ? pattern.slice(0, -1) : pattern, (url) => ({
    kind: 'query',
    url,
    isPrefix,
    ...(start !== undefined && { from: start }),
    ...(end !== undefined && { to: end }),
  }));
}

function parseCapture(digits: string | undefined, suffix: string, text: string): ReplayPath {
  const modifier = modifierOf(suffix);
  if (modifier === undefined) return bad(`there is no modifier ${suffix}`);
  if (digits === undefined) return withUrl(text, (url) => ({ kind: 'timegate', url, modifier }));
  const time = timeOf(digits);
  if (time === undefined) return bad(`there is no time ${digits}`);
  const timeEnd = endOf(digits) ?? time;
  return withUrl(text, (url) => ({ kind: 'capture', time, timeEnd, timestamp: digits, modifier, url }));
}

function bad(problem: string): ReplayPath {
  return { kind: 'bad', problem };
}

function withUrl(text: string, make: (url: string) => ReplayPath): ReplayPath {
  const url = wholeUrl(text);
  return url === undefined ? bad('there is no URL') : make(url);
}

/** People write `/web/2/` for the latest capture and `/web/0/` for the first. */
function timeOf(digits: string): EpochMs | undefined {
  if (digits.length < 4) return parseTimestamp(digits.padEnd(4, digits < '2' ? '0' : '9'));
  return parseTimestamp(digits.length < 14 && digits.length % 2 === 1 ? digits.slice(0, -1) : digits);
}

function endOf(digits: string): EpochMs | undefined {
  if (digits.length < 4) return parseTimestampEnd(digits.padEnd(4, '9'));
  return parseTimestampEnd(digits.length < 14 && digits.length % 2 === 1 ? digits.slice(0, -1) : digits);
}

const SLASHED_SCHEME = /^(https?|ftp):\/+/i;
const OTHER_SCHEME = /^(?:urn|dns|whois|screenshot|metadata|about|blob|data|mailto|file|filedesc):/i;

/** The URL that a path means; undefined if the path has none. */
function wholeUrl(text: string): string | undefined {
  const bare = text.trim();
  if (bare === '' || /^[/\\]+$/.test(bare)) return undefined;
  const scheme = SLASHED_SCHEME.exec(bare);
  if (scheme) {
    const rest = bare.slice(scheme[0].length);
    return rest === '' || /^[/?#]/.test(rest) ? undefined : `${scheme[1]!.toLowerCase()}://${rest}`;
  }
  // Some programs escape the URL with its scheme.
  if (/^https?%3a/i.test(bare)) {
    try {
      return wholeUrl(decodeURIComponent(bare));
    } catch {
      return undefined;
    }
  }
  if (OTHER_SCHEME.test(bare)) return bare;
  return `http://${bare.replace(/^\/+/, '')}`;
}

/** The path under which a capture is replayed. */
export function replayPath(url: string, time: EpochMs | undefined, modifier: Modifier): string {
  return `${REPLAY_ROOT}${time === undefined ? '' : formatTimestamp(time)}${modifier}/${url}`;
}
