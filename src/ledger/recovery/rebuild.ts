/**
 * Makes the catalog again from the volumes alone (R2): empties it, begins an incarnation above all that left anything
 * in the volumes, and adopts everything. A rebuild that stops is gone on with by `adoptAll`.
 */
import { type AdoptionOptions, type AdoptionReport, adoptAll, nextIncarnation } from './adopt.ts';

/** Undefined: another process adopts what is in the volumes. The emptied catalog gets the notes. */
export async function rebuildCatalog(
  options: AdoptionOptions,
  holder: string,
  notes: Readonly<Record<string, string>> = {},
): Promise<AdoptionReport | undefined> {
  const { catalog, stores } = options;
  const incarnation = await nextIncarnation(catalog, stores);
  await catalog.clear(notes);
  await catalog.beginIncarnation(incarnation);
  return adoptAll(options, holder);
}
