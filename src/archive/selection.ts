/**
 * Selects captures by collection, URL, URL prefix or pattern, content, id, time, media type, status and query. A
 * capture must match every given field.
 */
import type { EpochMs } from '../base/index.ts';
import { type BlockKey, type Capture, type CaptureRange, compareBlockKeys, rangeOfKey } from '../catalog/index.ts';
import { type KeyRange, keyRange, parseUrlPattern, typedUrl, type UrlKey, urlKey } from '../url/index.ts';
import type { CaptureQuery } from './capture-query.ts';
import type { CaptureReader } from './read/capture-reader.ts';

export type Selection = {
  readonly collection?: number | undefined;
  readonly url?: string | undefined;
  /** A URL prefix, or a pattern like `*.example.org` or `example.org/a/*`. */
  readonly prefix?: string | undefined;
  readonly block?: BlockKey | undefined;
  /** One capture, wherever its record is. */
  readonly capture?: Pick<Capture, 'urlKey' | 'time' | 'hash' | 'collection'> | undefined;
  readonly from?: EpochMs | undefined;
  readonly to?: EpochMs | undefined;
  /**
   * A media type in lower case, and a status, both exact. `Archive.askedQuery` makes queries from `image/*` and `4xx`.
   */
  readonly mime?: string | undefined;
  readonly status?: number | undefined;
  /** Types of records: `response`, `revisit`... */
  readonly types?: readonly string[] | undefined;
  /** Further conditions. */
  readonly query?: CaptureQuery | undefined;
};

/** The selected captures, in order of key and time, in pages. */
export async function* selectCaptures(
  reader: Pick<CaptureReader, 'captures' | 'getBlocks'>,
  selection: Selection,
): AsyncGenerator<Capture[]> {
  for (const range of keyRanges(selection)) {
    const times: CaptureRange = {
      ...range,
      ...(selection.from !== undefined && { timeFrom: selection.from }),
      ...(selection.to !== undefined && { timeTo: selection.to }),
    };
    for await (const page of reader.captures(times)) {
      const meant = await selected(reader, page, selection);
      if (meant.length > 0) yield meant;
    }
  }
}

/**
 * The ranges of URL keys of a selection. One unbounded range when the selection names no URL, and no range when its
 * conditions contradict each other.
 */
export function keyRanges(selection: Selection): Pick<CaptureRange, 'keyFrom' | 'keyTo'>[] {
  const named = selection.prefix === undefined ? selection.query?.ranges : prefixRanges(selection.prefix);
  const ranges = named?.map(({ from, to }) => ({ keyFrom: from, keyTo: to })) ?? [{}];
  const keys = new Set(selection.url === undefined ? [] : [urlKey(typedUrl(selection.url))]);
  if (selection.capture) keys.add(selection.capture.urlKey);
  const [key] = keys;
  if (key === undefined) return ranges;
  return keys.size === 1 && isInKeyRanges(key, ranges) ? [rangeOfKey(key)] : [];
}

/** A prefix without a wildcard selects everything that begins with it. */
function prefixRanges(prefix: string): KeyRange[] {
  if (!prefix.includes('*')) return keyRange(typedUrl(prefix), 'prefix');
  const pattern = parseUrlPattern(prefix);
  return keyRange(pattern.url, pattern.matchType);
}

/** Whether a capture from any source is selected. `size` is the size of its payload. */
export function isMeant(capture: Capture, size: number, selection: Selection): boolean {
  if (!isSelected(capture, selection) || selection.query?.isMet({ ...capture, size }) === false) return false;
  return isInKeyRanges(capture.urlKey, keyRanges(selection));
}

/** Whether a URL key is in one of these ranges, in the byte order of the catalog. */
export function isInKeyRanges(key: UrlKey, ranges: ReturnType<typeof keyRanges>): boolean {
  return ranges.some(
    ({ keyFrom, keyTo }) =>
      (keyFrom === undefined || Buffer.compare(Buffer.from(keyFrom), Buffer.from(key)) <= 0) &&
      (keyTo === undefined || Buffer.compare(Buffer.from(key), Buffer.from(keyTo)) < 0),
  );
}

/** The captures that match a selection, out of captures that are already in its key ranges. */
export async function selected(
  reader: Pick<CaptureReader, 'getBlocks'>,
  captures: readonly Capture[],
  selection: Selection,
): Promise<Capture[]> {
  const found = captures.filter((capture) => isSelected(capture, selection));
  const { query } = selection;
  if (!query?.asksForSize) return found;
  const known = found.filter(({ block }) => block !== undefined);
  const blocks = await reader.getBlocks(known.map(({ block }) => block!));
  return known.filter((capture, index) => query.isMet({ ...capture, size: blocks[index]?.size }));
}

/** Like `isMeant` without the size of the payload, which is in another table of the catalog. */
function isSelected(capture: Capture, selection: Selection): boolean {
  if (selection.collection !== undefined && capture.collection !== selection.collection) return false;
  if (selection.from !== undefined && capture.time < selection.from) return false;
  if (selection.to !== undefined && capture.time > selection.to) return false;
  if (selection.status !== undefined && capture.status !== selection.status) return false;
  if (selection.mime !== undefined && capture.mime !== selection.mime) return false;
  if (selection.types !== undefined && !selection.types.includes(capture.kind)) return false;
  if (selection.query?.isMet(capture, false) === false) return false;
  const { capture: one } = selection;
  if (one && (capture.time !== one.time || capture.hash !== one.hash || capture.collection !== one.collection))
    return false;
  if (selection.block === undefined) return true;
  return capture.block !== undefined && compareBlockKeys(capture.block, selection.block) === 0;
}
