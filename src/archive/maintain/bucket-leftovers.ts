/**
 * Removes what is left over in the buckets that this archive owns: parts of segments that are sealed or have no row,
 * objects that a former owner put late (found-segment.ts), and uploads that were not completed within a day. None of
 * them was acknowledged to a client, or the opening has entered what counts. Any other file without a row stays (H4).
 *
 * Called between two changes, so that no writer has begun anything without a row.
 */
import { hostname } from 'node:os';
import { type Finding, PinakesError } from '../../base/index.ts';
import { begunName, collectLeftovers, parsePartName, type SegmentStore } from '../../ledger/index.ts';
import { S3Volume } from '../../volume/index.ts';
import { keepLease } from '../cluster/keep-lease.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { newestList, segmentsIn } from './found-segment.ts';

const UPLOAD_LIFE_MS = 24 * 3600 * 1000;

export async function removeLeftovers(archive: OpenedArchive): Promise<void> {
  const { clock, segmentRegistry, stores, volumes } = archive;
  // What cannot be read now may count.
  if (segmentRegistry.unread.size > 0 || volumes.failures().length > 0) return;
  const { cluster, catalog } = archive;
  if (cluster) {
    const { lifeMs, graceMs } = cluster;
    const options = {
      catalog,
      stores,
      clock,
      graceMs,
      lifeMs,
      keep: keepLease,
      onFinding: (finding: Finding) => archive.report(finding),
    };
    await collectLeftovers(options, `${hostname()}, process ${process.pid}, ${archive.newId()}`);
  } else for (const store of stores.writable()) if (store.hasParts) await removeObjects(archive, store);
  for (const volume of volumes.writable()) if (volume instanceof S3Volume) await abortUploads(volume, clock());
}

async function removeObjects({ catalog }: OpenedArchive, store: SegmentStore): Promise<void> {
  const parts: string[] = [];
  for await (const page of store.list('_pinakes/open/')) for (const { name } of page) parts.push(name);
  // Read after the listing: what was begun meanwhile has a row.
  const rows = new Map((await catalog.segments()).map((row) => [row.name, row]));
  const open = new Set([...rows.values()].flatMap(({ name, state }) => (state === 'sealed' ? [] : [begunName(name)])));
  const { late } = await segmentsIn(store, rows, await newestList(store));
  const orphans = parts.filter((name) => !open.has(begunName(parsePartName(name)?.segment ?? name)));
  await store.remove([...orphans, ...late]);
}

async function abortUploads(volume: S3Volume, now: number): Promise<void> {
  try {
    for await (const page of volume.unfinishedUploads())
      for (const upload of page)
        if (upload.begun && now - upload.begun.getTime() > UPLOAD_LIFE_MS) await volume.abortUpload(upload);
  } catch (error) {
    // Some servers and keys do not list uploads. They cost room and nothing else.
    if (!(error instanceof PinakesError) || error.retryable) throw error;
  }
}
