/**
 * The captures that may answer a request, the best first: captures of the requested second, then the others by distance
 * in time.
 *
 * `/a` and `/A`, or `/a//b` and `/a/b`, have the same key, as in other archives. A server may answer them differently.
 * So within one visit (VISIT_MS), captures of the very URL come first. Beyond one visit the time decides, because links
 * may use either URL.
 */
import { rangeOfKey, VISIT_MS } from '../../archive/index.ts';
import { type EpochMs, equal } from '../../base/index.ts';
import { type UrlKey, urlKey } from '../../url/index.ts';
import type { Capture, CaptureSource } from './capture.ts';
import { answersGet, type Exchange } from './exchange-key.ts';

const PAGE_SIZE = 16;
const SECOND_MS = 999;
/** How many captures are held back while a capture of the very URL, or an answer to a GET, is searched. */
const HELD_MAX = 64;

export type Wanted = {
  readonly key: UrlKey;
  readonly url: string;
  /** Undefined for the latest. */
  readonly at: EpochMs | undefined;
  readonly side: 'either' | 'notAfter';
  /**
   * The field Range of the request. If the archive has only parts of the content, the part with the first of these
   * bytes is wanted.
   */
  readonly range?: string | undefined;
  /** The method and data of a request that sends data. */
  readonly exchange?: Exchange | undefined;
};

/** `siblings` are all captures of the key in order of time, if they are few. */
export function candidatesFor(
  archive: CaptureSource,
  wanted: Wanted,
  siblings: readonly Capture[] | undefined,
): AsyncIterable<Capture> | Iterable<Capture> {
  if (!siblings) {
    const candidates = veryUrlFirst(scanned(archive, wanted), wanted);
    return wanted.exchange ? candidates : exchangesLast(archive, candidates, wanted, () => true);
  }
  const ordered = inOrder(ofScheme(siblings, wanted.url), wanted);
  if (ordered.length < 2) return ordered;
  const candidates = isOfVeryUrl(ordered[0]!, wanted.url) ? ordered : veryUrlFirst(ordered, wanted);
  // A client that names a second gets a capture of that second; of several contents, the one that answers a GET.
  const ofSecond = siblings.filter((capture) => isOfSecond(capture, wanted));
  const mayAnswerExchange = (capture: Capture) =>
    hasOtherContent(capture, isOfSecond(capture, wanted) ? ofSecond : siblings);
  if (wanted.exchange || !mayAnswerExchange(ordered[0]!)) return candidates;
  return exchangesLast(archive, candidates, wanted, mayAnswerExchange);
}

/**
 * Moves answers to requests with data, of forms and scripts, behind the other captures. These answers have the key of
 * the page itself, but a link does not lead to them.
 */
async function* exchangesLast(
  archive: CaptureSource,
  candidates: AsyncIterable<Capture> | Iterable<Capture>,
  wanted: Wanted,
  mayAnswerExchange: (capture: Capture) => boolean,
): AsyncGenerator<Capture> {
  const held: Capture[] = [];
  let isInSecond = true;
  let count = 0;
  for await (const capture of candidates) {
    if (isInSecond && !isOfSecond(capture, wanted)) {
      isInSecond = false;
      yield* held.splice(0);
    }
    if (++count > HELD_MAX) yield* held.splice(0);
    const isChecked = count <= HELD_MAX && mayAnswerExchange(capture);
    if (isChecked && !(await answersGet(archive, capture))) held.push(capture);
    else yield capture;
  }
  yield* held;
}

/** Whether the same visit captured another content for the key. That is rare, so request records are rarely read. */
function hasOtherContent(capture: Capture, siblings: readonly Capture[]): boolean {
  const { time, block } = capture;
  return siblings.some((other) => {
    const isOfVisit = other !== capture && Math.abs(other.time - time) <= VISIT_MS;
    return isOfVisit && !(block && other.block && equal(block.digest, other.block.digest));
  });
}

/** The best capture that `accepts` returns true for. */
export async function firstCandidate(
  archive: CaptureSource,
  url: string,
  at: EpochMs | undefined,
  accepts: (capture: Capture) => boolean,
): Promise<Capture | undefined> {
  const key = urlKey(url);
  const siblings = await archive.capturesOf(key);
  for await (const capture of candidatesFor(archive, { key, url, at, side: 'either' }, siblings))
    if (accepts(capture)) return capture;
  return undefined;
}

export function isSame(a: Capture, b: Capture): boolean {
  return a.time === b.time && a.place.segment === b.place.segment && a.place.offset === b.place.offset;
}

export function isOfSecond({ time }: Pick<Capture, 'time'>, { at }: Pick<Wanted, 'at'>): boolean {
  return at !== undefined && time >= at && time <= at + SECOND_MS;
}

/** How far a capture is from the wanted time; the best capture has the lowest value. */
function distanceOf({ time }: Capture, { at, side }: Wanted): number {
  if (at === undefined) return -time;
  if (isOfSecond({ time }, { at })) return -1;
  return side === 'notAfter' && isNewer(time, at) ? Number.MAX_SAFE_INTEGER / 2 + time - at : Math.abs(time - at);
}

/** All captures of the key, the best by time first. */
export function nearestFirst(
  archive: CaptureSource,
  wanted: Wanted,
  siblings: readonly Capture[] | undefined,
): AsyncIterable<Capture> | Iterable<Capture> {
  return siblings ? inOrder(ofScheme(siblings, wanted.url), wanted) : scanned(archive, wanted);
}

