import type { Place } from '../../catalog/index.ts';
import type { OpenSegment, SegmentWriter } from '../../ledger/index.ts';
import type { MemberEncoder, StreamedBlock } from '../../warc/index.ts';

/** Appends a large record. Its encoded pieces are written as they add up. */
export async function appendStreamed(
  segmentWriter: SegmentWriter,
  open: OpenSegment,
  encoder: MemberEncoder,
  { length, pieces }: StreamedBlock,
): Promise<Place> {
  const offset = open.position;
  for await (const piece of encoder.encodeStream(pieces, length)) {
    segmentWriter.append(open, piece, 0);
    if (segmentWriter.isFull(open)) await segmentWriter.flush(open);
  }
  open.records++;
  return { segment: open.segment.number, offset, length: open.position - offset };
}
