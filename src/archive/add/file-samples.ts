/**
 * Tells whether a file is still the same, by its length, its path and times, and samples of bytes from all over the
 * file.
 */
import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { equal, fileError, PinakesError, sectorRest } from '../../base/index.ts';
import { ifGiven } from '../damage.ts';

const SAMPLE_BYTES = 16 * 1024;
const SAMPLES = 17;
/** The samples of a file up to this size contain all of its bytes. */
export const SAMPLED_BYTES = SAMPLE_BYTES * SAMPLES;

/** A file before it was read. If length and times are unchanged, the file is the same. Otherwise the samples decide. */
export type FileSamples = { readonly size: number; readonly seen: string; readonly digest: Uint8Array };

function seenAs(path: string, { mtimeMs, ctimeMs }: Stats): string {
  return `${resolve(path)} ${mtimeMs} ${ctimeMs}`;
}

export async function samplesOf(path: string, handle: FileHandle): Promise<FileSamples> {
  const now = await handle.stat();
  return { size: now.size, seen: seenAs(path, now), digest: await digestOfSamples(path, handle, now.size) };
}

/** Whether another file or other bytes are at the path now. A missing file does not count. */
export async function isReplaced(path: string, samples: FileSamples): Promise<boolean> {
  const now = await stat(path).catch(() => undefined);
  if (!now || hasSameTimes(path, now, samples)) return false;
  await using handle = await open(path, 'r').catch(() => undefined);
  return handle !== undefined && (await hasOtherBytes(path, handle, samples));
}

/** Whether the bytes of a file have changed. A file that grew has the same bytes. */
export async function hasOtherBytes(path: string, handle: FileHandle, samples: FileSamples): Promise<boolean> {
  const now = await handle.stat();
  if (hasSameTimes(path, now, samples)) return false;
  return now.size < samples.size || !equal(await digestOfSamples(path, handle, samples.size), samples.digest);
}

function hasSameTimes(path: string, now: Stats, { size, seen }: FileSamples): boolean {
  return now.size === size && seenAs(path, now) === seen;
}

/** The samples of the first `size` bytes, without the bytes that the disk cannot read. */
async function digestOfSamples(path: string, handle: FileHandle, size: number): Promise<Uint8Array> {
  const hash = createHash('sha256').update(String(size));
  const piece = Buffer.alloc(SAMPLE_BYTES);
  let readAt = -1;
  let bytes = 0;
  let givenBytes = 0;
  for (let sample = 0; sample < SAMPLES; sample++) {
    const position = Math.floor((Math.max(0, size - SAMPLE_BYTES) * sample) / (SAMPLES - 1));
    // In a small file, all samples are at the same position, which is read once.
    const length = Math.min(piece.length, size - position);
    if (position !== readAt) bytes = await readAround(path, handle, piece, length, position);
    readAt = position;
    givenBytes += bytes;
    hash.update(piece.subarray(0, bytes));
  }
  if (size > 0 && givenBytes === 0) throw new PinakesError('DEVICE_FAILED', { where: path });
  return hash.digest();
}

/** The readable bytes of a range, joined. */
async function readAround(path: string, handle: FileHandle, into: Buffer, length: number, at: number): Promise<number> {
  const whole = await ifGiven(readBytes(path, handle, into, length, at));
  if (whole === length) return length;
  let filled = 0;
  for (const end = at + length; at < end; ) {
    const sector = Math.min(end - at, sectorRest(at));
    filled += (await ifGiven(readBytes(path, handle, into.subarray(filled), sector, at))) ?? 0;
    at += sector;
  }
  return filled;
}

/** Reads at least one byte, up to the first unreadable sector. */
export async function readBeforeGap(
  path: string,
  handle: FileHandle,
  into: Buffer,
  length: number,
  at: number,
): Promise<number> {
  const whole = await ifGiven(readBytes(path, handle, into, length, at));
  if (whole !== undefined) return whole;
  let filled = await readBytes(path, handle, into, Math.min(length, sectorRest(at)), at);
  while (filled < length) {
    const sector = Math.min(length - filled, sectorRest(at + filled));
    const bytes = await ifGiven(readBytes(path, handle, into.subarray(filled), sector, at + filled));
    if (!bytes) break;
    filled += bytes;
  }
  return filled;
}

/** Reads bytes. An error names the file. */
async function readBytes(path: string, handle: FileHandle, into: Buffer, length: number, at: number): Promise<number> {
  try {
    return (await handle.read(into, 0, length, at)).bytesRead;
  } catch (cause) {
    throw fileError(cause, path);
  }
}
