/**
 * The entries of a ZIP file, read from its central directory by yauzl, and checked. Names that lead out of the package,
 * wrong sizes, encryption and unknown methods become findings. An entry that can still be read stays listed.
 *
 * No byte belongs to two entries: a package of 4 MB whose entries share their bytes could unpack to terabytes. An entry
 * ends where the next one begins. When several entries have the same offset, the first in the directory is read.
 *
 * When the end of the file is missing or the directory is broken, the local headers before the entries are read instead
 * (`wacz-salvage.ts`). So an incomplete download still gives what it contains. The local header is also used for an
 * entry that the directory places wrongly. ENTRIES_MAX bounds memory (I9).
 */
import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import {
  type Entry,
  fromRandomAccessReaderPromise,
  getFileNameLowLevel,
  RandomAccessReader,
  validateFileName,
} from 'yauzl';
import { fromUtf8, PinakesError } from '../../base/index.ts';
import { type IndexFindingCode, indexFinding, quoted, type ReportFinding } from '../cdx/cdx-finding.ts';
import { DEFLATED, dataOffsetOf, LOCAL_HEADER_BYTES, STORED, type ZipEntry } from './wacz-entry.ts';
import { salvageEntries } from './wacz-salvage.ts';
import { type ByteSource, streamSource } from './wacz-source.ts';

const ENTRIES_MAX = 250_000;

export type ZipDirectory = {
  readonly entries: readonly ZipEntry[];
  /** Whether entries come from local headers, because the directory is missing, broken or wrong. */
  readonly isSalvaged: boolean;
};

/** Reads the directory; throws NOT_WACZ when the source is not a ZIP file at all. */
export async function readZipDirectory(source: ByteSource, onFinding: ReportFinding): Promise<ZipDirectory> {
  const report: Report = (code, offset, detail) => onFinding(indexFinding(code, source.name, offset, detail));
  const entries: ZipEntry[] = [];
  try {
    for await (const entry of centralEntries(source)) {
      if (entries.length >= ENTRIES_MAX) {
        report('wacz-entries-too-many', 0, `more than ${ENTRIES_MAX}`);
        break;
      }
      entries.push(entry);
    }
  } catch (error) {
    if (error instanceof PinakesError) throw error;
    const { entries: salvaged, skippedBytes } = await salvageEntries(source, ENTRIES_MAX);
    if (salvaged.length === 0 && entries.length === 0) {
      throw new PinakesError('NOT_WACZ', { where: source.name, detail: (error as Error).message, cause: error });
    }
    const skipped = skippedBytes > 0 ? `; ${skippedBytes} bytes belong to no entry` : '';
    report('wacz-directory-broken', source.size, `${(error as Error).message}${skipped}`);
    return { entries: await checkEntries(merge(entries, salvaged), source, report), isSalvaged: true };
  }
  const placed = await withSalvaged(entries, source, report);
  return { entries: await checkEntries(placed, source, report), isSalvaged: placed !== entries };
}

/**
 * The entries. An entry that is not where the directory places it is taken from its local header, if it has one
 * elsewhere.
 */
async function withSalvaged(entries: ZipEntry[], source: ByteSource, report: Report): Promise<ZipEntry[]> {
  const lost = new Set<ZipEntry>();
  for (const entry of entries) if ((await dataOffsetOf(source, entry.headerOffset)) === undefined) lost.add(entry);
  if (lost.size === 0) return entries;
  const places = new Set(entries.filter((entry) => !lost.has(entry)).map((entry) => entry.headerOffset));
  const { entries: salvaged } = await salvageEntries(source, ENTRIES_MAX);
  const strays = new Map(
    salvaged.filter(({ headerOffset }) => !places.has(headerOffset)).map((one) => [one.name, one]),
  );
  return entries.map((entry) => {
    const found = lost.has(entry) ? strays.get(entry.name) : undefined;
    if (!found) return entry;
    report(isOutside(entry, source.size) ? 'wacz-entry-outside' : 'wacz-entry-header', entry.headerOffset, entry.name);
    return found;
  });
}

function isOutside({ headerOffset }: ZipEntry, size: number): boolean {
  return headerOffset + LOCAL_HEADER_BYTES > size;
}

