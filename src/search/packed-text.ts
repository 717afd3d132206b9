/**
 * Text as it is kept: zstd at its fastest level, since reading a page costs more than the bytes that a higher one would
 * save.
 */
import { zstdDecompressSync } from 'node:zlib';
import { utf8 } from '../base/index.ts';
import { MemberEncoder } from '../warc/index.ts';
import { damaged } from './sqlite/database.ts';

/**
 * Kept, because making an engine costs more than packing a page; made when the first text is packed, because most of us
 * only read.
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
    throw damaged(String(error), error);
  }
}
