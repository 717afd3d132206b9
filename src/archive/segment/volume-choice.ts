/**
 * Chooses the volume for a new content. The digest of the content selects a writable volume, with probabilities
 * proportional to free space. The same digest always leads to the same volume while the volumes and their space stay
 * about the same, so that equal contents reach the same segment. A volume that is nearly full gets nothing while
 * another one has room.
 */
import { PinakesError, view } from '../../base/index.ts';
import { type AnyVolume, isPartVolume, type VolumeSpace } from '../../volume/index.ts';
import type { VolumeSet } from './volume-set.ts';

const SHARES = 64;
/** A volume with less free space is nearly full. */
const ROOM_BYTES_MIN = 64 * 1024 * 1024;

/** Returns the volume for the content with this digest. */
export type VolumeChoice = (digest: Uint8Array) => string;

/**
 * A choice made from the current free space, for contents that are stored together. Volumes that disappeared since the
 * archive was opened get no content.
 */
export async function volumeChoice(volumes: Pick<VolumeSet, 'writable' | 'noneWritable'>): Promise<VolumeChoice> {
  const writable = volumes.writable();
  if (writable.length === 0) throw volumes.noneWritable();
  if (writable.length === 1) return () => writable[0]!.name;
  const { there, spaces } = withRoom(await spacesOf(writable));
  const total = spaces.reduce((sum, space) => sum + space.freeBytes, 0);
  // Every volume has at least one share, so that rounding excludes none.
  const shares = spaces.map((space) => Math.max(1, Math.round((space.freeBytes / Math.max(1, total)) * SHARES)));
  const names = shares.flatMap((share, index) => new Array<string>(share).fill(there[index]!.name));
  return (digest) => names[view(digest).readUInt32BE(0) % names.length]!;
}

type Spaces = { readonly there: readonly AnyVolume[]; readonly spaces: readonly VolumeSpace[] };

function withRoom(all: Spaces): Spaces {
  const places = all.there
    .keys()
    .filter((index) => all.spaces[index]!.freeBytes >= ROOM_BYTES_MIN)
    .toArray();
  if (places.length === 0) return all;
  return { there: places.map((index) => all.there[index]!), spaces: places.map((index) => all.spaces[index]!) };
}

/** A volume that does not say how much room it has gets as much as a very large disk. */
const UNKNOWN_SPACE: VolumeSpace = { freeBytes: 2 ** 40, totalBytes: 2 ** 40 };

async function spaceOf(volume: AnyVolume): Promise<VolumeSpace> {
  return isPartVolume(volume) ? UNKNOWN_SPACE : volume.space();
}

async function spacesOf(volumes: readonly AnyVolume[]): Promise<Spaces> {
  const asked = await Promise.allSettled(volumes.map(spaceOf));
  const there: AnyVolume[] = [];
  const spaces: VolumeSpace[] = [];
  const failures: unknown[] = [];
  for (const [index, answer] of asked.entries()) {
    if (answer.status === 'fulfilled') {
      there.push(volumes[index]!);
      spaces.push(answer.value);
    } else if (answer.reason instanceof PinakesError) failures.push(answer.reason);
    else throw answer.reason;
  }
  if (there.length === 0) throw failures[0];
  return { there, spaces };
}
