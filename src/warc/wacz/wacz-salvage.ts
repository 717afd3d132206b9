/**
 * Finds the entries of a ZIP file without its directory, by reading its local headers from the beginning. Where a
 * header is missing, because it is damaged or because other bytes are before the package, the next header is searched
 * for.
 *
 * An entry written as a stream has zeros for its sizes, and a descriptor after its bytes (PK 07 08, CRC-32, compressed,
 * bytes; the sizes 4 or 8 bytes each). It ends at the first descriptor whose compressed size is its distance from the
 * beginning of the entry's bytes. An entry that the end of the file cuts off is returned as far as it goes.
 */
import { indexOf } from '../../base/index.ts';
import { DEFLATED, type LocalHeader, readLocalHeader, STORED, type ZipEntry } from './wacz-entry.ts';
import type { ByteSource } from './wacz-source.ts';

const HEADER_SIGNATURE = Uint8Array.of(0x50, 0x4b, 0x03, 0x04);
const DESCRIPTOR_SIGNATURE = Uint8Array.of(0x50, 0x4b, 0x07, 0x08);
const DESCRIPTOR_BYTES = 16;
const WIDE_DESCRIPTOR_BYTES = 24;
const SCAN_BYTES = 1024 * 1024;
const HAS_DESCRIPTOR = 8;

export type Salvage = {
  readonly entries: readonly ZipEntry[];
  /** Bytes before entries that belong to no entry. */
  readonly skippedBytes: number;
};

export async function salvageEntries(source: ByteSource, entriesMax: number): Promise<Salvage> {
  const entries: ZipEntry[] = [];
  let skippedBytes = 0;
  for (let position = 0; entries.length < entriesMax; ) {
    // A file without a header near its beginning is not a package. It is not read to its end.
    const found = await nextHeader(source, position, entries.length === 0 ? SCAN_BYTES : source.size);
    if (!found) break;
    const { entry, end } = await entryAt(source, found.position, found.header);
    if (!found.header.name.endsWith('/')) entries.push(entry);
    skippedBytes += found.position - position;
    position = end;
  }
  return { entries, skippedBytes };
}

/** The local header at `start`, or else the first one before `stop`. */
async function nextHeader(
  source: ByteSource,
  start: number,
  stop: number,
): Promise<{ position: number; header: LocalHeader } | undefined> {
  const expected = await readLocalHeader(source, start);
  if (expected) return { position: start, header: expected };
  const overlap = HEADER_SIGNATURE.length - 1;
  for (let at = start + 1; at < stop; ) {
    const piece = await source.read(at, SCAN_BYTES);
    for (let from = indexOf(piece, HEADER_SIGNATURE); from >= 0; from = indexOf(piece, HEADER_SIGNATURE, from + 1)) {
      const header = await readLocalHeader(source, at + from);
      if (header && isLikely(header)) return { position: at + from, header };
    }
    if (piece.length <= overlap) return undefined;
    at += piece.length - overlap;
  }
  return undefined;
}

/** The four bytes of a signature can occur anywhere, but then the bytes after them rarely look like a header. */
function isLikely({ method, name }: LocalHeader): boolean {
  return (method === STORED || method === DEFLATED) && /^[^\p{C}\ufffd]+$/u.test(name);
}

async function entryAt(
  source: ByteSource,
  headerOffset: number,
  header: LocalHeader,
): Promise<{ entry: ZipEntry; end: number }> {
  const { name, method, flags, dataOffset } = header;
  const common = { name, method, isEncrypted: (flags & 1) !== 0, headerOffset };
  const rest = Math.max(0, source.size - dataOffset);
  if ((flags & HAS_DESCRIPTOR) !== 0) {
    const found = await findDescriptor(source, dataOffset);
    if (found) {
      const { end, ...sizes } = found;
      return { entry: { ...common, ...sizes }, end };
    }
  }
  const isWhole = (flags & HAS_DESCRIPTOR) === 0 && header.compressedBytes <= rest;
  if (isWhole) {
    const { compressedBytes, bytes, crc32 } = header;
    return { entry: { ...common, compressedBytes, bytes, crc32 }, end: dataOffset + compressedBytes };
  }
  const bytes = method === DEFLATED ? undefined : rest;
  return { entry: { ...common, compressedBytes: rest, bytes, crc32: undefined }, end: source.size };
}

type Descriptor = { crc32: number; compressedBytes: number; bytes: number; end: number };

async function findDescriptor(source: ByteSource, dataOffset: number): Promise<Descriptor | undefined> {
  const overlap = WIDE_DESCRIPTOR_BYTES - 1;
  for (let at = dataOffset; at < source.size; ) {
    const piece = Buffer.from(await source.read(at, SCAN_BYTES));
    const isLast = at + piece.length >= source.size || piece.length <= overlap;
    const limit = isLast ? piece.length : piece.length - overlap;
    for (let from = indexOf(piece, DESCRIPTOR_SIGNATURE); from >= 0 && from < limit; ) {
      const found = readDescriptor(piece.subarray(from, from + WIDE_DESCRIPTOR_BYTES), at + from - dataOffset);
      if (found) return { ...found, end: at + from + found.end };
      from = indexOf(piece, DESCRIPTOR_SIGNATURE, from + 1);
    }
    if (isLast) return undefined;
    at += limit;
  }
  return undefined;
}

/** A descriptor that matches the length of the entry before it. `end` is the length of the descriptor. */
function readDescriptor(bytes: Buffer, length: number): Descriptor | undefined {
  if (bytes.length < DESCRIPTOR_BYTES) return undefined;
  const crc32 = bytes.readUInt32LE(4);
  // A narrow descriptor is followed by the next header, and all headers begin with PK.
  const isFollowed = bytes[DESCRIPTOR_BYTES] === 0x50 && bytes[DESCRIPTOR_BYTES + 1] === 0x4b;
  if (bytes.length === WIDE_DESCRIPTOR_BYTES && !isFollowed && bytes.readBigUInt64LE(8) === BigInt(length)) {
    return { crc32, compressedBytes: length, bytes: Number(bytes.readBigUInt64LE(16)), end: WIDE_DESCRIPTOR_BYTES };
  }
  if (bytes.readUInt32LE(8) !== length) return undefined;
  return { crc32, compressedBytes: length, bytes: bytes.readUInt32LE(12), end: DESCRIPTOR_BYTES };
}
