/**
 * Ranges of bytes of an open file: read whole, read in pieces, written. Nothing here uses the file's own position.
 */
import type { FileHandle } from 'node:fs/promises';
import { concat, READ_CHUNK_BYTES } from '../base/index.ts';

/** Longer ranges are first compared with the file's length, so that a range far beyond the end costs no memory. */
const UNCHECKED_BYTES_MAX = READ_CHUNK_BYTES;

/** The most parts and bytes of one call to the system. */
const WRITE_PARTS_MAX = 512;
const WRITE_BYTES_MAX = 1 << 30;

/** Parts smaller than this are joined before they are written: passing a part to the system costs more than a copy. */
const SMALL_PART_BYTES = 4096;

/** The bytes from `offset` on, in a buffer of their own; fewer than `length` where the file ends. */
export async function readRange(file: FileHandle, offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
  if (length > UNCHECKED_BYTES_MAX) length = Math.max(0, Math.min(length, (await file.stat()).size - offset));
  // The buffer is not from the pool, because the result belongs to the caller. It is not zeroed, because only bytes
  // that were read are returned.
  const { buffer } = Buffer.allocUnsafeSlow(length);
  const filled = await fill(file, new Uint8Array(buffer), offset);
  return filled === length ? new Uint8Array(buffer) : new Uint8Array(buffer.slice(0, filled));
}

/** Reads until the target is full or the file ends; returns the number of bytes read. */
async function fill(file: FileHandle, target: Uint8Array, offset: number): Promise<number> {
  let filled = 0;
  while (filled < target.length) {
    const { bytesRead } = await file.read(target, filled, target.length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
}

/**
 * The bytes from `from` up to `to` or the end, in pieces. While the caller uses a piece, the next is read into the
 * other of two buffers; so a piece is valid until the next is requested. Every read runs inside `during`, so that
 * closing can wait for it.
 */
export async function* streamRange(
  file: FileHandle,
  from: number,
  to: number,
  during: <T>(action: () => Promise<T>) => Promise<T>,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, void> {
  const buffers: Uint8Array<ArrayBuffer>[] = [];
  let turn = 0;
  const readAt = (offset: number) => {
    const room = Math.max(0, Math.min(READ_CHUNK_BYTES, to - offset));
    const buffer = (buffers[turn] ??= new Uint8Array(Math.min(READ_CHUNK_BYTES, Math.max(0, to - from))));
    turn = 1 - turn;
    const reading = during(async () => buffer.subarray(0, await fill(file, buffer.subarray(0, room), offset)));
    // A failure is thrown when the piece is requested; until then it must not count as an unhandled rejection.
    reading.catch(() => undefined);
    return reading;
  };
  let offset = from;
  let reading = readAt(offset);
  try {
    for (;;) {
      const piece = await reading;
      if (piece.length === 0) return;
      offset += piece.length;
      reading = readAt(offset);
      yield piece;
    }
  } finally {
    await reading.catch(() => undefined);
  }
}

/** Writes the parts one after the other, the first at `at`. */
export async function writeParts(file: FileHandle, at: number, parts: readonly Uint8Array[]): Promise<void> {
  let queue = joinSmall(parts);
  while (queue.length > 0) {
    const batch: Uint8Array[] = [];
    for (let bytes = 0; batch.length < Math.min(queue.length, WRITE_PARTS_MAX); ) {
      const part = queue[batch.length]!;
      bytes += part.length;
      if (batch.length > 0 && bytes > WRITE_BYTES_MAX) break;
      batch.push(part);
    }
    let { bytesWritten } = await file.writev(batch, at);
    at += bytesWritten;
    // A full disk or a limit shows first as a short write; writing the rest then fails.
    let whole = 0;
    while (whole < batch.length && bytesWritten >= batch[whole]!.length) bytesWritten -= batch[whole++]!.length;
    queue = queue.slice(whole);
    if (bytesWritten > 0) queue[0] = queue[0]!.subarray(bytesWritten);
  }
}

function joinSmall(parts: readonly Uint8Array[]): Uint8Array[] {
  const joined: Uint8Array[] = [];
  let small: Uint8Array[] = [];
  const flush = () => {
    if (small.length > 0) joined.push(small.length === 1 ? small[0]! : concat(small));
    small = [];
  };
  for (const part of parts) {
    if (part.length === 0) continue;
    if (part.length <= SMALL_PART_BYTES) {
      small.push(part);
      continue;
    }
    flush();
    joined.push(part);
  }
  flush();
  return joined;
}
