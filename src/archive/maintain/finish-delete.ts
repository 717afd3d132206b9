/**
 * Carries out deletions of older versions: durable tombstones that the catalog does not know of, after a crash between
 * writing the tombstones and writing the catalog (I3).
 *
 * There is no index of captures by place, so the record of each such tombstone is read to find its capture. If the
 * record cannot be read, or its volume is missing, the capture is deleted all the same.
 */
import { PinakesError } from '../../base/index.ts';
import type { Capture, Mark, Segment } from '../../catalog/index.ts';
import { deletionMarksOf, listedObjects, refusalOf } from '../../ledger/index.ts';
import { urlKey } from '../../url/index.ts';
import type { AnyVolume } from '../../volume/index.ts';
import { isBadSector } from '../damage.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { refreshSegments } from '../segment/listed-segment.ts';
import { APPLIED_NOTE, appliedNote, TOMBSTONES_SUFFIX } from '../segment/tombstones.ts';
import { besidesDeletion } from './deleter.ts';

export async function finishDeletions(archive: OpenedArchive): Promise<void> {
  const applied = await archive.catalog.notes(APPLIED_NOTE);
  for (const volume of archive.volumes.available()) {
    // Earlier versions had no volumes of immutable objects.
    const store = archive.stores.get(volume.name);
    if (store.hasParts) continue;
    const objects = await listedObjects(store).catch(absent);
    if (!objects) continue;
    const bytesOf = new Map(objects.map(({ name, bytes }) => [name, bytes]));
    for (const segment of await archive.segmentRegistry.all()) {
      const bytes = bytesOf.get(segment.name + TOMBSTONES_SUFFIX);
      const appliedBytes = Number(applied[appliedNote(volume.name, segment.name)] ?? -1);
      const isGone = segment.volume === volume.name && !bytesOf.has(segment.name);
      if ((bytes ?? 0) < appliedBytes) {
        if (!isGone) reportLost(archive, volume, segment);
      } else if (bytes !== undefined && bytes !== appliedBytes) {
        await finishDelete(archive, volume, segment).catch((error: unknown) => {
          // The same bad sector kept the segment from being catalogued, and was reported then.
          if (!isBadSector(error) || !archive.segmentRegistry.unread.has(segment.name)) throw error;
        });
      }
    }
  }
}

/** A volume that disappears during the opening is reported elsewhere. */
function absent(error: unknown): undefined {
  if (error instanceof PinakesError && error.code === 'VOLUME_MISSING') return;
  throw error;
}

async function finishDelete(archive: OpenedArchive, volume: AnyVolume, segment: Segment): Promise<void> {
  const { tombstones, bytes, damagedLines } = await archive.tombstones.listUnapplied(volume, segment.name);
  if (damagedLines > 0) reportDamaged(archive, volume, segment, damagedLines);
  const captures = await capturesAt(
    archive,
    segment,
    tombstones.map(({ offset }) => offset),
  );
  const marks: Mark[][] = [];
  for (const capture of captures)
    marks.push(deletionMarksOf(capture, await archive.collections.name(capture.collection)));
  const { putNotes, ...besides } = await besidesDeletion(archive, captures);
  const group = {
    ...besides,
    deletions: captures.map((capture, index) => ({ capture, mark: marks[index]![0]! })),
    deletedMarks: marks.flatMap((listed) => listed.slice(1)),
    putNotes: { ...putNotes, [appliedNote(volume.name, segment.name)]: String(bytes) },
  };
  refusalOf(await archive.commitGroup(group));
  await refreshSegments(archive, [segment.number]);
}

function reportDamaged(archive: OpenedArchive, volume: AnyVolume, { name }: Segment, lines: number): void {
  const message = `${lines === 1 ? 'a line' : `${lines} lines`} cannot be read: captures that were deleted there may be back`;
  const file = `${volume.name}: ${name}${TOMBSTONES_SUFFIX}`;
  archive.report({ code: 'tombstones-damaged', level: 'error', file, offset: 0, message });
}

/**
 * The catalog has carried out more tombstones than the file contains: the file is missing or an older copy. As long as
 * this catalog exists, these captures stay deleted.
 */
function reportLost(archive: OpenedArchive, volume: AnyVolume, { name }: Segment): void {
  const message =
    'the tombstones of deleted captures are missing, and a rebuild would bring these captures back; restore the file from the newest backup, or delete them again after a rebuild';
  const file = `${volume.name}: ${name}${TOMBSTONES_SUFFIX}`;
  archive.report({ code: 'tombstones-lost', level: 'error', file, offset: 0, message });
}

/** The captures whose records are at these offsets. For unreadable records, the whole catalog is searched. */
async function capturesAt(archive: OpenedArchive, segment: Segment, offsets: readonly number[]): Promise<Capture[]> {
  const captures: Capture[] = [];
  const unread = new Set<number>();
  for (const offset of new Set(offsets)) {
    const visit = await visitAt(archive, segment, offset);
    if (!visit) unread.add(offset);
    const at = { segment: segment.number, offset };
    captures.push(...(await archive.catalog.findCaptures(visit ? [{ ...visit, at }] : [])).flat());
  }
  if (unread.size === 0) return captures;
  for await (const page of archive.catalog.captures({}))
    captures.push(...page.filter(({ place }) => place.segment === segment.number && unread.has(place.offset)));
  return captures;
}

/** The URL and time of the record. Undefined when it cannot be read. */
async function visitAt(archive: OpenedArchive, segment: Segment, offset: number) {
  if (offset >= segment.bytes) return undefined;
  const place = { segment: segment.number, offset, length: segment.bytes - offset };
  try {
    for await (const { head } of archive.access.records(place)) {
      const { time } = head;
      if (head.offset !== offset || time === undefined || head.targetUri === undefined) return undefined;
      return { urlKey: urlKey(head.targetUri), time };
    }
  } catch (error) {
    if (!(error instanceof PinakesError)) throw error;
  }
  return undefined;
}
