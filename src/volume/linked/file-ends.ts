/**
 * A fingerprint of the first and the last bytes of a file, as far as the disk can read them. It distinguishes files of
 * the same length.
 *
 *     sha256    of the first and the last FINGERPRINT_BYTES, joined; only if all of them can be read
 *     sectors   for each of their sectors in order, eight hexadecimal digits of its SHA-256; dashes if unreadable
 *
 * The sectors identify a file even when some sectors have become unreadable, or readable again.
 */
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { isEio, RunningDigest, SECTOR_BYTES, toHex } from '../../base/index.ts';
import { readRange } from '../file-range.ts';

export const FINGERPRINT_BYTES = 64 * 1024;
const SECTORS_MAX = FINGERPRINT_BYTES / SECTOR_BYTES;
const SECTOR_DIGITS = 8;
const UNREADABLE = '-'.repeat(SECTOR_DIGITS);

export type FileEnds = { readonly sha256?: string; readonly sectors?: string };

/** `failure`: why some sectors could not be read. */
export type FileEndsReading = FileEnds & { readonly sectors: string; readonly failure?: unknown };

export async function readEnds(file: FileHandle, bytes: number): Promise<FileEndsReading> {
  const length = Math.min(bytes, FINGERPRINT_BYTES);
  try {
    const beginning = await readRange(file, 0, length);
    const end = await readRange(file, bytes - length, length);
    const digest = new RunningDigest('sha256');
    digest.update(beginning);
    digest.update(end);
    const sectors = endSectors(bytes).map(([from, to]) =>
      sectorPrint(
        to <= length ? beginning.subarray(from, to) : end.subarray(from - bytes + length, to - bytes + length),
      ),
    );
    return { sha256: toHex(digest.finish().bytes), sectors: sectors.join('') };
  } catch (failure) {
    if (!isEio(failure)) throw failure;
    const sectors: string[] = [];
    for (const [from, to] of endSectors(bytes)) sectors.push(await readSectorPrint(file, from, to));
    return { sectors: sectors.join(''), failure };
  }
}

/** Whether two readings are of the same file; undefined when they have no readable sector in common. */
export function areSameEnds(one: FileEnds, other: FileEnds): boolean | undefined {
  if (one.sha256 !== undefined && other.sha256 !== undefined) return one.sha256 === other.sha256;
  if (one.sectors === undefined || one.sectors.length !== other.sectors?.length) return undefined;
  let known = 0;
  for (let at = 0; at < one.sectors.length; at += SECTOR_DIGITS) {
    const [a, b] = [one, other].map(({ sectors }) => sectors!.slice(at, at + SECTOR_DIGITS));
    if (a === UNREADABLE || b === UNREADABLE) continue;
    if (a !== b) return false;
    known++;
  }
  return known > 0 ? true : undefined;
}

/** Whether a text has the form of `sectors`, as `readEnds` returns it. */
export function areSectors(text: unknown): text is string {
  return typeof text === 'string' && /^(?:[0-9a-f]{8}|-{8})*$/.test(text);
}

/** The byte ranges of the sectors at the beginning and at the end, each once. */
function endSectors(bytes: number): [number, number][] {
  const count = Math.ceil(bytes / SECTOR_BYTES);
  const sectors: [number, number][] = [];
  for (let sector = 0; sector < count; sector++) {
    if (sector === SECTORS_MAX) sector = Math.max(sector, count - SECTORS_MAX);
    sectors.push([sector * SECTOR_BYTES, Math.min(bytes, (sector + 1) * SECTOR_BYTES)]);
  }
  return sectors;
}

function sectorPrint(sector: Uint8Array): string {
  return createHash('sha256').update(sector).digest('hex').slice(0, SECTOR_DIGITS);
}

async function readSectorPrint(file: FileHandle, from: number, to: number): Promise<string> {
  try {
    return sectorPrint(await readRange(file, from, to - from));
  } catch (cause) {
    if (!isEio(cause)) throw cause;
    return UNREADABLE;
  }
}
