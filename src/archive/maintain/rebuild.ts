/** Creates the catalog again from the segments and the tombstones beside them. */
import { hostname } from 'node:os';
import type { Finding } from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import { beginIncarnation } from '../../ledger/index.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { resolveLater } from '../revisit/resolve-later.ts';
import { forgetKeptPlaces, isRebuilding, keptPlaces } from '../segment/kept-places.ts';
import { sweepCopies } from './copies.ts';
import { healArchive } from './heal.ts';

export type RebuildOptions = {
  readonly signal?: AbortSignal;
  readonly onProgress?: (segment: Segment) => void;
  /** Called with every finding in the segments, in addition to the `onFinding` that the archive was opened with. */
  readonly onFinding?: (finding: Finding) => void;
};

export async function rebuildCatalog(archive: OpenedArchive, options: RebuildOptions): Promise<void> {
  if (archive.cluster) return rebuildInCluster(archive, archive.cluster, options);
  const { catalog, collections, segmentRegistry } = archive;
  const [missing] = archive.volumes.failures();
  // A rebuild without this volume would remove everything in it from the catalog.
  if (missing) throw missing;
  await archive.growing(async () => {
    // Collections keep their numbers, and so captures keep their ids.
    const notes = { ...collections.notes(), ...(await keptPlaces(archive)) };
    segmentRegistry.beginRebuild();
    await catalog.clear(notes);
    await collections.load();
    segmentRegistry.reset();
    archive.segmentWriter.reset();
    archive.runs.forget();
    const onFinding = (finding: Finding) => {
      archive.report(finding);
      options.onFinding?.(finding);
    };
    await healArchive(archive, { ...options, onFinding });
    await resolveLater(archive);
    await endRebuild(archive);
    segmentRegistry.endRebuild();
  });
  await sweepCopies(archive);
}

async function rebuildInCluster(archive: OpenedArchive, cluster: Cluster, options: RebuildOptions): Promise<void> {
  archive.runs.forget();
  await cluster.adopt({ ...options, empties: true });
  await archive.exclusive(() => resolveLater(archive));
  await archive.maintaining(() => sweepCopies(archive));
}

/**
 * Ends a rebuild, or the cataloguing after the catalog was lost, when everything is entered: the next incarnation
 * begins (R2). While something in a bucket could not be read, the next opening goes on.
 */
export async function endRebuild(archive: OpenedArchive): Promise<void> {
  const hasBuckets = archive.stores.available().some(({ hasParts }) => hasParts);
  if (hasBuckets && archive.segmentRegistry.unread.size > 0) return;
  if (await isRebuilding(archive)) await beginIncarnation(archive, hostname());
  await forgetKeptPlaces(archive);
}
