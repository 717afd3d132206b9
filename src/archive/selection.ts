/** Which captures are meant: by collection, URL, URL prefix or pattern, content, time, media type, status. All that is given must hold. */
import type { EpochMs } from '../base/index.ts';
import type { BlockKey, Capture, CaptureRange, CatalogView } from '../catalog/index.ts';
import { isInRanges, type KeyRange, keyRange, parseUrlPattern, urlKey } from '../url/index.ts';

export type Selection = {
  readonly collection?: number | undefined;
  readonly url?: string | undefined;
  /** A URL prefix, or a pattern like `*.example.org` or `example.org/a/*`. */
  readonly prefix?: string | undefined;
  readonly block?: BlockKey | undefined;
  readonly from?: EpochMs | undefined;
  readonly to?: EpochMs | undefined;
  readonly mime?: string | undefined;
  readonly status?: number | undefined;
  /** Types of records: `response`, `revisit`... */
  readonly types?: readonly string[] | undefined;
};

/** The captures that a selection means, in order of key and time, in pages. */
export async function* selectCaptures(catalog: CatalogView, selection: Selection): AsyncGenerator<Capture[]> {
  for (const range of keyRanges(selection)) {
    const times: CaptureRange = {
      ...range,
      ...(selection.from !== undefined && { timeFrom: selection.from }),
      ...(selection.to !== undefined && { timeTo: selection.to }),
    };
    for await (const page of catalog.captures(times)) {
      const meant = page.filter((capture) => isSelected(capture, selection));
      if (meant.length > 0) yield meant;
    }
  }
}

/** The ranges of URL keys that a selection is bounded by; one without bounds when it names no URL. */
export function keyRanges(selection: Selection): Pick<CaptureRange, 'keyFrom' | 'keyTo'>[] {
  if (selection.url !== undefined) {
    const key = urlKey(selection.url);
    return [{ keyFrom: key, keyTo: `${key}\0` }];
  }
  if (selection.prefix === undefined) return [{}];
  return prefixRanges(selection.prefix).map(({ from, to }) => ({ keyFrom: from, keyTo: to }));
}

/** A prefix without a wildcard means everything that begins with it. */
function prefixRanges(prefix: string): KeyRange[] {
  if (!prefix.includes('*')) return keyRange(prefix, 'prefix');
  const pattern = parseUrlPattern(prefix);
  return keyRange(pattern.url, pattern.matchType);
}

/** Whether a capture, wherever it was found, is one that a selection means. */
export function isMeant(capture: Capture, selection: Selection): boolean {
  if (!isSelected(capture, selection)) return false;
  return keyRanges(selection).some(({ keyFrom, keyTo }) =>
    isInRanges(capture.urlKey, [{ from: keyFrom ?? '', to: keyTo ?? '\u{10ffff}' }]),
  );
}

/** For a capture that came out of the key ranges of the selection: whether all else that is given holds too. */
export function isSelected(capture: Capture, selection: Selection): boolean {
  if (selection.collection !== undefined && capture.collection !== selection.collection) return false;
  if (selection.from !== undefined && capture.time < selection.from) return false;
  if (selection.to !== undefined && capture.time > selection.to) return false;
  if (selection.status !== undefined && capture.status !== selection.status) return false;
  if (selection.mime !== undefined && capture.mime !== selection.mime) return false;
  if (selection.types !== undefined && !selection.types.includes(capture.kind)) return false;
  if (selection.block === undefined) return true;
  const { block } = capture;
  return (
    block !== undefined &&
    block.overflow === selection.block.overflow &&
    Buffer.compare(block.digest, selection.block.digest) === 0
  );
}
