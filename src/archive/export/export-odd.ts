/**
 * The odd records that a slice leaves out: records without a valid date, and odd requests, metadata and warcinfo
 * records that do not go with a capture in it. Their dates do not show which captures they belong to, so the slice
 * selects them by collection and URL only.
 */
import type { Segment } from '../../catalog/index.ts';
import { urlKey } from '../../url/index.ts';
import type { ReadingRecord, RecordHead } from '../../warc/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { isCaptureType } from '../read/concurrent-records.ts';
import { oddSegments } from '../segment/odd-records.ts';
import { isInKeyRanges, keyRanges, type Selection } from '../selection.ts';

export type OddRecord = { readonly segment: Segment; readonly record: ReadingRecord };

/** `isThere`: whether the slice already contains a record. */
export async function* oddRecordsLeftOut(
  archive: OpenedArchive,
  selection: Selection,
  isThere: (segment: Segment, offset: number) => boolean,
  signal?: AbortSignal,
): AsyncGenerator<OddRecord> {
  const { block, mime, status, types, query } = selection;
  // Odd records that are not in the index cannot be compared with these conditions.
  if (block || mime !== undefined || status !== undefined || types || query) return;
  for (const number of (await oddSegments(archive.catalog)).keys()) {
    const segment = await archive.segmentRegistry.find(number);
    if (!segment || (selection.collection !== undefined && segment.collection !== selection.collection)) continue;
    for await (const record of archive.access.recordsIn(segment, 0, segment.bytes, { skipsGaps: true })) {
      signal?.throwIfAborted();
      const { head } = record;
      if (head.form !== 'odd' || isIndexed(head) || !mayBeMeant(head, selection)) continue;
      if (!isThere(segment, head.offset)) yield { segment, record };
    }
  }
}

function isIndexed({ type, time, targetUri }: RecordHead): boolean {
  return isCaptureType(type) && time !== undefined && targetUri !== undefined;
}

function mayBeMeant({ time, targetUri }: RecordHead, selection: Selection): boolean {
  if (time !== undefined && selection.from !== undefined && time < selection.from) return false;
  if (time !== undefined && selection.to !== undefined && time > selection.to) return false;
  if (selection.url === undefined && selection.prefix === undefined) return true;
  return targetUri !== undefined && isInKeyRanges(urlKey(targetUri), keyRanges(selection));
}
