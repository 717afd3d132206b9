/**
 * Which capture answers a request.
 *
 * The one of the asked second when there is one; else the nearest. For a link in a page it is the newest that is not newer, so that a reader goes through
 * a site as it was; but a crawl fetches what a page links to after the page, so a capture of the hours that follow is not newer, only nearer or farther.
 * Passed over for the next best: revisits whose content is not held, records that are no answer of a server, answers without
 * content (304), parts of a content (206), preflights, and redirections of a URL to itself, which share a key with what they lead to and would lead back
 * here for ever.
 */
import { type Archive, type Retrieved, rangeOfKey } from '../archive/index.ts';
import { type EpochMs, PinakesError } from '../base/index.ts';
import { type UrlKey, urlKey } from '../url/index.ts';
import type { Capture } from './capture.ts';
import { capturesOfExchange } from './exchange-key.ts';
import { releaseBody } from './payload-body.ts';

/** How many captures are looked at before the best of those seen is taken. */
const CANDIDATES_MAX = 64;
const PAGE_SIZE = 16;
const SECOND_MS = 999;
/** Captures so soon after a page belong to the same visit of the crawler. */
const SAME_VISIT_MS = 12 * 60 * 60 * 1000;

export type Wanted = {
  readonly key: UrlKey;
  readonly url: string;
  /** The latest when undefined. */
  readonly at: EpochMs | undefined;
  readonly side: 'either' | 'notAfter';
  /** The key of the exchange, when the request sent something. */
  readonly exchangeKey?: UrlKey | undefined;
};

export type Chosen = {
  readonly capture: Capture;
  readonly retrieved: Retrieved;
  /** All captures of the key in order of time, when they are few. */
  readonly siblings: readonly Capture[] | undefined;
};

/** The capture that answers, opened; undefined when there is none. */
export async function chooseCapture(archive: Archive, wanted: Wanted): Promise<Chosen | undefined> {
  const siblings = await archive.catalog.capturesOf(wanted.key);
  const few = siblings && inOrder(siblings, wanted);
  const ofExchange = few && wanted.exchangeKey ? await capturesOfExchange(archive, few, wanted.exchangeKey) : [];
  let spare: Capture | undefined;
  let count = 0;
  for await (const capture of ofExchange.length > 0 ? ofExchange : (few ?? candidates(archive, wanted))) {
    if (++count > CANDIDATES_MAX) break;
    const rank = rankOf(capture);
    if (rank === 'unusable') continue;
    if (rank === 'spare') {
      spare ??= capture;
      continue;
    }
    const retrieved = await archive.open(capture);
    if (!isSelfRedirect(capture, retrieved) && !isPreflight(retrieved)) return { capture, retrieved, siblings };
    await releaseBody(retrieved.payload);
  }
  return spare && { capture: spare, retrieved: await archive.open(spare), siblings };
}

/** What is shown at a time, found without reading more of it than must be: damage is for who opens it to tell. */
export async function captureAt(archive: Archive, wanted: Wanted): Promise<Omit<Chosen, 'retrieved'> | undefined> {
  const siblings = await archive.catalog.capturesOf(wanted.key);
  const few = siblings && inOrder(siblings, wanted);
  let spare: Capture | undefined;
  let count = 0;
  for await (const capture of few ?? candidates(archive, wanted)) {
    if (++count > CANDIDATES_MAX) break;
    if (await isShown(archive, capture)) return { capture, siblings };
    if (rankOf(capture) === 'spare') spare ??= capture;
  }
  return spare && { capture: spare, siblings };
}

/** Whether a capture is shown for its own time, and no other in its place. Only of redirections the record is read for that. */
export async function isShown(archive: Archive, capture: Capture): Promise<boolean> {
  if (rankOf(capture) !== 'good') return false;
  if (!isRedirection(capture)) return true;
  try {
    const retrieved = await archive.open(capture);
    await releaseBody(retrieved.payload);
    return !isSelfRedirect(capture, retrieved);
  } catch (error) {
    // Who is led there is told what is wrong with it.
    if (error instanceof PinakesError) return true;
    throw error;
  }
}

/** Records about a page are no state of it, and a revisit whose content the archive has not is nothing to see. */
export function isMemento(capture: Capture): boolean {
  return capture.kind !== 'metadata' && !(capture.kind === 'revisit' && capture.block === undefined);
}

function rankOf(capture: Capture): 'good' | 'spare' | 'unusable' {
  if (!isMemento(capture)) return 'unusable';
  if (capture.kind === 'revisit') return 'good';
  if (capture.kind === 'conversion') return 'spare';
  return capture.status === 304 || capture.status === 206 || (capture.status >= 100 && capture.status < 200)
    ? 'spare'
    : 'good';
}

export function isRedirection({ status }: Capture): boolean {
  return status >= 300 && status <= 399 && status !== 304;
}

function isSelfRedirect(capture: Capture, { http }: Retrieved): boolean {
  if (!isRedirection(capture)) return false;
  // One that names nothing leads nowhere, and what was sent with it can be shown.
  const location = http?.get('location')?.trim() || undefined;
  const target = location === undefined ? undefined : URL.parse(location, capture.url)?.href;
  return target !== undefined && urlKey(target) === capture.urlKey;
}

/** What a server answers to the question whether it may be asked (CORS) stands under the same key as what it answers then. */
function isPreflight({ head }: Retrieved): boolean {
  return head.get('warc-resource-type') === 'preflight';
}

/** The best by time first; of one time the last. */
function inOrder(captures: readonly Capture[], { at, side }: Wanted): Capture[] {
  const latestFirst = captures.toReversed();
  if (at === undefined || latestFirst.length < 2) return latestFirst;
  const distance = ({ time }: Capture) => {
    if (time >= at && time <= at + SECOND_MS) return -1;
    return side === 'notAfter' && isNewer(time, at) ? Number.MAX_SAFE_INTEGER / 2 + time - at : Math.abs(time - at);
  };
  return latestFirst.sort((a, b) => distance(a) - distance(b) || a.time - b.time);
}

/** The same for a key of many captures. The first one costs a single look-up; the others come from two scans, back and forth in time. */
async function* candidates(archive: Archive, { key, at, side }: Wanted): AsyncGenerator<Capture> {
  const { catalog } = archive;
  const range = rangeOfKey(key);
  if (at === undefined) {
    for await (const page of catalog.captures({ ...range, reverse: true }, PAGE_SIZE)) yield* page;
    return;
  }
  const within = await catalog.nearest(key, at + SECOND_MS, 'notAfter');
  const isExact = within !== undefined && within.time >= at;
  const nearest = isExact ? within : await catalog.nearest(key, at, 'either');
  const first = side === 'notAfter' && nearest && isNewer(nearest.time, at) ? within : nearest;
  if (first) yield first;
  const back = walk(catalog.captures({ ...range, timeTo: at + SECOND_MS, reverse: true }, PAGE_SIZE));
  const forth = walk(catalog.captures({ ...range, timeFrom: at + SECOND_MS + 1 }, PAGE_SIZE));
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

/** Whether a capture shows what a reader of a page of this time could not have seen yet. */
function isNewer(time: EpochMs, at: EpochMs): boolean {
  return time - at > SAME_VISIT_MS;
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

function isSame(a: Capture, b: Capture): boolean {
  return a.time === b.time && a.place.segment === b.place.segment && a.place.offset === b.place.offset;
}
