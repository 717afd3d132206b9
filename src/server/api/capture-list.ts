/**
 * Captures of one URL in pages, in order of time, forward or reverse. The cost of a page depends on the length of the
 * page, not on the number of captures of the URL. With long URLs a page ends before its limit.
 *
 * The cursor is `<time>.<segment>.<offset>` of the last capture of a page, all in base 36.
 */
import type { Archive } from '../../archive/index.ts';
import type { EpochMs } from '../../base/index.ts';
import { type Capture, type CapturePosition, type CaptureRange, rangeOfKey } from '../../catalog/index.ts';
import { typedUrl, type UrlKey, urlKey } from '../../url/index.ts';
import { invalidCursor } from '../http/problem.ts';
import type { WithPrevious } from './capture-item.ts';

/** The maximum total length of the URLs of a page. One URL may have 64 Ki characters. */
const CHARACTERS_MAX = 2 * 1024 * 1024;
const READ_CAPTURES = 50;

export type CaptureQuestion = {
  readonly url: string;
  readonly from?: EpochMs | undefined;
  readonly to?: EpochMs | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
  readonly isReverse: boolean;
};

export type CapturePage = { readonly list: WithPrevious[]; readonly next: string | undefined };

export async function listCaptures(archive: Archive, question: CaptureQuestion): Promise<CapturePage> {
  const key = urlKey(typedUrl(question.url));
  const { from, to, limit, isReverse } = question;
  await using view = await archive.view();
  const range: CaptureRange = {
    ...rangeOfKey(key),
    reverse: isReverse,
    ...(from !== undefined && { timeFrom: from }),
    ...(to !== undefined && { timeTo: to }),
    ...(question.after !== undefined && { after: positionOf(key, question.after) }),
  };
  const take = async (wanted: CaptureRange, count: number): Promise<Capture[]> => {
    const found: Capture[] = [];
    let characters = 0;
    for await (const page of view.captures(wanted, Math.min(count, READ_CAPTURES))) {
      for (const capture of page) {
        found.push(capture);
        characters += capture.url.length;
        if (found.length >= count || (found.length > 1 && characters > CHARACTERS_MAX)) return found;
      }
    }
    return found;
  };
  // If there is one capture more than the page can have, there is a next page.
  const found = await take(range, limit + 1);
  const isCut = found.length > limit || (found.length > 1 && sumOf(found) > CHARACTERS_MAX);
  const shown = isCut ? found.slice(0, -1) : found;
  const last = shown.at(-1);
  if (!last) return { list: [], next: undefined };
  // The capture before the earliest one of the page may be outside of the requested times.
  const earliest = isReverse ? last : shown[0]!;
  const [before] = await take({ ...rangeOfKey(key), reverse: true, after: earliest }, 1);
  const inOrder = isReverse ? shown.toReversed() : shown;
  const list = inOrder.map((capture, index) => ({ capture, previous: index === 0 ? before : inOrder[index - 1] }));
  return {
    list: isReverse ? list.toReversed() : list,
    next: isCut ? cursorOf(last) : undefined,
  };
}

function sumOf(captures: readonly Capture[]): number {
  return captures.reduce((sum, { url }) => sum + url.length, 0);
}

/** The capture of this URL before this capture. */
export async function previousOf(archive: Archive, capture: Capture): Promise<Capture | undefined> {
  for await (const [before] of archive.captures({ ...rangeOfKey(capture.urlKey), reverse: true, after: capture }, 1))
    return before;
  return undefined;
}

function cursorOf({ time, place }: Capture): string {
  return [time, place.segment, place.offset].map((number) => number.toString(36)).join('.');
}

/** The position after which a page begins, whether or not its capture still exists. */
function positionOf(key: UrlKey, cursor: string): CapturePosition {
  const match = /^(-?[0-9a-z]{1,11})\.([0-9a-z]{1,9})\.([0-9a-z]{1,11})$/.exec(cursor);
  if (!match) throw invalidCursor();
  const [time, segment, offset] = match.slice(1).map((part) => Number.parseInt(part, 36));
  return { urlKey: key, time: time!, place: { segment: segment!, offset: offset! } };
}
