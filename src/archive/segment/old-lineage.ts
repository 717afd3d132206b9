/**
 * Archives of version 1 noted which segment a replacement replaced, by numbers:
 *
 * ```
 *   note  lineage:<replacement>    [number of the first segment in the chain, number of the replaced one, time]
 *   note  moves:<replacement>      where the records of the replaced segment are in it: base64url of deflated text,
 *                                  gap, new gap and length of each run in base 36, joined by blanks
 *   note  adopting:<replacement>   name of the replaced segment, while the replacement is swapped in
 *   note  epoch                    changed with every rebuild
 * ```
 * Such a replacement becomes a root segment of its own, at the place of the first segment in its chain. So the order of
 * storage and the snapshots with names stay as they were. Cursors of version 1 need the moves, and are refused.
 */
import { inflateRawSync } from 'node:zlib';
import { fromLatin1, PinakesError } from '../../base/index.ts';
import type { CatalogView, Segment } from '../../catalog/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { changeSegment } from './listed-segment.ts';

export const SWAP_NOTE = 'adopting:';
const LINEAGE_NOTE = 'lineage:';
const MOVES_NOTE = 'moves:';
const EPOCH_NOTE = 'epoch';

/** Gives replacements of version 1 their place in the order of segments. Can be done again at any time. */
export async function placeOldReplacements(archive: Pick<OpenedArchive, 'catalog' | 'segmentRegistry'>): Promise<void> {
  const { catalog, segmentRegistry } = archive;
  const swaps = await catalog.notes(SWAP_NOTE);
  for (const [note, text] of Object.entries(await catalog.notes(LINEAGE_NOTE))) {
    const name = note.slice(LINEAGE_NOTE.length);
    const segment = await segmentRegistry.byName(name);
    // A replacement in a volume that is missing may not be in the catalog yet.
    if (!segment || SWAP_NOTE + name in swaps) continue;
    const [origin] = JSON.parse(text) as [number, ...unknown[]];
    const removeNotes = [...oldNotesOf(name), EPOCH_NOTE];
    await changeSegment(archive, segment, { roots: segment.roots ?? [{ name, sequence: origin }] }, { removeNotes });
  }
}

/** The rows with the places that `placeOldReplacements` would give them, for an archive that is only read. */
export async function withOldPlaces(
  catalog: Pick<CatalogView, 'notes'>,
  segments: readonly Segment[],
): Promise<Segment[]> {
  const swaps = await catalog.notes(SWAP_NOTE);
  const lineage = await catalog.notes(LINEAGE_NOTE);
  return segments.map((segment) => {
    const { name } = segment;
    const text = lineage[LINEAGE_NOTE + name];
    if (segment.roots || text === undefined || SWAP_NOTE + name in swaps) return segment;
    const [sequence] = JSON.parse(text) as [number, ...unknown[]];
    return { ...segment, roots: [{ name, sequence }] };
  });
}

/** The notes about a replacement that the archive no longer needs. */
export function oldNotesOf(name: string): string[] {
  return [LINEAGE_NOTE + name, MOVES_NOTE + name];
}

type Move = { readonly from: number; readonly to: number; readonly length: number };

/** The number of the first segment in the chain, and where the records of the replaced one are: runs, in order. */
export async function readOldMoves(
  catalog: Pick<CatalogView, 'notes'>,
  name: string,
): Promise<{ origin: number; moves: Move[] }> {
  const [lineageNote, movesNote] = [LINEAGE_NOTE + name, MOVES_NOTE + name];
  const lineage = (await catalog.notes(lineageNote))[lineageNote];
  const text = (await catalog.notes(movesNote))[movesNote];
  if (lineage === undefined || text === undefined)
    throw new PinakesError('OBJECT_CHANGED', { where: name, detail: 'it is not noted where its records were before' });
  const [origin] = JSON.parse(lineage) as [number, ...unknown[]];
  const plain = fromLatin1(inflateRawSync(Buffer.from(text, 'base64url')));
  const numbers = plain === '' ? [] : plain.split(' ').map((number) => Number.parseInt(number, 36));
  const moves: Move[] = [];
  let from = 0;
  let to = 0;
  for (let at = 0; at + 2 < numbers.length; at += 3) {
    from += numbers[at]!;
    to += numbers[at + 1]!;
    moves.push({ from, to, length: numbers[at + 2]! });
  }
  return { origin, moves };
}
