/**
 * The places of segments in the order of storage, through a rebuild (R4). A segment that this archive began has its
 * sequence number in its warcinfo. The other segments' numbers are only in the catalog, so a rebuild takes the places
 * of all segments from the catalog that it empties, and notes them in the new one until the segments are listed again.
 *
 * ```
 *   note  rebuilding           the rebuild is not complete, or the cataloguing after the catalog was lost
 *   note  place:<segment>      JSON: {"sequence","roots"}, as in the row
 *   note  runs:<segment>       as before
 * ```
 * Without its note, a segment gets the number in its warcinfo, or else the next one. At other times, a file that the
 * catalog does not know is new, and gets the next number: it may be a segment of another archive.
 */
import type { NewSegment } from '../../catalog/index.ts';
import { RUNS_NOTE, refusalOf, sequenceOf } from '../../ledger/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { readSequence } from './replacement.ts';

const REBUILDING_NOTE = 'rebuilding';
const PLACE_NOTE = 'place:';

type Place = Pick<NewSegment, 'sequence' | 'roots'>;

/** The notes that the emptied catalog begins with. */
export async function keptPlaces({
  catalog,
  segmentRegistry,
}: Pick<OpenedArchive, 'catalog' | 'segmentRegistry'>): Promise<Record<string, string>> {
  const notes: Record<string, string> = { [REBUILDING_NOTE]: 'yes' };
  for (const segment of await segmentRegistry.all()) {
    const { name, roots } = segment;
    const place: Place = { sequence: sequenceOf(segment), ...(roots && { roots }) };
    notes[PLACE_NOTE + name] = JSON.stringify(place);
  }
  // A rebuild that did not come to its end has places of segments that are not listed yet. A damaged catalog may have
  // none of these notes.
  const read = (prefix: string) => catalog.notes(prefix).catch(() => ({}));
  return { ...(await read(PLACE_NOTE)), ...notes, ...(await read(RUNS_NOTE)) };
}

/** The place that a segment had before the rebuild. Empty for a segment that was found otherwise. */
export async function keptPlace(
  { catalog, segmentRegistry, volumes }: Pick<OpenedArchive, 'catalog' | 'segmentRegistry' | 'volumes'>,
  { name, volume }: Pick<NewSegment, 'name' | 'volume'>,
): Promise<Place> {
  const note = PLACE_NOTE + name;
  const text = (await catalog.notes(note))[note];
  if (text !== undefined) return JSON.parse(text) as Place;
  if (!(REBUILDING_NOTE in (await catalog.notes(REBUILDING_NOTE)))) {
    if (!segmentRegistry.isNew) return {};
    refusalOf(await catalog.commit({ putNotes: { [REBUILDING_NOTE]: 'yes' } }));
  }
  return { sequence: await readSequence(volumes.get(volume), name) };
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
