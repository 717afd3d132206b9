/**
 * ZipNum: a sorted index cut into gzip members of N lines, with a small secondary index of one line per member.
 *
 *     WACZ form        !meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}
 *                      key SP timestamp SP {"offset": 0, "length": 4711, "digest": "sha256:..."}
 *     classic form     key SP timestamp TAB part TAB offset TAB length TAB number
 *
 * Every line of the secondary index has the first key of its block. Wanted lines may begin in the middle of a block. So
 * reading begins one block before the first block whose key is not below the wanted key. Writing keeps one block in
 * memory, reading keeps one block and one piece of the secondary index.
 */
import { promisify } from 'node:util';
import { constants, gunzip, gzip } from 'node:zlib';
import { digestOf, formatDigest, parseDigest, sameDigest, utf8 } from '../../base/index.ts';
import { type JsonValue, parseCount } from '../cdx/cdx-entry.ts';
import { type IndexFindingCode, indexFinding, quoted, type ReportFinding } from '../cdx/cdx-finding.ts';
import { readLineBatches, toByteText } from '../cdx/cdx-line.ts';
import { formatJson } from '../cdx/cdxj.ts';
import type { LineRange, PlacedLine } from './cdx-search.ts';
import type { ByteSource } from './wacz-source.ts';

const gzipBytes = promisify(gzip);
const gunzipBytes = promisify(gunzip) as (bytes: Uint8Array, options: object) => Promise<Buffer>;

/** py-wacz and archiveweb.page write blocks of this many lines. */
export const ZIPNUM_LINES_DEFAULT = 1024;

/** A block that is larger than this, compressed or inflated, is not read (I9). */
const ZIPNUM_BLOCK_BYTES_MAX = 64 * 1024 * 1024;

export type ZipNumOutput = {
  /** One gzip member for the data file. */
  readonly bytes: Uint8Array;
  /** The line of the secondary index, with its line end. */
  readonly indexLine: string;
};

/** The first line of a secondary index in WACZ form, with its line end. */
export function zipNumHeader(filename: string): string {
  return `!meta 0 ${formatJson({ format: 'cdxj-gzip-1.0', filename })}\n`;
}

/** Cuts sorted lines, which have no line ends, into blocks. */
export async function* writeZipNum(
  lines: AsyncIterable<string> | Iterable<string>,
  options: { readonly linesPerBlock?: number } = {},
): AsyncGenerator<ZipNumOutput> {
  const linesPerBlock = options.linesPerBlock ?? ZIPNUM_LINES_DEFAULT;
  let block: string[] = [];
  let offset = 0;
  const finish = async (): Promise<ZipNumOutput> => {
    const bytes = await gzipBytes(utf8(`${block.join('\n')}\n`));
    const prefix = prefixOf(block[0]!);
    const place = { offset, length: bytes.length, digest: formatDigest(digestOf('sha256', bytes)) };
    offset += bytes.length;
    block = [];
    return { bytes, indexLine: `${prefix} ${formatJson(place)}\n` };
  };
  for await (const line of lines) {
    block.push(line);
    if (block.length >= linesPerBlock) yield await finish();
  }
  if (block.length > 0) yield await finish();
}

/** Key and timestamp of an index line: everything before its object, or the first two columns of a CDX line. */
function prefixOf(line: string): string {
  const keyEnd = line.indexOf(' ');
  const timestampEnd = keyEnd < 0 ? -1 : line.indexOf(' ', keyEnd + 1);
  return timestampEnd < 0 ? line : line.slice(0, timestampEnd);
}

export type ZipNumBlock = {
  /** Key and timestamp of the first line. */
  readonly prefix: string;
  /** The data file: its name in the WACZ form, or the name of the part in the classic form. */
  readonly part: string;
  readonly offset: number;
  readonly length: number;
  readonly digest: string | undefined;
};

/** Parses one line of a secondary index in either form: a block or a header; undefined when it is neither. */
export function parseZipNumLine(
  line: string,
  defaultPart: string,
): ZipNumBlock | { readonly filename: string | undefined } | undefined {
  const tab = line.indexOf('\t');
  if (tab > 0) {
    const [prefix, part, offset, length] = line.split('\t') as [string, string?, string?, string?];
    const at = parseCount(offset ?? '');
    const bytes = parseCount(length ?? '');
    if (!part || at === undefined || bytes === undefined) return undefined;
    return { prefix, part, offset: at, length: bytes, digest: undefined };
  }
  const brace = line.indexOf(' {');
  if (brace < 0) return undefined;
  let place: { readonly [key: string]: JsonValue };
  try {
    place = JSON.parse(line.slice(brace + 1));
  } catch {
    return undefined;
  }
  const text = (key: string) => (typeof place[key] === 'string' ? place[key] : undefined);
  if (line.startsWith('!')) return { filename: text('filename') };
  const offset = parseCount(String(place.offset));
  const length = parseCount(String(place.length));
  if (offset === undefined || length === undefined) return undefined;
  const prefix = line.slice(0, brace);
  return { prefix, part: text('filename') ?? defaultPart, offset, length, digest: text('digest') };
}

