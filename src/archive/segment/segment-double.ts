/**
 * A second object with the name of a segment, in another volume, as an interrupted migration leaves it (see
 * migrate.ts). While the catalog has the segment, the second object is ignored. If the segment were removed, the next
 * opening would catalogue the second object and bring back deleted records. So the second object has to be removed
 * first.
 */
import { RunningDigest, toHex } from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import { type SegmentStore, wholeObject } from '../../ledger/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';

/**
 * Removes objects that are identical to the segment. Returns the volume of a double that has to stay, because it
 * differs or cannot be removed.
 */
export async function removeDoubles({ stores }: OpenedArchive, segment: Segment): Promise<string | undefined> {
  const { name } = segment;
  for (const store of stores.available()) {
    if (store.volume === segment.volume || !(await store.find(name)).object) continue;
    const isSame = (await digestOfObject(store, name)) === (await digestOfObject(stores.get(segment.volume), name));
    if (!isSame || !store.isWritable) return store.volume;
    await store.remove([name]);
  }
  return undefined;
}

/** SHA-256 of all bytes of an object. */
export async function digestOfObject(store: Pick<SegmentStore, 'stream'>, name: string): Promise<string> {
  const digest = new RunningDigest('sha256');
  const object = wholeObject(name);
  for await (const piece of store.stream(object, 0, object.bytes)) digest.update(piece);
  return toHex(digest.finish().bytes);
}
