/**
 * Carries out deletions whose tombstones are durable and that the catalog has not heard of: a crash came between the two (I3).
 *
 * There is no index of captures by place, so the record at each such tombstone is read to learn which capture it is.
 */
import { PinakesError, parseW3cDate } from '../base/index.ts';
import type { Capture, Segment } from '../catalog/index.ts';
import { urlKey } from '../url/index.ts';
import type { ObjectInfo, Volume } from '../volume/index.ts';
import { formerTargetUri } from '../warc/index.ts';
import type { ArchiveParts } from './archive-parts.ts';
import { countDeleted } from './deletion-count.ts';
import { APPLIED_NOTE, appliedNote, TOMBSTONES_SUFFIX } from './tombstones.ts';

export async function finishDeletions(archive: ArchiveParts): Promise<void> {
  const applied = await archive.catalog.notes(APPLIED_NOTE);
  for (const volume of archive.volumes.available()) {
    for (const object of await volume.list().catch(absent)) {
      if (!object.name.endsWith(TOMBSTONES_SUFFIX)) continue;
      const name = object.name.slice(0, -TOMBSTONES_SUFFIX.length);
      if (Number(applied[appliedNote(volume.name, name)] ?? -1) === object.bytes) continue;
      const segment = archive.shelf.byName(name);
      if (segment) await finishDelete(archive, volume, segment);
    }
  }
}

/** A volume that went away while the archive was being opened is told of elsewhere. */
function absent(error: unknown): ObjectInfo[] {
  if (error instanceof PinakesError && error.code === 'VOLUME_MISSING') return [];
  throw error;
}

async function finishDelete(archive: ArchiveParts, volume: Volume, segment: Segment): Promise<void> {
  const { tombstones, bytes } = await archive.tombstones.listUnapplied(volume, segment.name);
  const captures: Capture[] = [];
  for (const { offset } of tombstones) {
    const found = await archive.catalog.findCaptures(await visitsAt(archive, segment, offset));
    for (const capture of found.flat())
      if (capture.place.segment === segment.number && capture.place.offset === offset) captures.push(capture);
  }
  const draft = archive.newDraft();
  await draft.load(captures.flatMap((capture) => (capture.block ? [capture.block.digest] : [])));
  for (const capture of captures) draft.removeCapture(capture);
  await countDeleted(archive.catalog, draft, captures);
  const deadBytes = segment.deadBytes + captures.reduce((sum, capture) => sum + capture.place.length, 0);
  const current: Segment = { ...segment, deadBytes };
  draft.putSegment(current);
  draft.putNote(appliedNote(volume.name, segment.name), String(bytes));
  await archive.catalog.write(draft.batch());
  archive.shelf.settle([current]);
}

/** The capture of the record, by the keys that the catalog may have it under. */
async function visitsAt(archive: ArchiveParts, segment: Segment, offset: number) {
  const place = { segment: segment.number, offset, length: segment.bytes - offset };
  for await (const { head } of archive.access.records(place)) {
    const time = parseW3cDate(head.date ?? '');
    if (time === undefined) return [];
    return [head.targetUri, formerTargetUri(head)].flatMap((uri) => (uri ? [{ urlKey: urlKey(uri), time }] : []));
  }
  return [];
}