export type ZipNumReaderOptions = {
  /** The bytes of the secondary index. They are read completely for each search. */
  readonly index: () => AsyncIterable<Uint8Array>;
  /** The name of the secondary index in findings. */
  readonly file: string;
  /** The data file of a part; undefined when it is missing. */
  readonly openPart: (part: string) => Promise<ByteSource | undefined>;
  readonly onFinding: ReportFinding;
};

const NO_PART = '';

export class ZipNumReader {
  readonly #options: ZipNumReaderOptions;
  #headerPart: string | undefined;

  constructor(options: ZipNumReaderOptions) {
    this.#options = options;
  }

  /** The lines of a range, or all, in order. Damaged blocks become findings and are skipped. */
  async *lines(range: LineRange = { start: '' }): AsyncGenerator<string> {
    const start = toByteText(range.start);
    const end = range.end === undefined ? undefined : toByteText(range.end);
    for await (const { block, offset } of this.blocks(range)) {
      for await (const line of this.#blockLines(block, offset)) {
        const text = toByteText(line);
        if (text < start) continue;
        if (end !== undefined && text >= end) return;
        yield line;
      }
    }
  }

  /** The blocks that can contain lines of a range, with the offset of their line in the secondary index. */
  async *blocks(range: LineRange = { start: '' }): AsyncGenerator<{ block: ZipNumBlock; offset: number }> {
    const start = toByteText(range.start);
    const end = range.end === undefined ? undefined : toByteText(range.end);
    let before: { block: ZipNumBlock; offset: number } | undefined;
    for await (const { line, offset } of this.#indexLines()) {
      const parsed = parseZipNumLine(line, this.#headerPart ?? NO_PART);
      if (parsed === undefined) {
        this.#report('zipnum-line-unknown', offset, quoted(line));
        continue;
      }
      if (!('prefix' in parsed)) {
        this.#headerPart = parsed.filename ?? this.#headerPart;
        continue;
      }
      const found = { block: parsed, offset };
      const prefix = toByteText(parsed.prefix);
      if (prefix < start) {
        before = found;
        continue;
      }
      if (before) yield before;
      before = undefined;
      if (end !== undefined && prefix >= end) return;
      yield found;
    }
    if (before) yield before;
  }

  async *#indexLines(): AsyncGenerator<PlacedLine> {
    const { index, file, onFinding } = this.#options;
    for await (const { lines, offsets } of readLineBatches(index(), { file, onFinding })) {
      for (let i = 0; i < lines.length; i++) if (lines[i] !== '') yield { line: lines[i]!, offset: offsets[i]! };
    }
  }

  async *#blockLines(block: ZipNumBlock, offset: number): AsyncGenerator<string> {
    const bytes = await this.#blockBytes(block, offset);
    if (bytes === undefined) return;
    const options = { file: block.part, onFinding: this.#options.onFinding };
    for await (const { lines } of readLineBatches([bytes], options))
      for (const line of lines) if (line !== '') yield line;
  }

  async #blockBytes(block: ZipNumBlock, offset: number): Promise<Uint8Array | undefined> {
    const where = `${block.part} at ${block.offset}`;
    if (block.length > ZIPNUM_BLOCK_BYTES_MAX) {
      this.#report('zipnum-block-large', offset, `${where} (${block.length} bytes)`);
      return undefined;
    }
    const source = await this.#options.openPart(block.part);
    if (source === undefined) {
      this.#report('zipnum-part-missing', offset, quoted(block.part));
      return undefined;
    }
    const bytes = await source.read(block.offset, block.length);
    if (bytes.length < block.length) this.#report('zipnum-block-cut', offset, where);
    const digest = block.digest === undefined ? undefined : parseDigest(block.digest);
    if (digest && !sameDigest(digest, digestOf(digest.algorithm, bytes))) {
      this.#report('zipnum-block-digest', offset, where);
    }
    return this.#inflate(bytes, where, offset);
  }

  async #inflate(bytes: Uint8Array, where: string, offset: number): Promise<Uint8Array | undefined> {
    const maxOutputLength = ZIPNUM_BLOCK_BYTES_MAX;
    try {
      return await gunzipBytes(bytes, { maxOutputLength });
    } catch (error) {
      this.#report('zipnum-block-damaged', offset, `${where} (${(error as Error).message})`);
    }
    try {
      // The lines before a cut are still good. The last one may be incomplete.
      const readable = await gunzipBytes(bytes, { maxOutputLength, finishFlush: constants.Z_SYNC_FLUSH });
      return readable.subarray(0, readable.lastIndexOf(0x0a) + 1);
    } catch {
      return undefined;
    }
  }

  #report(code: IndexFindingCode, offset: number, detail: string): void {
    this.#options.onFinding(indexFinding(code, this.#options.file, offset, detail));
  }
}
