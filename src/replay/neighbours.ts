/** What surrounds a capture: the others of its URL, and, where there is none, what a reader may have meant. */
import { type Archive, rangeOfKey } from '../archive/index.ts';
import type { EpochMs } from '../base/index.ts';
import { keyRange, urlKey } from '../url/index.ts';
import type { Capture, CaptureRange } from './capture.ts';
import type { MementoNeighbours } from './memento.ts';

/** Records about a page are no state of it, and a revisit whose content the archive has not is nothing to see. */
export function isMemento(capture: Capture): boolean {
  return capture.kind !== 'metadata' && !(capture.kind === 'revisit' && capture.block === undefined);
}

/** How many are looked up at once; nearly always the first is a memento. */
const LOOKED_AT = 4;

/** First, previous, next and last memento of the same key; looked up, unless all captures of it are at hand. */
export async function neighboursOf(
  { catalog }: Archive,
  capture: Capture,
  siblings?: readonly Capture[],
): Promise<MementoNeighbours> {
  if (siblings) return neighboursAmong(siblings.filter(isMemento), capture);
  const range = rangeOfKey(capture.urlKey);
  const one = async (part: CaptureRange): Promise<Capture | undefined> => {
    for await (const page of catalog.captures({ ...range, ...part }, LOOKED_AT)) {
      const found = page.find(isMemento);
      if (found) return found;
    }
    return undefined;
  };
  const [first, previous, next, last] = await Promise.all([
    one({}),
    one({ timeTo: secondOf(capture.time) - 1, reverse: true }),
    one({ timeFrom: secondOf(capture.time) + 1000 }),
    one({ reverse: true }),
  ]);
  return { first, previous, next, last };
}

function neighboursAmong(siblings: readonly Capture[], { time }: Capture): MementoNeighbours {
  const second = secondOf(time);
  return {
    first: siblings[0],
    previous: siblings.findLast((other) => other.time < second),
    next: siblings.find((other) => other.time >= second + 1000),
    last: siblings.at(-1),
  };
}

/** Mementos are told apart by whole seconds, which is all that their URIs can say. */
function secondOf(time: EpochMs): EpochMs {
  return Math.floor(time / 1000) * 1000;
}

/** What to offer a reader in place of a page that is not there. */
export type Alternatives = {
  /** Captures of the same URL that cannot be shown, such as revisits without their content. */
  readonly unshown: readonly Capture[];
  /** Pages nearby on the same host, nearest path first; one capture of each. */
  readonly nearby: readonly Capture[];
};

const NEARBY_MAX = 10;
const SCANNED_MAX = 400;

export async function alternativesTo(archive: Archive, url: string): Promise<Alternatives> {
  const { catalog } = archive;
  const key = urlKey(url);
  const unshown: Capture[] = [];
  for await (const page of catalog.captures({ ...rangeOfKey(key), reverse: true }, NEARBY_MAX)) {
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

async function addNearby(archive: Archive, parent: string, own: string, found: Map<string, Capture>): Promise<void> {
  let scanned = 0;
  for (const { from, to } of keyRange(parent, 'prefix')) {
    for await (const page of archive.catalog.captures({ keyFrom: from, keyTo: to }, 100)) {
      for (const capture of page) {
        const isPage = capture.status === 200 && (capture.mime === 'text/html' || capture.mime === 'application/pdf');
        if (isPage && capture.urlKey !== own) found.set(capture.urlKey, capture);
        if (found.size >= NEARBY_MAX || ++scanned >= SCANNED_MAX) return;
      }
    }
  }
}
