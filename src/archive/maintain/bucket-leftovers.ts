/**
 * Removes what is left over in the buckets that this archive owns (H4): parts of segments that are sealed or have no
 * row, segments without a row that were seen for a day, and uploads that were not completed within a day. What a former
 * owner put late is among them. It was acknowledged to no client, and the opening has entered what counts.
 *
 * Called between two changes, so that no writer has begun anything without a row.
 */
import { hostname } from 'node:os';
import { PinakesError } from '../../base/index.ts';
import { collectLeftovers } from '../../ledger/index.ts';
import { S3Volume } from '../../volume/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';

const UPLOAD_LIFE_MS = 24 * 3600 * 1000;

export async function removeLeftovers(archive: OpenedArchive): Promise<void> {
  const { catalog, clock, newId, segmentRegistry, stores, volumes } = archive;
  // What cannot be read now has no row, and may count.
  if (segmentRegistry.unread.size > 0 || volumes.failures().length > 0) return;
  const onFinding = archive.report.bind(archive);
  await collectLeftovers({ catalog, stores, clock, graceMs: 0, onFinding }, `${hostname()}, ${newId()}`);
  for (const volume of volumes.writable()) if (volume instanceof S3Volume) await abortUploads(volume, clock());
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
