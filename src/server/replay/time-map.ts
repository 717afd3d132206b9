/**
 * TimeMaps (RFC 7089, section 5): the mementos of a URL, in link format, JSON or CDXJ. A page has up to
 * TIMEMAP_MEMENTOS_MAX mementos, fewer when the URL is long. The address of each further page has the time of the first
 * memento on that page. So a page is found without counting, and does not shift when captures are added.
 *
 *     /web/timemap/link/<url>                       the first page
 *     /web/timemap/link/<17 digits>/<url>           the page that begins there
 */
import type { Archive } from '../../archive/index.ts';
import { type EpochMs, formatTimestamp, formatW3cDate, parseTimestamp } from '../../base/index.ts';
import type { Capture } from '../../catalog/index.ts';
import {
  httpDate,
  linkOf,
  linkTarget,
  mementoUri,
  REPLAY_ROOT,
  type ReplayOrigins,
  resourceLinks,
  timeGateUri,
  timeMapUri,
} from '../../replay/index.ts';
import { badRequest } from '../http/problem.ts';
import { firstMemento, mementosFrom } from './mementos.ts';

const TIMEMAP_MEMENTOS_MAX = 5000;
/** The maximum total length of the URIs of a page. One URL may have 64 Ki characters. */
const TIMEMAP_CHARACTERS_MAX = 4 * 1024 * 1024;

export type TimeMapFormat = 'link' | 'json' | 'cdxj';

const CONTENT_TYPES: Readonly<Record<TimeMapFormat, string>> = {
  link: 'application/link-format',
  json: 'application/json; charset=utf-8',
  cdxj: 'text/x-cdxj; charset=utf-8',
};

export type TimeMapRequest = { readonly format: string; readonly url: string; readonly from?: EpochMs | undefined };

/** A memento and its URI. When one second has several, the URIs after the first have milliseconds too. */
type Entry = { readonly time: EpochMs; readonly uri: string };

type TimeMap = {
  readonly url: string;
  readonly self: string;
  readonly mementos: readonly Entry[];
  /** Whether this page has the first of all mementos. */
  readonly isFirstPage: boolean;
  /** The address of the next page, and the time of its first memento. */
  readonly next: { readonly uri: string; readonly from: EpochMs } | undefined;
  readonly last: Entry;
};

/** Returns undefined when the archive has no memento of the URL. */
export async function timeMapOf(
  archive: Archive,
  origins: ReplayOrigins,
  { format, url, from }: TimeMapRequest,
): Promise<{ contentType: string; text: string } | undefined> {
  if (!isFormat(format)) throw badRequest('the format of the TimeMap is unknown', 'Use link, json or cdxj.', format);
  const last = await firstMemento(archive, url, { reverse: true });
  if (!last) return undefined;
  const mementos: Entry[] = [];
  let next: Capture | undefined;
  let characters = 0;
  let taken = new Set<string>();
  for await (const capture of mementosFrom(archive, url, from)) {
    const before = mementos.at(-1);
    if (before && secondOf(capture) !== secondOf(before)) {
      // Mementos of one second stay together: their URIs depend on each other.
      if (mementos.length >= TIMEMAP_MEMENTOS_MAX || characters >= TIMEMAP_CHARACTERS_MAX) {
        next = capture;
        break;
      }
      taken = new Set();
    }
    const uri = uniqueUri(origins, capture, taken);
    // Captures of one URL at one instant are one memento.
    if (taken.has(uri)) continue;
    taken.add(uri);
    characters += uri.length;
    mementos.push({ time: capture.time, uri });
  }
  if (mementos.length === 0) return undefined;
  const map: TimeMap = {
    url,
    self: from === undefined ? timeMapUri(origins, url, format) : pageUri(origins, url, format, from),
    mementos,
    isFirstPage: from === undefined,
    next: next && { uri: pageUri(origins, url, format, next.time), from: next.time },
    last: next ? { time: last.time, uri: mementoUri(origins, last) } : mementos.at(-1)!,
  };
  return { contentType: CONTENT_TYPES[format], text: WRITERS[format](origins, map) };
}

/** Parses the path of a further page of a TimeMap; undefined for other paths. */
export function parseTimeMapPage(path: string): { path: string; from: EpochMs } | undefined {
  const match = /^(\/web\/timemap\/[a-z]{1,16}\/)(\d{17})\/(.+)$/s.exec(path);
  const from = match && parseTimestamp(match[2]!);
  return match && from !== undefined && from !== null ? { path: match[1]! + match[3]!, from } : undefined;
}

