/**
 * Makes the catalog again from the volumes alone (R2). An incarnation begins above all that left anything in the
 * volumes, so that readers learn that the catalog is being adopted. Then another one begins and the catalog is emptied,
 * in one step: what writers have committed in between is in the volumes, in segments of an ended lease. A rebuild that
 * stops is gone on with by `adoptAll`.
 */
import { PinakesError } from '../../base/index.ts';
import { ADOPTION_LEASE } from '../../catalog/index.ts';
import { HeldLease } from '../lease.ts';
import { type AdoptionOptions, type AdoptionReport, adoptAll, nextIncarnation } from './adopt.ts';

/** Each try fails only because another process adopts at the same time. */
const TRIES_MAX = 3;

export type Clearing = {
  /** The notes that the emptied catalog gets. */
  readonly notes?: Readonly<Record<string, string>>;
  /** Waits until readers know that the catalog is being adopted, and renews the lease meanwhile. */
  readonly settle?: (held: HeldLease) => Promise<void>;
};

/** Undefined: another process goes on with it. */
export async function rebuildCatalog(
  options: AdoptionOptions,
  holder: string,
  { notes = {}, settle }: Clearing = {},
): Promise<AdoptionReport | undefined> {
  const { catalog, stores } = options;
  for (let tried = 0; tried < TRIES_MAX; tried++) {
    const incarnation = await nextIncarnation(catalog, stores);
    await catalog.beginIncarnation(incarnation);
    // Without it, another process would end the adoption meanwhile.
    const held = await HeldLease.take(catalog, ADOPTION_LEASE, holder, options);
    if (!held) continue;
    await settle?.(held);
    if (await catalog.beginEmpty(incarnation + 1, notes)) return adoptAll(options, holder);
    await held.end();
  }
  throw new PinakesError('ARCHIVE_BUSY', { detail: 'another process adopts what is in the volumes' });
}
