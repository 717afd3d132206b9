/**
 * Which volume a new content goes to: its digest decides, among the writable volumes, each as likely as it has room. The same digest always
 * goes the same way while the volumes and their room stay about the same, so that equal contents meet in one segment.
 */
import { PinakesError, view } from '../base/index.ts';
import type { Volume, VolumeSpace } from '../volume/index.ts';
import type { VolumeSet } from './volume-set.ts';

const SHARES = 64;

/** Says of a digest which volume its content goes to. */
export type VolumeChoice = (digest: Uint8Array) => string;

/** The choice by the room that there is now: for contents that are stored together. Volumes that went away since the archive was opened get none. */
export async function volumeChoice(volumes: VolumeSet): Promise<VolumeChoice> {
  const writable = volumes.writable();
  if (writable.length === 0) throw volumes.noneWritable();
  if (writable.length === 1) return () => writable[0]!.name;
  const { there, spaces } = await spacesOf(writable);
  const total = spaces.reduce((sum, space) => sum + space.freeBytes, 0);
  // Every volume has at least one share, so that rounding never shuts one out.
  const shares = spaces.map((space) => Math.max(1, Math.round((space.freeBytes / Math.max(1, total)) * SHARES)));
  const names = shares.flatMap((share, index) => new Array<string>(share).fill(there[index]!.name));
  return (digest) => names[view(digest).readUInt32BE(0) % names.length]!;
}

async function spacesOf(volumes: readonly Volume[]): Promise<{ there: Volume[]; spaces: VolumeSpace[] }> {
  const asked = await Promise.allSettled(volumes.map((volume) => volume.space()));
  const there: Volume[] = [];
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