function isFormat(text: string): text is TimeMapFormat {
  return Object.hasOwn(CONTENT_TYPES, text);
}

function pageUri(origins: ReplayOrigins, url: string, format: TimeMapFormat, from: EpochMs): string {
  return `${timeMapUri(origins, '', format)}${exactTimestamp(from)}/${linkTarget(url)}`;
}

/** The URI of a memento; with milliseconds when another memento of its second has the plain URI. */
function uniqueUri(origins: ReplayOrigins, capture: Capture, taken: ReadonlySet<string>): string {
  const plain = mementoUri(origins, capture);
  if (!taken.has(plain)) return plain;
  return `${origins.replayOrigin}${REPLAY_ROOT}${exactTimestamp(capture.time)}mp_/${linkTarget(capture.url)}`;
}

function exactTimestamp(time: EpochMs): string {
  return formatTimestamp(time) + String(((time % 1000) + 1000) % 1000).padStart(3, '0');
}

function secondOf({ time }: Pick<Capture, 'time'>): number {
  return Math.floor(time / 1000);
}

const WRITERS: Readonly<Record<TimeMapFormat, (origins: ReplayOrigins, map: TimeMap) => string>> = {
  link: linkText,
  json: jsonText,
  cdxj: cdxjText,
};

function relationOf(map: TimeMap, index: number): string {
  const isFirst = map.isFirstPage && index === 0;
  const isLast = index === map.mementos.length - 1 && !map.next;
  return [isFirst && 'first', isLast && 'last', 'memento'].filter(Boolean).join(' ');
}

function linkText(origins: ReplayOrigins, map: TimeMap): string {
  const [original, timegate] = resourceLinks(origins, map.url);
  const type = 'type="application/link-format"';
  const until = map.mementos.at(-1)!.time;
  const self = `<${map.self}>; rel="self"; ${type}; from="${httpDate(map.mementos[0]!.time)}"; until="${httpDate(until)}"`;
  const next = map.next
    ? [
        `<${map.next.uri}>; rel="timemap"; ${type}; from="${httpDate(map.next.from)}"; until="${httpDate(map.last.time)}"`,
      ]
    : [];
  const mementos = map.mementos.map((entry, index) => linkOf(entry.uri, entry, relationOf(map, index)));
  return `${[original, self, timegate, ...next, ...mementos].join(',\n')}\n`;
}

function jsonText(origins: ReplayOrigins, map: TimeMap): string {
  const item = ({ time, uri }: Entry) => ({ datetime: formatW3cDate(time), uri });
  return `${JSON.stringify({
    original_uri: map.url,
    self: map.self,
    timegate_uri: timeGateUri(origins, map.url),
    timemap_uri: {
      link_format: timeMapUri(origins, map.url, 'link'),
      json_format: timeMapUri(origins, map.url, 'json'),
      cdxj_format: timeMapUri(origins, map.url, 'cdxj'),
    },
    mementos: {
      ...(map.isFirstPage && { first: item(map.mementos[0]!) }),
      last: item(map.last),
      list: map.mementos.map(item),
    },
    ...(map.next && { pages: { next: { uri: map.next.uri } } }),
  })}\n`;
}

function cdxjText(origins: ReplayOrigins, map: TimeMap): string {
  const maps = {
    link_format: timeMapUri(origins, map.url, 'link'),
    json_format: timeMapUri(origins, map.url, 'json'),
    cdxj_format: map.self,
  };
  const lines = [
    '!context ["http://tools.ietf.org/html/rfc7089"]',
    `!id ${JSON.stringify({ uri: map.self })}`,
    '!keys ["memento_datetime_YYYYMMDDhhmmss"]',
    `!meta ${JSON.stringify({ original_uri: map.url })}`,
    `!meta ${JSON.stringify({ timegate_uri: timeGateUri(origins, map.url) })}`,
    `!meta ${JSON.stringify({ timemap_uri: maps })}`,
    ...(map.next ? [`!meta ${JSON.stringify({ next_uri: map.next.uri })}`] : []),
    ...map.mementos.map(({ time, uri }, index) => {
      const facts = { uri, rel: relationOf(map, index), datetime: httpDate(time) };
      return `${formatTimestamp(time)} ${JSON.stringify(facts)}`;
    }),
  ];
  return `${lines.join('\n')}\n`;
}
