/** Paints PNG pictures for the sample site: 8 bits per channel, no filter, one chunk of data. */
import { crc32, deflateSync } from 'node:zlib';
import { concat, utf8 } from '../../base/index.ts';

const SIGNATURE = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);

/** `colourAt` is called with coordinates from 0 to 1 and returns red, green and blue. */
export function paintPng(
  width: number,
  height: number,
  colourAt: (x: number, y: number) => readonly [number, number, number],
): Uint8Array {
  const rowBytes = 1 + width * 3;
  const pixels = new Uint8ClampedArray(rowBytes * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) pixels.set(colourAt(x / width, y / height), y * rowBytes + 1 + x * 3);
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // Depth 8, colour type 2 (red, green, blue).
  header.set([8, 2, 0, 0, 0], 8);
  return concat([SIGNATURE, chunk('IHDR', header), chunk('IDAT', deflateSync(pixels)), chunk('IEND', Buffer.alloc(0))]);
}

function chunk(type: string, data: Uint8Array): Uint8Array {
  const body = concat([utf8(type), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return concat([length, body, sum]);
}
