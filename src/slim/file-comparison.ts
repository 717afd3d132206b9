/** Compares two files byte by byte. */
import { closeSync, openSync, readSync } from 'node:fs';
import { fileError } from '../base/index.ts';

const BUFFER_BYTES = 1024 * 1024;

export function hasSameBytes(first: string, second: string): boolean {
  const descriptors: number[] = [];
  try {
    for (const path of [first, second]) descriptors.push(openSync(path, 'r'));
    const buffers = [Buffer.allocUnsafeSlow(BUFFER_BYTES), Buffer.allocUnsafeSlow(BUFFER_BYTES)];
    for (;;) {
      const [a, b] = buffers.map((buffer, index) => buffer.subarray(0, fill(descriptors[index]!, buffer)));
      if (!a!.equals(b!)) return false;
      if (a!.length < BUFFER_BYTES) return true;
    }
  } catch (cause) {
    throw fileError(cause, first);
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor);
  }
}

function fill(descriptor: number, buffer: Buffer): number {
  let filled = 0;
  while (filled < buffer.length) {
    const bytes = readSync(descriptor, buffer, filled, buffer.length - filled, null);
    if (bytes === 0) break;
    filled += bytes;
  }
  return filled;
}