function merge(listed: readonly ZipEntry[], salvaged: readonly ZipEntry[]): ZipEntry[] {
  const places = new Set(listed.map((entry) => entry.headerOffset));
  return [...listed, ...salvaged.filter((entry) => !places.has(entry.headerOffset))];
}

async function* centralEntries(source: ByteSource): AsyncGenerator<ZipEntry> {
  // Names are decoded and sizes compared here, because yauzl drops the whole directory at the first bad one.
  const options = { decodeStrings: false, validateEntrySizes: false, autoClose: false };
  const zip = await fromRandomAccessReaderPromise(new SourceReader(source), source.size, options);
  try {
    for await (const entry of zip.eachEntry()) {
      const name = nameOf(entry);
      if (name.endsWith('/')) continue;
      yield {
        name,
        method: entry.compressionMethod,
        isEncrypted: entry.isEncrypted(),
        compressedBytes: entry.compressedSize,
        bytes: entry.uncompressedSize,
        crc32: entry.crc32,
        headerOffset: entry.relativeOffsetOfLocalHeader,
      };
    }
  } finally {
    zip.close();
  }
}

/**
 * Many tools write UTF-8 without setting the flag for it. So names that are valid UTF-8 are read as UTF-8, and all
 * others as code page 437.
 */
function nameOf(entry: Entry): string {
  const name = isUtf8(entry.fileNameRaw)
    ? fromUtf8(entry.fileNameRaw)
    : getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, false);
  return name.replaceAll('\\', '/');
}

type Report = (code: IndexFindingCode, offset: number, detail: string) => void;

async function checkEntries(entries: readonly ZipEntry[], source: ByteSource, report: Report): Promise<ZipEntry[]> {
  const { size } = source;
  const inOrder = entries.toSorted((a, b) => a.headerOffset - b.headerOffset);
  const kept: ZipEntry[] = [];
  const names = new Set<string>();
  /** The last entry with a local header, and where its bytes are. */
  let last: { readonly index: number; readonly dataOffset: number; readonly end: number } | undefined;
  for (const entry of inOrder) {
    const { name, headerOffset } = entry;
    const at = (code: IndexFindingCode, detail = '') => report(code, headerOffset, `${quoted(name)}${detail}`);
    if (isOutside(entry, size)) {
      at('wacz-entry-outside');
      continue;
    }
    const dataOffset = await dataOffsetOf(source, headerOffset);
    if (last && dataOffset !== undefined && headerOffset < last.end) {
      const before = kept[last.index]!;
      at('wacz-entry-overlap', ` over ${quoted(before.name)}`);
      if (headerOffset === before.headerOffset) continue;
      kept[last.index] = { ...before, compressedBytes: Math.max(0, headerOffset - last.dataOffset) };
    }
    const end = (dataOffset ?? headerOffset + LOCAL_HEADER_BYTES + Buffer.byteLength(name)) + entry.compressedBytes;
    if (end > size) at('wacz-entry-cut');
    if (validateFileName(name) !== null) at('wacz-entry-name');
    if (names.has(name)) at('wacz-entry-twice');
    names.add(name);
    if (entry.isEncrypted) at('wacz-entry-encrypted');
    else if (entry.method !== STORED && entry.method !== DEFLATED) at('wacz-entry-method', ` (${entry.method})`);
    else if (entry.method === STORED && entry.bytes !== entry.compressedBytes) {
      at('wacz-entry-size', ` (${entry.compressedBytes} bytes are stored, ${entry.bytes} declared)`);
    }
    kept.push(entry);
    if (dataOffset !== undefined) last = { index: kept.length - 1, dataOffset, end };
  }
  return kept;
}

/** Lets yauzl read from any source. */
class SourceReader extends RandomAccessReader {
  readonly #source: ByteSource;

  constructor(source: ByteSource) {
    super();
    this.#source = source;
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(streamSource(this.#source, start, end));
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null, bytesRead?: number) => void,
  ): void {
    this.#source.read(position, length).then(
      (bytes) => {
        buffer.set(bytes, offset);
        callback(null, bytes.length);
      },
      (error: Error) => callback(error),
    );
  }

  override close(callback: (error: Error | null) => void): void {
    setImmediate(callback, null);
  }
}
