/**
 * A second object with the name of a segment, in another volume, as an interrupted migration leaves it (see
 * migrate.ts). While the catalog has the segment, the second object is ignored. If the segment were removed, the next
 * opening would catalogue the second object and bring back deleted records. So the second object has to be removed
 * first.
 */
import { RunningDigest, toHex } from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import type { Volume } from '../../volume/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';

/**
 * Removes objects that are identical to the segment. Returns the volume of a double that has to stay, because it
 * differs or cannot be removed.
 */
export async function removeDoubles({ volumes }: OpenedArchive, segment: Segment): Promise<string | undefined> {
  const { name } = segment;
  for (const volume of volumes.available()) {
    if (volume.name === segment.volume || !(await volume.stat([name]))[0]) continue;
    const isSame = (await digestOfObject(volume, name)) === (await digestOfObject(volumes.get(segment.volume), name));
    if (!isSame || !volume.writable) return volume.name;
    await volume.remove([name]);
  }
  return undefined;
}

/** SHA-256 of all bytes of an object. */
export async function digestOfObject(volume: Volume, name: string): Promise<string> {
  const digest = new RunningDigest('sha256');
  for await (const piece of volume.stream(name)) digest.update(piece);
  return toHex(digest.finish().bytes);
}
