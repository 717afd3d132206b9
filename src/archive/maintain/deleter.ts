/** The ledger's deleter for an archive that this process owns. It appends with the writer of the archive. */
import type { Capture } from '../../catalog/index.ts';
import { type BesidesDeletion, Deleter, type SegmentKind, UNSWEPT_NOTE } from '../../ledger/index.ts';
import { DELETIONS } from '../collections.ts';
import { countedDeletions } from '../deletion-count.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { unresolvedNote } from '../revisit/revisit-clues.ts';
import { volumeChoice } from '../segment/volume-choice.ts';

/** Called within `exclusive`. `changed` gets the numbers of the segments with the deleted records. */
export async function deleterOf(archive: OpenedArchive, changed: Set<number>): Promise<Deleter> {
  const { catalog, collections, clock, newId } = archive;
  return new Deleter({
    catalog,
    writer: {
      openFor: (kind) => archive.segmentWriter.openFor(kind),
      append: (open, bytes) => archive.segmentWriter.append(open, bytes),
      commit: (group = {}) => archive.commitRecords(group),
      rollBack: () => archive.segmentWriter.rollBack(),
    },
    kind: await deletionKind(archive),
    collectionName: (collection) => collections.name(collection),
    besides: (captures) => {
      for (const { place } of captures) changed.add(place.segment);
      return besidesDeletion(archive, captures);
    },
    clock,
    newId,
  });
}

async function deletionKind(archive: OpenedArchive): Promise<SegmentKind> {
  const volume = (await volumeChoice(archive))(new Uint8Array(32));
  return { collection: DELETIONS.number, collectionName: DELETIONS.name, volume, coding: 'gzip' };
}

/** What a deletion of captures changes besides them. */
export async function besidesDeletion(
  { catalog, segmentRegistry }: Pick<OpenedArchive, 'catalog' | 'segmentRegistry'>,
  captures: readonly Capture[],
): Promise<BesidesDeletion> {
  const unresolved = captures.filter(({ kind, block }) => kind === 'revisit' && !block);
  // Segments that could not be read may have revisits of the contents that lose their last capture.
  const keepsUnreferenced = segmentRegistry.unread.size > 0;
  return {
    putNotes: { ...(await countedDeletions(catalog, captures)), ...(keepsUnreferenced && { [UNSWEPT_NOTE]: 'yes' }) },
    removeNotes: unresolved.map(({ place }) => unresolvedNote(place)),
    keepsUnreferenced,
  };
}
