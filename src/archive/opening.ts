/** The work at the opening of an archive: what a crash interrupted is completed or undone (I3). */
import { hostname } from 'node:os';
import { PinakesError } from '../base/index.ts';
import { endBegunIncarnation } from '../ledger/index.ts';
import { healArchive } from './maintain/heal.ts';
import { endRebuild } from './maintain/rebuild.ts';
import { endCatalogCopy } from './move/catalog-copy.ts';
import type { ArchiveOptions, OpenedArchive } from './opened-archive.ts';
import { resolveLater } from './revisit/resolve-later.ts';
import { listUpgraded } from './segment/kept-places.ts';
import { placeOldReplacements } from './segment/old-lineage.ts';

export type OpeningOptions = Pick<ArchiveOptions, 'awaitsVolumes' | 'onOpening' | 'signal'>;

export async function completeOpening(
  archive: OpenedArchive,
  { awaitsVolumes, onOpening: onProgress, signal }: OpeningOptions,
): Promise<void> {
  // In a cluster nothing is healed here, since the writers of other machines may be living (I13).
  if (archive.cluster) {
    await endCatalogCopy(archive);
    return archive.cluster.begin();
  }
  await endBegunIncarnation(archive.catalog, hostname());
  try {
    await healArchive(archive, { signal, onProgress });
  } catch (error) {
    if (awaitsVolumes && error instanceof PinakesError && error.code === 'VOLUME_NEEDED') return;
    throw error;
  }
  await resolveLater(archive);
  await placeOldReplacements(archive);
  await endRebuild(archive);
  await listUpgraded(archive);
}
