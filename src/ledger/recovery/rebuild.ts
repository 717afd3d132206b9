/**
 * Makes the catalog again from the volumes alone (R2): begins an incarnation above all that left anything in the
 * volumes, empties the catalog under the lease of the adoption, and adopts everything. A rebuild that stops before the
 * catalog is empty ends as an adoption, by `adoptAll`; one that stops later is gone on with in the same way.
 */
import type { HeldLease } from '../lease.ts';
import { type AdoptionOptions, type AdoptionReport, adoptAll, nextIncarnation } from './adopt.ts';

export type Clearing = {
  /** The notes that the emptied catalog gets. */
  readonly notes?: Readonly<Record<string, string>>;
  /** Waits until readers know that the catalog is being adopted, and renews the lease meanwhile. */
  readonly settle?: (held: HeldLease) => Promise<void>;
};

/** Undefined: another process adopts what is in the volumes. */
export async function rebuildCatalog(
  options: AdoptionOptions,
  holder: string,
  { notes, settle }: Clearing = {},
): Promise<AdoptionReport | undefined> {
  const { catalog, stores } = options;
  await catalog.beginIncarnation(await nextIncarnation(catalog, stores));
  const onTaken = async (held: HeldLease) => {
    await settle?.(held);
    await catalog.clear(notes, held.lease);
  };
  return adoptAll({ ...options, onTaken }, holder);
}
