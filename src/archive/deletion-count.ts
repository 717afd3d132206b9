/**
 * How many captures were deleted from each collection so far. A file that was added before is not read when it is added
 * again, so it does not bring back deleted captures. With this number, the report of the add can say that captures may
 * be left out.
 *
 * ```
 *   note  deleted:<number of the collection>     a number
 * ```
 */
import type { Capture, CatalogView } from '../catalog/index.ts';

const DELETED_NOTE = 'deleted:';

export async function deletedFrom(catalog: CatalogView, collection: number): Promise<number> {
  const note = DELETED_NOTE + collection;
  return Number((await catalog.notes(note))[note] ?? 0);
}

/** The notes with the counts after the deletion of these captures. */
export async function countedDeletions(
  catalog: CatalogView,
  captures: readonly Capture[],
): Promise<Record<string, string>> {
  const notes: Record<string, string> = {};
  for (const [collection, { length }] of Map.groupBy(captures, (capture) => capture.collection))
    notes[DELETED_NOTE + collection] = String((await deletedFrom(catalog, collection)) + length);
  return notes;
}
