/**
 * The checksums of S3: CRC-32, CRC-32C, CRC-64/NVME, SHA-1 and SHA-256, computed piece by piece. Their text is the
 * base64 of the big-endian bytes.
 */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

export type ChecksumAlgorithm = 'crc32' | 'crc32c' | 'crc64nvme' | 'sha1' | 'sha256';

export const CHECKSUM_ALGORITHMS: readonly ChecksumAlgorithm[] = ['crc32', 'crc32c', 'crc64nvme', 'sha1', 'sha256'];

/** Values in base64. One of the checksums of parts ends with their number. */
export type Checksums = Partial<Record<ChecksumAlgorithm, string>>;

/** The length of the values in bytes. */
export const CHECKSUM_BYTES: Readonly<Record<ChecksumAlgorithm, number>> = {
  crc32: 4,
  crc32c: 4,
  crc64nvme: 8,
  sha1: 20,
  sha256: 32,
};

export type RunningChecksum = {
  update(bytes: Uint8Array): void;
  /** The value in base64. Called once. */
  finish(): string;
};

export function runningChecksum(algorithm: ChecksumAlgorithm): RunningChecksum {
  switch (algorithm) {
    case 'crc32':
      return new Crc32();
    case 'crc32c':
      return new Crc32c();
    case 'crc64nvme':
      return new Crc64Nvme();
    default: {
      const hash = createHash(algorithm);
      return { update: (bytes) => void hash.update(bytes), finish: () => hash.digest('base64') };
    }
  }
}

export function algorithmNamed(name: string): ChecksumAlgorithm | undefined {
  return CHECKSUM_ALGORITHMS.find((algorithm) => algorithm === name.toLowerCase());
}

class Crc32 implements RunningChecksum {
  #value = 0;

  update(bytes: Uint8Array): void {
    this.#value = crc32(bytes, this.#value);
  }

  finish(): string {
    return base64Of([this.#value]);
  }
}

function base64Of(words: readonly number[]): string {
  const bytes = Buffer.alloc(4 * words.length);
  for (const [at, word] of words.entries()) bytes.writeUInt32BE(word >>> 0, 4 * at);
  return bytes.toString('base64');
}

/** Tables for eight bytes at a time: table n is for a byte that n more bytes follow. */
const SLICES = 8;
const CRC32C_POLYNOMIAL = 0x82f63b78;
const CRC64_HIGH = 0x9a6c9329;
const CRC64_LOW = 0xac4bc9b5;

let crc32cTables: Uint32Array | undefined;

function tablesOfCrc32c(): Uint32Array {
  const tables = new Uint32Array(SLICES * 256);
  for (let byte = 0; byte < 256; byte++) {
    let value = byte;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ CRC32C_POLYNOMIAL : value >>> 1;
    tables[byte] = value;
  }
  for (let at = 256; at < tables.length; at++) {
    const before = tables[at - 256]!;
    tables[at] = (before >>> 8) ^ tables[before & 0xff]!;
  }
  return tables;
}

class Crc32c implements RunningChecksum {
  #value = -1;

  update(bytes: Uint8Array): void {
    const t = (crc32cTables ??= tablesOfCrc32c());
    let value = this.#value;
    let at = 0;
    for (const end = bytes.length - 7; at < end; at += 8) {
      value =
        t[1792 + ((value ^ bytes[at]!) & 0xff)]! ^
        t[1536 + (((value >>> 8) ^ bytes[at + 1]!) & 0xff)]! ^
        t[1280 + (((value >>> 16) ^ bytes[at + 2]!) & 0xff)]! ^
        t[1024 + ((value >>> 24) ^ bytes[at + 3]!)]! ^
        t[768 + bytes[at + 4]!]! ^
        t[512 + bytes[at + 5]!]! ^
        t[256 + bytes[at + 6]!]! ^
        t[bytes[at + 7]!]!;
    }
    for (; at < bytes.length; at++) value = (value >>> 8) ^ t[(value ^ bytes[at]!) & 0xff]!;
    this.#value = value;
  }

  finish(): string {
    return base64Of([~this.#value]);
  }
}

type Tables64 = { readonly high: Uint32Array; readonly low: Uint32Array };

let crc64Tables: Tables64 | undefined;

function tablesOfCrc64(): Tables64 {
  const high = new Uint32Array(SLICES * 256);
  const low = new Uint32Array(SLICES * 256);
  for (let byte = 0; byte < 256; byte++) {
    let [h, l] = [0, byte];
    for (let bit = 0; bit < 8; bit++) {
      const isOdd = l & 1;
      l = (l >>> 1) | (h << 31);
      h >>>= 1;
      if (isOdd) {
        h ^= CRC64_HIGH;
        l ^= CRC64_LOW;
      }
    }
    high[byte] = h;
    low[byte] = l;
  }
  for (let at = 256; at < high.length; at++) {
    const [h, l] = [high[at - 256]!, low[at - 256]!];
    high[at] = (h >>> 8) ^ high[l & 0xff]!;
    low[at] = ((l >>> 8) | (h << 24)) ^ low[l & 0xff]!;
  }
  return { high, low };
}

/** The value is in two halves, because JavaScript has no fast integers of 64 bits. */
class Crc64Nvme implements RunningChecksum {
  #high = -1;
  #low = -1;

  update(bytes: Uint8Array): void {
    const { high, low } = (crc64Tables ??= tablesOfCrc64());
    let h = this.#high;
    let l = this.#low;
    let at = 0;
    for (const end = bytes.length - 7; at < end; at += 8) {
      const a = 1792 + ((l ^ bytes[at]!) & 0xff);
      const b = 1536 + (((l >>> 8) ^ bytes[at + 1]!) & 0xff);
      const c = 1280 + (((l >>> 16) ^ bytes[at + 2]!) & 0xff);
      const d = 1024 + ((l >>> 24) ^ bytes[at + 3]!);
      const e = 768 + ((h ^ bytes[at + 4]!) & 0xff);
      const f = 512 + (((h >>> 8) ^ bytes[at + 5]!) & 0xff);
      const g = 256 + (((h >>> 16) ^ bytes[at + 6]!) & 0xff);
      const i = (h >>> 24) ^ bytes[at + 7]!;
      h = high[a]! ^ high[b]! ^ high[c]! ^ high[d]! ^ high[e]! ^ high[f]! ^ high[g]! ^ high[i]!;
      l = low[a]! ^ low[b]! ^ low[c]! ^ low[d]! ^ low[e]! ^ low[f]! ^ low[g]! ^ low[i]!;
    }
    for (; at < bytes.length; at++) {
      const index = (l ^ bytes[at]!) & 0xff;
      l = ((l >>> 8) | (h << 24)) ^ low[index]!;
      h = (h >>> 8) ^ high[index]!;
    }
    this.#high = h;
    this.#low = l;
  }

  finish(): string {
    return base64Of([~this.#high, ~this.#low]);
  }
}
