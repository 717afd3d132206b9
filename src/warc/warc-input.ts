/**
 * The WARC and ARC files that a path names: the file itself, or the files inside it when it is a WACZ. A file inside a
 * package is read in place, by range. Offsets of its records count from its own beginning.
 */
import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { type Finding, fileError, isEio } from '../base/index.ts';
import { type ReadingRecord, type ReadOptions, readRecords } from './read/record-reader.ts';
import { openWacz, type WaczWarc } from './wacz/wacz-reader.ts';

export type WarcInput = {
  /** Name of the file in findings and lists: the path, followed by `!` and the inner name for a file in a package. */
  readonly name: string;
  /** File name without directories, as indexes write it. */
  readonly filename: string;
  /** Bytes of the file; as declared when a package compresses it. */
  readonly size: number;
  readonly read: (options?: Omit<ReadOptions, 'name' | 'range'>) => AsyncGenerator<ReadingRecord>;
  /** A range of its bytes, unchanged. */
  readonly slice: (offset: number, length: number) => AsyncIterable<Uint8Array>;
};

const ZIP_MAGIC = Buffer.from('PK\x03\x04');

export async function* warcInputs(path: string, onFinding: (finding: Finding) => void): AsyncGenerator<WarcInput> {
  const { size, isPackage } = await inspect(path);
  if (!isPackage) {
    const slice = (offset: number, length: number) => fileSlice(path, offset, length);
    const read = (options: ReadOptions = {}) => readRecords(path, { ...options, skipsGaps: true });
    yield { name: path, filename: basename(path), size, read, slice };
    return;
  }
  const wacz = await openWacz(path, { onFinding });
  try {
    for await (const warc of wacz.warcs()) yield packedInput(path, warc);
  } finally {
    await wacz.close();
  }
}

function packedInput(path: string, warc: WaczWarc): WarcInput {
  const name = [path, ...warc.packages, warc.name].join('!');
  const range = { start: warc.offset, length: warc.length };
  return {
    name,
    filename: basename(warc.name),
    size: warc.length,
    read: (options = {}) =>
      warc.isStored
        ? readRecords(path, { ...options, name, range, skipsGaps: true })
        : readStreamed(warc, { ...options, name }),
    slice: (offset, length) =>
      warc.isStored ? fileSlice(path, warc.offset + offset, length) : streamSlice(warc.open(), offset, length),
  };
}

/** A file that a package compresses cannot be read from an offset. It is read from its beginning. */
async function* readStreamed(warc: WaczWarc, options: ReadOptions): AsyncGenerator<ReadingRecord> {
  const { offset = 0, end = Number.POSITIVE_INFINITY, ...others } = options;
  for await (const record of readRecords(warc.open(), others)) {
    if (record.head.offset >= end) return;
    if (record.head.offset >= offset) yield record;
  }
}

async function* fileSlice(path: string, offset: number, length: number): AsyncGenerator<Uint8Array> {
  if (length === 0) return;
  try {
    yield* createReadStream(path, { start: offset, end: offset + length - 1 }) as AsyncIterable<Uint8Array>;
  } catch (cause) {
    throw fileError(cause, path);
  }
}

async function* streamSlice(
  stream: AsyncIterable<Uint8Array>,
  offset: number,
  length: number,
): AsyncGenerator<Uint8Array> {
  let at = 0;
  for await (const bytes of stream) {
    const part = bytes.subarray(Math.max(0, offset - at), Math.max(0, offset + length - at));
    if (part.length > 0) yield part;
    at += bytes.length;
    if (at >= offset + length) return;
  }
}

/** False for a file whose beginning the disk cannot read. */
export async function beginsAsPackage(handle: FileHandle): Promise<boolean> {
  const start = Buffer.alloc(ZIP_MAGIC.length);
  try {
    await handle.read(start, 0, start.length, 0);
  } catch (cause) {
    if (!isEio(cause)) throw cause;
  }
  return start.equals(ZIP_MAGIC);
}

async function inspect(path: string): Promise<{ size: number; isPackage: boolean }> {
  try {
    await using handle = await open(path, 'r');
    const isPackage = extname(path).toLowerCase() === '.wacz' || (await beginsAsPackage(handle));
    return { size: (await handle.stat()).size, isPackage };
  } catch (cause) {
    throw fileError(cause, path);
  }
}
