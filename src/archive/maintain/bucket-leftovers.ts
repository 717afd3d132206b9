/**
 * Removes what is left over in the buckets that this archive owns (H4):
 *
 * - parts of segments that are sealed or have no row. What a former owner put late is among them. It was acknowledged
 *   to no client, and the opening has entered what counts.
 * - the object of a segment that was sealed under another name, when a former owner sealed it late (R3).
 * - uploads that were not completed within a day.
 *
 * Any other file without a row stays. Called between two changes, so that no writer has begun anything without a row.
 */
import { PinakesError } from '../../base/index.ts';
import { begunName, parsePartName } from '../../ledger/index.ts';
import { isPartVolume, S3Volume } from '../../volume/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';

const UPLOAD_LIFE_MS = 24 * 3600 * 1000;

/** Returns how many objects and uploads were removed. */
export async function removeLeftovers(archive: OpenedArchive): Promise<number> {
  const { segmentRegistry, volumes } = archive;
  // What cannot be read now may count.
  if (segmentRegistry.unread.size > 0 || volumes.failures().length > 0) return 0;
  let removed = 0;
  for (const volume of volumes.writable())
    if (isPartVolume(volume)) {
      removed += await removeObjects(archive, volume.name);
      if (volume instanceof S3Volume) removed += await abortUploads(volume, archive.clock());
    }
  return removed;
}

async function removeObjects({ catalog, stores }: OpenedArchive, volume: string): Promise<number> {
  const store = stores.get(volume);
  const found: string[] = [];
  for await (const page of store.list()) found.push(...page.map(({ name }) => name));
  // Read after the listing: what was begun meanwhile has a row.
  const rows = (await catalog.segments()).filter((row) => row.volume === volume);
  const names = new Set(rows.map(({ name }) => name));
  const open = new Set(rows.flatMap(({ name, state }) => (state === 'sealed' ? [] : [begunName(name)])));
  const fresh = new Set(rows.flatMap(({ name }) => (begunName(name) === name ? [] : [begunName(name)])));
  const doomed = found.filter((name) => {
    const part = parsePartName(name);
    return part ? !open.has(part.segment) : fresh.has(name) && !names.has(name);
  });
  await store.remove(doomed);
  return doomed.length;
}

async function abortUploads(volume: S3Volume, now: number): Promise<number> {
  let aborted = 0;
  try {
    for await (const page of volume.unfinishedUploads())
      for (const upload of page)
        if (upload.begun && now - upload.begun.getTime() > UPLOAD_LIFE_MS) {
          await volume.abortUpload(upload);
          aborted++;
        }
  } catch (error) {
    // Some servers and keys do not list uploads. They cost room and nothing else.
    if (!(error instanceof PinakesError) || error.retryable) throw error;
  }
  return aborted;
}
