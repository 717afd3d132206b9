/**
 * One entry of a ZIP file: its local header and its content as a stream.
 *
 *      0 PK 03 04    6 flags    8 method    14 CRC-32    18 compressed    22 bytes    26 name length
 *     28 extra length    30 name, extra
 *
 * At most the declared number of bytes is read, so a bomb stops there, and at most one chunk is in memory (I9). A
 * mismatch with the declaration (length, CRC-32) and damaged deflate data are findings, reported after the readable
 * bytes were returned.
 */
import { pipeline, Readable } from 'node:stream';
import { crc32, createInflateRaw } from 'node:zlib';
import { fromUtf8, PinakesError } from '../../base/index.ts';
import { type IndexFindingCode, indexFinding, quoted, type ReportFinding } from '../cdx/cdx-finding.ts';
import { inflateRawHandle } from '../member/codec-handle.ts';
import { type ByteSource, streamSource } from './wacz-source.ts';

export const STORED = 0;
export const DEFLATED = 8;
export const LOCAL_HEADER_BYTES = 30;

const LOCAL_SIGNATURE = 0x04034b50;
const INFLATED_BYTES = 64 * 1024;

export type ZipEntry = {
  /** Path in the package, with forward slashes. */
  readonly name: string;
  readonly method: number;
  readonly isEncrypted: boolean;
  /** Bytes in the file, compressed. */
  readonly compressedBytes: number;
  /** Bytes of the content, as declared; undefined when the declaration is lost. */
  readonly bytes: number | undefined;
  readonly crc32: number | undefined;
  /** Position of the local header in the source. */
  readonly headerOffset: number;
};

export type LocalHeader = {
  readonly flags: number;
  readonly method: number;
  readonly crc32: number;
  readonly compressedBytes: number;
  readonly bytes: number;
  readonly name: string;
  /** Position of the entry's bytes in the source. */
  readonly dataOffset: number;
};

export function isReadable(entry: ZipEntry): boolean {
  return !entry.isEncrypted && (entry.method === STORED || entry.method === DEFLATED);
}

/** The local header at a position; undefined when there is none. */
export async function readLocalHeader(source: ByteSource, position: number): Promise<LocalHeader | undefined> {
  const fixed = await readFixedFields(source, position);
  if (!fixed) return undefined;
  const nameLength = fixed.readUInt16LE(26);
  const extraLength = fixed.readUInt16LE(28);
  const variable = Buffer.from(await source.read(position + LOCAL_HEADER_BYTES, nameLength + extraLength));
  if (variable.length < nameLength) return undefined;
  let compressedBytes = fixed.readUInt32LE(18);
  let bytes = fixed.readUInt32LE(22);
  const wide = zip64Sizes(variable.subarray(nameLength));
  if (wide && bytes === 0xffffffff) bytes = wide.bytes;
  if (wide && compressedBytes === 0xffffffff) compressedBytes = wide.compressedBytes;
  return {
    flags: fixed.readUInt16LE(6),
    method: fixed.readUInt16LE(8),
    crc32: fixed.readUInt32LE(14),
    compressedBytes,
    bytes,
    name: fromUtf8(variable, 0, nameLength).replaceAll('\\', '/'),
    dataOffset: position + LOCAL_HEADER_BYTES + nameLength + extraLength,
  };
}

/** Where the bytes of an entry begin, given the position of its local header; undefined when there is none. */
export async function dataOffsetOf(source: ByteSource, position: number): Promise<number | undefined> {
  const fixed = await readFixedFields(source, position);
  return fixed && position + LOCAL_HEADER_BYTES + fixed.readUInt16LE(26) + fixed.readUInt16LE(28);
}

/** The part of a local header that always has the same length. */
async function readFixedFields(source: ByteSource, position: number): Promise<Buffer | undefined> {
  const fixed = Buffer.from(await source.read(position, LOCAL_HEADER_BYTES));
  return fixed.length < LOCAL_HEADER_BYTES || fixed.readUInt32LE(0) !== LOCAL_SIGNATURE ? undefined : fixed;
}

