/**
 * What is done when an archive is opened: the catalog is brought up to what the segments say (I3).
 *
 * - A segment that the catalog does not know is entered from its beginning; one that grew behind the catalogued mark, from there.
 * - Bytes behind the last whole record of an open segment are cut off.
 * - Deletions whose tombstones are durable and that the catalog had not yet heard of are carried out.
 * - A segment that compaction was writing when it was interrupted, still open, is removed; one that was finished takes the place of the segment
 *   it replaces.
 */
import { PinakesError } from '../base/index.ts';
import type { Segment } from '../catalog/index.ts';
import { readRecords } from '../warc/index.ts';
import { ADOPTING_NOTE, adoptSegment } from './adopt.ts';
import type { ArchiveParts } from './archive-parts.ts';
import { type CataloguingParts, catalogueSegment } from './cataloguing.ts';
import { replacedBy } from './replacement.ts';
import type { SegmentKind } from './segment-shelf.ts';
import { TOMBSTONES_SUFFIX } from './tombstones.ts';

const SEGMENT_NAME = /\.w?arc(\.gz|\.zst)?$/i;

export async function healArchive(
  archive: ArchiveParts,
  parts: CataloguingParts,
  onProgress?: (segment: Segment) => void,
): Promise<void> {
  await finishAdoptions(archive);
  const known = new Map(archive.shelf.all().map((segment) => [`${segment.volume} ${segment.name}`, segment]));
  for (const volume of archive.volumes.available()) {
    for (const object of await volume.list()) {
      if (!SEGMENT_NAME.test(object.name) || object.name.endsWith(TOMBSTONES_SUFFIX)) continue;
      const segment = known.get(`${volume.name} ${object.name}`);
      if (segment && object.bytes === segment.bytes && object.sealed === (segment.state === 'sealed')) {
        if (!object.sealed && volume.writable) await resumeSegment(archive, segment);
        continue;
      }
      const replaced = await replacedSegment(archive, volume.name, object.name);
      if (replaced !== undefined && !object.sealed) {
        await volume.remove([object.name]);
        continue;
      }
      const old = replaced === undefined ? undefined : archive.shelf.byName(replaced);
      if (old && !segment) {
        const fresh: Segment = {
          ...old,
          number: archive.shelf.takeNumber(),
          volume: volume.name,
          name: object.name,
          bytes: 0,
          records: 0,
        };
        onProgress?.(await adoptSegment(archive, fresh, old));
        continue;
      }
      const healed = await healSegment(archive, parts, volume.name, object, segment);
      onProgress?.(healed);
    }
  }
}

async function healSegment(
  archive: ArchiveParts,
  parts: CataloguingParts,
  volumeName: string,
  object: { name: string; bytes: number; sealed: boolean },
  known: Segment | undefined,
): Promise<Segment> {
  const volume = archive.volumes.get(volumeName);
  const collectionName = object.name.split('/')[0]!;
  let segment: Segment = known ?? {
    number: archive.shelf.takeNumber(),
    volume: volumeName,
    name: object.name,
    collection: await archive.collections.number(collectionName),
    state: 'open',
    bytes: 0,
    records: 0,
    deadBytes: 0,
  };
  if (segment.bytes > object.bytes)
    throw new PinakesError('OBJECT_MOVED', {
      where: `${volumeName}: ${object.name}`,
      detail: 'it is shorter than the catalog knows it',
    });
  archive.shelf.put(segment);
  segment = await catalogueSegment(parts, segment, await archive.tombstones.read(segment));
  if (!object.sealed && volume.writable && segment.bytes < object.bytes)
    await volume.truncate(object.name, segment.bytes);
  // What a sealed file holds behind its last whole record stays there, as its maker left it.
  const bytes = object.sealed ? object.bytes : segment.bytes;
  segment = { ...segment, bytes, state: object.sealed ? 'sealed' : 'open' };
  await parts.catalog.write({ putSegments: [segment] });
  archive.shelf.put(segment);
  if (!object.sealed && volume.writable) await resumeSegment(archive, segment);
  return segment;
}

/** An open segment takes records again; one that holds nothing is removed. */
async function resumeSegment(archive: ArchiveParts, segment: Segment): Promise<void> {
  if (segment.bytes === 0) {
    await archive.volumes.get(segment.volume).remove([segment.name]);
    await archive.catalog.write({ removeSegments: [segment.number] });
    archive.shelf.forget(segment.number);
    return;
  }
  const dictionary = await archive.access.dictionaryOf(segment.number);
  const coding = segment.name.endsWith('.gz') ? 'gzip' : segment.name.endsWith('.zst') ? 'zstd' : 'none';
  const collectionName = archive.collections.name(segment.collection);
  const kind: SegmentKind = {
    collection: segment.collection,
    collectionName,
    volume: segment.volume,
    coding,
    dictionary,
  };
  archive.shelf.resume(segment, kind);
}

/** The name of the segment that this one was to take the place of, as its warcinfo says. */
async function replacedSegment(archive: ArchiveParts, volumeName: string, name: string): Promise<string | undefined> {
  const stream = archive.volumes.get(volumeName).stream(name, 0, 64 * 1024);
  for await (const record of readRecords(stream, { name })) {
    if (record.head.type !== 'warcinfo') return undefined;
    return replacedBy(await record.bytes(64 * 1024));
  }
  return undefined;
}

/** Exchanges of segments that were begun and not finished are finished. */
async function finishAdoptions(archive: ArchiveParts): Promise<void> {
  for (const [note, replacedName] of Object.entries(await archive.catalog.notes(ADOPTING_NOTE))) {
    const fresh = archive.shelf.byName(note.slice(ADOPTING_NOTE.length));
    const replaced = archive.shelf.byName(replacedName);
    if (fresh && replaced) await adoptSegment(archive, fresh, replaced);
    else await archive.catalog.write({ removeNotes: [note] });
  }
}
