/**
 * Segments whose rows were dropped because nothing was committed in them. A part that is still on its way may arrive
 * later, and an adoption after a failover enters its records. They are not in snapshots that were taken before, so
 * snapshots name dropped segments too (I8, R4).
 *
 * ```
 *   note  dropped:<name of the segment>     when its row was dropped; for a day
 * ```
 * Volumes with real append have no such parts.
 */
import type { Clock } from '../base/index.ts';
import type { CatalogView } from '../catalog/index.ts';

const DROPPED_NOTE = 'dropped:';
const LIFE_MS = 24 * 3600 * 1000;

/** The note of a segment whose row is dropped in the same commit. */
export function droppedNote(name: string, clock: Clock): Record<string, string> {
  return { [DROPPED_NOTE + name]: String(clock()) };
}

/** The names of segments that were dropped lately. Asked for after the rows of the segments. */
export async function droppedSegments(catalog: Pick<CatalogView, 'notes'>): Promise<string[]> {
  return Object.keys(await catalog.notes(DROPPED_NOTE)).map((note) => note.slice(DROPPED_NOTE.length));
}

/** The notes whose day is over. */
export async function oldDroppedNotes(catalog: Pick<CatalogView, 'notes'>, clock: Clock): Promise<string[]> {
  const notes = Object.entries(await catalog.notes(DROPPED_NOTE));
  return notes.flatMap(([note, at]) => (clock() >= Number(at) + LIFE_MS ? [note] : []));
}
