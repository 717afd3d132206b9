/**
 * Plans the parts of a multipart upload that joins ranges of objects.
 *
 * A part that is not the last has at least 5 MiB and at most 5 GiB, and an upload has at most 10,000 parts. A range of
 * at least 5 MiB is copied by the server. Smaller ranges are gathered: read, and uploaded together as one part. What a
 * gathered part needs to reach 5 MiB is taken from the beginning of the range after it.
 *
 * Some servers want parts of equal length, and some cannot copy. `uploadPlan` is for these.
 */
import type { ReadRange } from '../volume.ts';

const MIB = 1024 * 1024;
export const PART_BYTES_MIN = 5 * MIB;
const COPY_BYTES_MAX = 1024 * MIB;
const UPLOAD_BYTES = 16 * MIB;
const PARTS_MAX = 10_000;

export type PlannedPart = { readonly kind: 'copy' | 'gather'; readonly ranges: readonly ReadRange[] };

export function copyPlan(ranges: readonly ReadRange[]): PlannedPart[] {
  const parts: PlannedPart[] = [];
  let gathered: ReadRange[] = [];
  const flush = () => {
    if (gathered.length > 0) parts.push({ kind: 'gather', ranges: gathered });
    gathered = [];
  };
  for (const range of ranges) {
    let rest = range;
    const missing = Math.max(0, PART_BYTES_MIN - bytesOf(gathered));
    if (gathered.length > 0 && missing > 0) {
      const taken = rest.length - missing >= PART_BYTES_MIN ? missing : rest.length;
      gathered.push(head(rest, taken));
      rest = tail(rest, taken);
    }
    if (bytesOf(gathered) >= PART_BYTES_MIN) flush();
    // A rest that is copied never becomes too small to be copied.
    while (rest.length >= PART_BYTES_MIN) {
      const length = rest.length > COPY_BYTES_MAX + PART_BYTES_MIN ? COPY_BYTES_MAX : rest.length;
      parts.push({ kind: 'copy', ranges: [head(rest, length)] });
      rest = tail(rest, length);
    }
    if (rest.length > 0) gathered.push(rest);
  }
  flush();
  return parts;
}

/** Parts of equal length, except the last. All of them are gathered. */
export function uploadPlan(ranges: readonly ReadRange[]): PlannedPart[] {
  const partBytes = Math.max(UPLOAD_BYTES, Math.ceil(bytesOf(ranges) / PARTS_MAX));
  const parts: PlannedPart[] = [];
  let gathered: ReadRange[] = [];
  let room = partBytes;
  for (const range of ranges) {
    let rest = range;
    while (rest.length > 0) {
      const length = Math.min(rest.length, room);
      gathered.push(head(rest, length));
      rest = tail(rest, length);
      room -= length;
      if (room > 0) continue;
      parts.push({ kind: 'gather', ranges: gathered });
      gathered = [];
      room = partBytes;
    }
  }
  if (gathered.length > 0) parts.push({ kind: 'gather', ranges: gathered });
  return parts;
}

export function bytesOf(ranges: readonly ReadRange[]): number {
  return ranges.reduce((sum, { length }) => sum + length, 0);
}

function head({ name, offset }: ReadRange, length: number): ReadRange {
  return { name, offset, length };
}

function tail({ name, offset, length }: ReadRange, taken: number): ReadRange {
  return { name, offset: offset + taken, length: length - taken };
}
