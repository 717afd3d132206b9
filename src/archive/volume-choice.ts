/**
 * Which volume a new content goes to: its digest decides, among the writable volumes, each as likely as it has room. The same digest always
 * goes the same way while the volumes and their room stay about the same, so that equal contents meet in one segment.
 */
import { PinakesError } from '../base/index.ts';
import type { VolumeSet } from './volume-set.ts';

const SHARES = 64;

export async function chooseVolume(volumes: VolumeSet, digest: Uint8Array): Promise<string> {
  const writable = volumes.writable();
  if (writable.length === 0) throw new PinakesError('NO_WRITABLE_VOLUME');
  if (writable.length === 1) return writable[0]!.name;
  const spaces = await Promise.all(writable.map((volume) => volume.space()));
  const total = spaces.reduce((sum, space) => sum + space.freeBytes, 0);
  // Every volume has at least one share, so that rounding never shuts one out.
  const shares = spaces.map((space) => Math.max(1, Math.round((space.freeBytes / Math.max(1, total)) * SHARES)));
  const all = shares.reduce((sum, share) => sum + share, 0);
  const view = Buffer.from(digest.buffer, digest.byteOffset, digest.byteLength);
  let at = view.readUInt32BE(0) % all;
  for (const [index, share] of shares.entries()) {
    if (at < share) return writable[index]!.name;
    at -= share;
  }
  return writable.at(-1)!.name;
}