/**
 * Whether a capture has the scheme of a URL; `http` and `https` count as one. Keys do not contain the scheme. So the
 * record `dns://example.org`, which some crawlers write, has the key of the page `http://example.org/`.
 */
export function isOfScheme(capture: Pick<Capture, 'url'>, url: string): boolean {
  return schemeOf(capture.url) === schemeOf(url);
}

function ofScheme(captures: readonly Capture[], url: string): readonly Capture[] {
  return captures.every((capture) => isOfScheme(capture, url))
    ? captures
    : captures.filter((capture) => isOfScheme(capture, url));
}

function schemeOf(url: string): string {
  if (/^https?:/.test(url)) return 'http';
  const scheme = /^[\s<]*([a-z][a-z0-9+.-]*):\/\//i.exec(url)?.[1]?.toLowerCase();
  return scheme === undefined || scheme === 'https' ? 'http' : scheme;
}

/** The best by time first; of captures with equal times, the last in order. */
function inOrder(captures: readonly Capture[], wanted: Wanted): Capture[] {
  const latestFirst = captures.toReversed();
  if (wanted.at === undefined || latestFirst.length < 2) return latestFirst;
  return latestFirst.sort((a, b) => distanceOf(a, wanted) - distanceOf(b, wanted) || a.time - b.time);
}

async function* veryUrlFirst(
  captures: AsyncIterable<Capture> | Iterable<Capture>,
  wanted: Wanted,
): AsyncGenerator<Capture> {
  let held: Capture[] | undefined;
  let farthest = 0;
  for await (const capture of captures) {
    if (!held) {
      held = [];
      // The best capture nearly always has the very URL.
      if (isOfVeryUrl(capture, wanted.url)) farthest = Number.NEGATIVE_INFINITY;
      else farthest = distanceOf(capture, wanted) + VISIT_MS;
    }
    if (held.length >= HELD_MAX || distanceOf(capture, wanted) > farthest) {
      farthest = Number.NEGATIVE_INFINITY;
      yield* held.splice(0);
      yield capture;
    } else if (isOfVeryUrl(capture, wanted.url)) yield capture;
    else held.push(capture);
  }
  if (held) yield* held;
}

/** Whether a capture has the very URL. `http` and `https` count as one, and so do hosts with and without `www`. */
function isOfVeryUrl(capture: Capture, url: string): boolean {
  return capture.url === url || plainUrl(capture.url) === plainUrl(url);
}

function plainUrl(url: string): string {
  const parsed = URL.parse(url);
  return parsed ? parsed.host.replace(/^www\d*\./, '') + parsed.pathname + parsed.search : url;
}

/** All captures in the order of `inOrder`, for a key with many captures. */
async function* scanned(archive: CaptureSource, wanted: Wanted): AsyncGenerator<Capture> {
  for await (const capture of scannedKey(archive, wanted)) if (isOfScheme(capture, wanted.url)) yield capture;
}

/** The first capture takes a single look-up; the others come from two scans, backwards and forwards in time. */
async function* scannedKey(archive: CaptureSource, { key, at, side }: Wanted): AsyncGenerator<Capture> {
  const range = rangeOfKey(key);
  if (at === undefined) {
    for await (const page of archive.captures({ ...range, reverse: true }, PAGE_SIZE)) yield* page;
    return;
  }
  const within = await archive.nearest(key, at + SECOND_MS, 'notAfter');
  const exact = within && within.time >= at ? ((await firstFrom(archive, key, at)) ?? within) : undefined;
  const nearest = exact ?? (await archive.nearest(key, at, 'either'));
  const first = side === 'notAfter' && nearest && isNewer(nearest.time, at) ? within : nearest;
  if (first) yield first;
  const back = walk(archive.captures({ ...range, timeTo: at + SECOND_MS, reverse: true }, PAGE_SIZE));
  const forth = walk(archive.captures({ ...range, timeFrom: at + SECOND_MS + 1 }, PAGE_SIZE));
  try {
    let before = await back.next();
    let after = await forth.next();
    while (!before.done || !after.done) {
      const takesBefore = isBeforeBetter(before.value, after.value, at, side);
      const capture = (takesBefore ? before.value : after.value)!;
      if (takesBefore) before = await back.next();
      else after = await forth.next();
      if (!first || !isSame(capture, first)) yield capture;
    }
  } finally {
    await back.return(undefined);
    await forth.return(undefined);
  }
}

/** The first capture at or after a time. */
async function firstFrom(archive: CaptureSource, key: UrlKey, timeFrom: EpochMs): Promise<Capture | undefined> {
  for await (const [first] of archive.captures({ ...rangeOfKey(key), timeFrom }, 1)) return first;
  return undefined;
}

/** Whether a capture is more than a visit newer than a page of this time, so that its reader could not have seen it. */
function isNewer(time: EpochMs, at: EpochMs): boolean {
  return time - at > VISIT_MS;
}

async function* walk(pages: AsyncIterable<Capture[]>): AsyncGenerator<Capture, undefined> {
  for await (const page of pages) yield* page;
  return undefined;
}

function isBeforeBetter(
  before: Capture | undefined,
  after: Capture | undefined,
  at: EpochMs,
  side: Wanted['side'],
): boolean {
  if (!before || !after) return before !== undefined;
  return (side === 'notAfter' && isNewer(after.time, at)) || at - before.time <= after.time - at;
}
