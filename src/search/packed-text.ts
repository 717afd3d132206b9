/** Text as it is kept: zstd at its fastest level, since reading a page costs more than the bytes that a higher one would save. */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';

const SETTINGS = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

export function packText(text: string): Uint8Array {
  return zstdCompressSync(text, SETTINGS);
}

export function unpackText(bytes: Uint8Array): string {
  return zstdDecompressSync(bytes).toString();
}
