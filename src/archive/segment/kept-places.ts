/**
 * The places of segments in the order of storage, when the catalog is made again (R4). A segment that this archive
 * began has its sequence number in its warcinfo, and a replacement has its runs at its end. The numbers of other
 * segments are in a list beside the catalog (sequence-list.ts). A rebuild first completes the list from the catalog
 * that it empties.
 *
 * ```
 *   note  rebuilding           the rebuild is not complete, or the cataloguing after the catalog was lost
 *   note  place:<segment>      JSON: the roots in the row, until the segment is listed again
 *   note  runs:<segment>       as before
 * ```
 * At other times, a file that the catalog does not know may be a segment of another archive, and gets the next number.
 * After a power cut it may also be one of our own, which is above all that the catalog knows.
 */
import { type NewSegment, type RootSegment, UPGRADED_NOTE } from '../../catalog/index.ts';
import { RUNS_NOTE, refusalOf, type SegmentBytes } from '../../ledger/index.ts';
import { ifGiven } from '../damage.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { readSequence } from './replacement.ts';

const REBUILDING_NOTE = 'rebuilding';
const PLACE_NOTE = 'place:';

type Place = Pick<NewSegment, 'sequence' | 'roots'> & {
  /** Whether the segment or the list has the number. */
  readonly isListed: boolean;
};

/** The notes that the emptied catalog begins with. */
export async function keptPlaces({
  catalog,
  segmentRegistry,
  sequences,
}: Pick<OpenedArchive, 'catalog' | 'segmentRegistry' | 'sequences'>): Promise<Record<string, string>> {
  const segments = await segmentRegistry.all();
  await sequences.keep(segments);
  const notes: Record<string, string> = { [REBUILDING_NOTE]: 'yes' };
  for (const { name, roots } of segments) if (roots) notes[PLACE_NOTE + name] = JSON.stringify(roots);
  // A rebuild that did not come to its end has places of segments that are not listed yet. A damaged catalog may have
  // none of these notes.
  const read = (prefix: string) => catalog.notes(prefix).catch(() => ({}));
  return { ...(await read(PLACE_NOTE)), ...notes, ...(await read(RUNS_NOTE)) };
}

/** Enters the segments of an archive that was upgraded in the list, when the archive is opened for the first time. */
export async function listUpgraded({
  catalog,
  segmentRegistry,
  sequences,
}: Pick<OpenedArchive, 'catalog' | 'segmentRegistry' | 'sequences'>): Promise<void> {
  if (!(UPGRADED_NOTE in (await catalog.notes(UPGRADED_NOTE)))) return;
  await sequences.keep(await segmentRegistry.all());
  refusalOf(await catalog.commit({ removeNotes: [UPGRADED_NOTE] }));
}

/** The place of a segment that was found in a volume. */
export async function placeOfFound(
  archive: Pick<OpenedArchive, 'catalog' | 'segmentRegistry' | 'sequences' | 'stores'>,
  { name, volume }: Pick<NewSegment, 'name' | 'volume'>,
  content: SegmentBytes,
): Promise<Place> {
  const { catalog, segmentRegistry, sequences, stores } = archive;
  const own = await ifGiven(readSequence(stores.get(volume), content));
  if (!(await isMadeAgain(archive))) {
    const isOurs = own !== undefined && own > segmentRegistry.newestSequence;
    return isOurs ? { sequence: own, isListed: true } : { isListed: false };
  }
  const note = PLACE_NOTE + name;
  const text = (await catalog.notes(note))[note];
  const roots = text === undefined ? undefined : (JSON.parse(text) as RootSegment[]);
  const sequence = (await sequences.of(name)) ?? own;
  return { sequence, isListed: sequence !== undefined, ...(roots && { roots }) };
}

/** Whether a rebuild, or the cataloguing after the catalog was lost, is not complete. */
export async function isRebuilding({ catalog }: Pick<OpenedArchive, 'catalog'>): Promise<boolean> {
  return REBUILDING_NOTE in (await catalog.notes(REBUILDING_NOTE));
}

/** Whether all segments are being catalogued. */
async function isMadeAgain({
  catalog,
  segmentRegistry,
}: Pick<OpenedArchive, 'catalog' | 'segmentRegistry'>): Promise<boolean> {
  if (await isRebuilding({ catalog })) return true;
  if (!segmentRegistry.isNew) return false;
  refusalOf(await catalog.commit({ putNotes: { [REBUILDING_NOTE]: 'yes' } }));
  return true;
}

/** Forgets the places, since every segment is listed. */
export async function forgetKeptPlaces({
  catalog,
  segmentRegistry,
}: Pick<OpenedArchive, 'catalog' | 'segmentRegistry'>): Promise<void> {
  segmentRegistry.isNew = false;
  const removeNotes = Object.keys(await catalog.notes(REBUILDING_NOTE));
  if (removeNotes.length === 0) return;
  removeNotes.push(...Object.keys(await catalog.notes(PLACE_NOTE)));
  refusalOf(await catalog.commit({ removeNotes, durable: true }));
}
