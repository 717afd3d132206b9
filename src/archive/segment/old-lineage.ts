/**
 * Archives of version 1 noted which segment a replacement replaced, by numbers:
 *
 * ```
 *   note  lineage:<replacement>    [number of the first segment in the chain, number of the replaced one, time]
 *   note  moves:<replacement>      where the records of the replaced segment are in it
 *   note  epoch                    changed with every rebuild
 * ```
 * Such a replacement becomes a root segment of its own, at the place of the first segment in its chain. So the order of
 * storage and the snapshots with names stay as they were. Cursors of version 1 need the moves, and are refused.
 */
import type { OpenedArchive } from '../opened-archive.ts';
import { changeSegment } from './listed-segment.ts';

const LINEAGE_NOTE = 'lineage:';
const MOVES_NOTE = 'moves:';
const EPOCH_NOTE = 'epoch';

/** Gives replacements of version 1 their place in the order of segments. Can be done again at any time. */
export async function placeOldReplacements(archive: Pick<OpenedArchive, 'catalog' | 'segmentRegistry'>): Promise<void> {
  const { catalog, segmentRegistry } = archive;
  for (const [note, text] of Object.entries(await catalog.notes(LINEAGE_NOTE))) {
    const name = note.slice(LINEAGE_NOTE.length);
    const segment = await segmentRegistry.byName(name);
    // A replacement in a volume that is missing may not be in the catalog yet.
    if (!segment) continue;
    const [origin] = JSON.parse(text) as [number, ...unknown[]];
    const removeNotes = [note, MOVES_NOTE + name, EPOCH_NOTE];
    await changeSegment(archive, segment, { roots: segment.roots ?? [{ name, sequence: origin }] }, { removeNotes });
  }
}
