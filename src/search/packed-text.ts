/**
 * Compresses texts for the index: zstd at its fastest level, because reading a page costs more than a higher level
 * saves.
 */
import { zstdDecompressSync } from 'node:zlib';
import { utf8 } from '../base/index.ts';
import { MemberEncoder } from '../warc/index.ts';
import { damagedIndex } from './sqlite/database.ts';

/**
 * One encoder is reused, because creating it costs more than packing a page. Threads that only read never create it.
 */
let encoder: MemberEncoder | undefined;

export function packText(text: string): Uint8Array {
  encoder ??= new MemberEncoder({ coding: 'zstd', level: 1 });
  return encoder.encode([utf8(text)]);
}

export function unpackText(bytes: Uint8Array): string {
  try {
    return zstdDecompressSync(bytes).toString();
  } catch (error) {
    throw damagedIndex(String(error), error);
  }
}
