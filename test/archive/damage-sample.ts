/** Damages records in segments as a disk does: the archive is not notified. */
import { readFileSync, writeFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { Archive } from '../../src/archive/index.ts';
import type { Place } from '../../src/catalog/index.ts';
import { segmentFiles } from './archive-sample.ts';

/**
 * `sum`: a bit of the checksum. `middle`: inner bytes, so that the member does not decode to its end. `start`: so that
 * it is not a member any more. `all`: NULs in its place.
 */
export type DamageKind = 'sum' | 'middle' | 'start' | 'all';

export type DamagedPlace = { readonly segment: string; readonly offset: number };

export async function damageRecord(archive: Archive, place: Place, how: DamageKind): Promise<DamagedPlace> {
  const { name } = (await archive.segments()).find(({ number }) => number === place.segment)!;
  const file = segmentFiles(archive.directory).find((path) => path.includes(name))!;
  const bytes = readFileSync(file);
  const { offset, length } = place;
  if (how === 'sum') bytes[offset + length - 8]! ^= 1;
  else if (how === 'middle') breakOff(bytes.subarray(offset, offset + length));
  else bytes.fill(0, offset, offset + (how === 'all' ? length : 4));
  writeFileSync(file, bytes);
  return { segment: name, offset };
}

/**
 * Changes a byte in the second half of a gzip member so that it does not decode. Many changes would only make it decode
 * to other bytes.
 */
function breakOff(member: Buffer): void {
  for (let at = Math.floor(member.length / 2); at < member.length - 8; at++) {
    const was = member[at]!;
    member[at] = was ^ 0xff;
    try {
      gunzipSync(member);
    } catch (error) {
      if (/^invalid/.test((error as Error).message)) return;
    }
    member[at] = was;
  }
  throw new Error('no change of a single byte breaks this member');
}

/** The place of the latest capture of a URL. */
export async function placeOf(archive: Archive, url: string): Promise<Place> {
  return (await archive.findCapture(url))!.place;
}

export async function damageUrl(archive: Archive, url: string, how: DamageKind): Promise<DamagedPlace> {
  return await damageRecord(archive, await placeOf(archive, url), how);
}
