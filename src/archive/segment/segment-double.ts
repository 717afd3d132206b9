/**
 * A second object of a segment's name, in another volume: an interrupted migration leaves one (see migrate.ts). As long
 * as the catalog knows the segment, the second object does not count. Without the segment it would be taken for a
 * segment of its own, and bring back what was deleted: so it has to go before the segment does.
 */
import { RunningDigest, toHex } from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import type { Volume } from '../../volume/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';

/**
 * Removes what is the same as the segment. Gives the volume of a double that has to stay, because it is not the same or
 * cannot be removed.
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