function zip64Sizes(extra: Buffer): { bytes: number; compressedBytes: number } | undefined {
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
    if (extra.readUInt16LE(at) !== 1 || extra.readUInt16LE(at + 2) < 16 || at + 20 > extra.length) continue;
    return {
      bytes: Number(extra.readBigUInt64LE(at + 4)),
      compressedBytes: Number(extra.readBigUInt64LE(at + 12)),
    };
  }
  return undefined;
}

/** The content of an entry. An entry that cannot be read gives no bytes and a finding. */
export async function* readZipEntry(
  source: ByteSource,
  entry: ZipEntry,
  onFinding: ReportFinding,
): AsyncGenerator<Uint8Array> {
  const report = (code: IndexFindingCode, detail = '') =>
    onFinding(indexFinding(code, source.name, entry.headerOffset, `${entry.name}${detail}`));
  if (!isReadable(entry)) {
    report(entry.isEncrypted ? 'wacz-entry-encrypted' : 'wacz-entry-method', ` (method ${entry.method})`);
    return;
  }
  const header = await readLocalHeader(source, entry.headerOffset);
  if (!header) {
    report('wacz-entry-header');
    return;
  }
  const end = Math.min(source.size, header.dataOffset + entry.compressedBytes);
  const raw = streamSource(source, header.dataOffset, end);
  if (header.name !== entry.name && !header.name.includes('\ufffd')) {
    report('wacz-entry-header', ` (the local header says ${quoted(header.name)})`);
  }
  // When the two sizes of a stored entry differ, the size of its data in the file is used, so that nothing is dropped.
  const declared = entry.method === STORED ? entry.compressedBytes : entry.bytes;
  let left = declared ?? Number.POSITIVE_INFINITY;
  let given = 0;
  let checksum = 0;
  try {
    for await (const chunk of entry.method === DEFLATED ? inflateRaw(raw) : raw) {
      if (chunk.length > left) {
        const allowed = chunk.subarray(0, left);
        checksum = crc32(allowed, checksum);
        left = 0;
        if (allowed.length > 0) yield allowed;
        report('wacz-entry-size', ` (more than the declared ${declared} bytes; the rest was not read)`);
        return;
      }
      left -= chunk.length;
      given += chunk.length;
      checksum = crc32(chunk, checksum);
      yield chunk;
    }
  } catch (error) {
    if (error instanceof PinakesError) throw error;
    for await (const chunk of inflateAgain(streamSource(source, header.dataOffset, end), given)) {
      if (left > 0) yield chunk.subarray(0, left);
      left -= Math.min(left, chunk.length);
    }
    report('wacz-entry-damaged', ` (${(error as Error).message})`);
    return;
  }
  if (declared !== undefined && left > 0) {
    report('wacz-entry-size', ` (${declared - left} bytes instead of ${declared})`);
  } else if (entry.crc32 !== undefined && checksum !== entry.crc32) {
    report('wacz-entry-checksum');
  }
}

async function* inflateRaw(raw: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const inflate = createInflateRaw({ chunkSize: INFLATED_BYTES });
  pipeline(Readable.from(raw), inflate, () => {
    // The loop below throws the failure.
  });
  for await (const chunk of inflate) yield chunk as Uint8Array;
}

/**
 * The bytes after the `given` bytes that were returned, up to the damage: a failing engine does not return its last
 * output. Given room for one byte in each call, it stops just before the damage.
 */
async function* inflateAgain(raw: AsyncIterable<Uint8Array>, given: number): AsyncGenerator<Uint8Array> {
  const engine = inflateRawHandle();
  const output = new Uint8Array(INFLATED_BYTES);
  let toPass = given;
  let held = 0;
  try {
    for await (const piece of raw) {
      for (let at = 0; ; at += engine.consumed) {
        const room = toPass > 0 ? Math.min(toPass, output.length) : held + 1;
        engine.write(piece, at, piece.length, output, held, room);
        if (engine.failure !== undefined || engine.consumed + engine.produced === 0) break;
        if (toPass > 0) toPass -= engine.produced;
        else held += engine.produced;
        if (held < output.length) continue;
        yield output.slice();
        held = 0;
      }
      if (engine.failure !== undefined) break;
    }
    if (held > 0) yield output.subarray(0, held);
  } finally {
    engine.close();
  }
}
