/** Finds the neighbours of a capture, and alternatives to a missing page. */
import { rangeOfKey } from '../../archive/index.ts';
import type { EpochMs } from '../../base/index.ts';
import { keyRange, urlKey } from '../../url/index.ts';
import { isOfScheme } from './candidates.ts';
import type { Capture, CaptureRange, CaptureSource } from './capture.ts';
import { captureAt, dependsOnRecord, isShown } from './capture-choice.ts';

export type Neighbours = {
  readonly first: Capture | undefined;
  readonly previous: Capture | undefined;
  readonly next: Capture | undefined;
  readonly last: Capture | undefined;
};

/** How many captures are looked up at once; the first is nearly always shown. */
const PAGE_SIZE = 4;
/** If this many records are read and none is shown, the neighbour is left out. */
const READ_MAX = 64;

/**
 * The first, previous, next and last capture of the same key. They are looked up if `siblings` is undefined. A capture
 * is passed over when another is shown in its place, because a link to the previous capture must not lead back to this
 * one.
 */
export async function neighboursOf(
  archive: CaptureSource,
  capture: Capture,
  siblings?: readonly Capture[],
): Promise<Neighbours> {
  const second = secondOf(capture.time);
  const key = rangeOfKey(capture.urlKey);
  const from = (range: CaptureRange) => archive.captures({ ...key, ...range }, PAGE_SIZE);
  const backwards = siblings?.toReversed();
  const shown = (pages: Parameters<typeof firstShown>[1]) => firstShown(archive, pages, capture.url);
  const [first, previous, next, last] = await Promise.all([
    shown(siblings ? [siblings] : from({})),
    shown(backwards ? [backwards.filter(({ time }) => time < second)] : from({ timeTo: second - 1, reverse: true })),
    shown(siblings ? [siblings.filter(({ time }) => time >= second + 1000)] : from({ timeFrom: second + 1000 })),
    shown(backwards ? [backwards] : from({ reverse: true })),
  ]);
  return { first, previous, next, last };
}

async function firstShown(
  archive: CaptureSource,
  pages: Iterable<readonly Capture[]> | AsyncIterable<readonly Capture[]>,
  url: string,
): Promise<Capture | undefined> {
  let read = 0;
  for await (const page of pages)
    for (const capture of page) {
      if (!isOfScheme(capture, url)) continue;
      if (await isShown(archive, capture)) return capture;
      if (dependsOnRecord(capture) && ++read >= READ_MAX) return undefined;
    }
  return undefined;
}

/** The capture of a URL that is shown at a time, and its neighbours. */
export async function shownAround(
  archive: CaptureSource,
  url: string,
  at: EpochMs,
): Promise<{ readonly current: Capture; readonly neighbours: Neighbours } | undefined> {
  const found = await captureAt(archive, { key: urlKey(url), url, at, side: 'either' });
  if (!found) return undefined;
  return { current: found.capture, neighbours: await neighboursOf(archive, found.capture, found.siblings) };
}

/** The URIs of mementos have whole seconds. */
function secondOf(time: EpochMs): EpochMs {
  return Math.floor(time / 1000) * 1000;
}

/** What to offer a reader in place of a missing page. */
export type Alternatives = {
  /** Captures of the same URL that cannot be shown, such as revisits without their content. */
  readonly unshown: readonly Capture[];
  /** Pages nearby on the same host, nearest path first; one capture of each. */
  readonly nearby: readonly Capture[];
};

const NEARBY_MAX = 10;
const SCANNED_MAX = 400;

export async function alternativesTo(archive: CaptureSource, url: string): Promise<Alternatives> {
  const key = urlKey(url);
  const unshown: Capture[] = [];
  for await (const page of archive.captures({ ...rangeOfKey(key), reverse: true }, NEARBY_MAX)) {
    unshown.push(...page.slice(0, NEARBY_MAX));
    break;
  }
  const nearby = new Map<string, Capture>();
  for (const parent of parentsOf(url)) {
    if (nearby.size >= NEARBY_MAX) break;
    await addNearby(archive, parent, key, nearby);
  }
  return { unshown, nearby: [...nearby.values()] };
}

/** The folders above a URL, the nearest first, up to the host. */
function parentsOf(url: string): string[] {
  const parsed = URL.parse(url);
  if (!parsed || parsed.host === '') return [];
  const parts = parsed.pathname.split('/').filter((part) => part !== '');
  const parents: string[] = parsed.search === '' ? [] : [`${parsed.origin}${parsed.pathname}`];
  for (let length = parts.length - 1; length >= 0 && parents.length < 4; length--) {
    parents.push(`${parsed.origin}/${parts.slice(0, length).join('/')}${length > 0 ? '/' : ''}`);
  }
  return parents;
}

async function addNearby(
  archive: CaptureSource,
  parent: string,
  own: string,
  found: Map<string, Capture>,
): Promise<void> {
  let scanned = 0;
  for (const { from, to } of keyRange(parent, 'prefix')) {
    for await (const page of archive.captures({ keyFrom: from, keyTo: to }, 100)) {
      for (const capture of page) {
        const isPage = capture.status === 200 && (capture.mime === 'text/html' || capture.mime === 'application/pdf');
        if (isPage && capture.urlKey !== own) found.set(capture.urlKey, capture);
        if (found.size >= NEARBY_MAX || ++scanned >= SCANNED_MAX) return;
      }
    }
  }
}
