/**
 * Reads a whole index file of any format: CDX with or without header, CDXJ, and either of them gzipped (ZipNum data
 * files are gzip members one after the other). The format is detected for each line, so joined files, with headers in
 * the middle, can be read too.
 *
 * A line that cannot be used becomes a finding with its offset (of the inflated text in gzipped files), and reading
 * goes on (I10).
 */
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { PinakesError } from '../../base/index.ts';
import { type CdxLineParser, cdxFormatOf, cdxLineParser, parseCdxHeader } from './cdx.ts';
import type { CdxEntry } from './cdx-entry.ts';
import { indexFinding, quoted, type ReportFault, type ReportFinding } from './cdx-finding.ts';
import { type LineReadOptions, readLineBatches } from './cdx-line.ts';
import { parseCdxjLine } from './cdxj.ts';

/** All entries of an index file, in its order. */
export async function* readCdx(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  options: LineReadOptions,
): AsyncGenerator<CdxEntry> {
  for await (const batch of readCdxBatches(chunks, options)) yield* batch;
}

/** All entries, in batches of some thousand: waiting for each entry would cost as much as reading it. */
async function* readCdxBatches(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  options: LineReadOptions,
): AsyncGenerator<CdxEntry[]> {
  const reader = new CdxLineReader(options);
  for await (const { lines, offsets } of readLineBatches(inflated(chunks, options), options)) {
    const batch: CdxEntry[] = [];
    for (let i = 0; i < lines.length; i++) {
      const entry = reader.read(lines[i]!, offsets[i]!);
      if (entry) batch.push(entry);
    }
    if (batch.length > 0) yield batch;
  }
}

/** Parses the lines of one file one by one, and remembers the last header. */
export class CdxLineReader {
  readonly #file: string;
  readonly #onFinding: ReportFinding;
  #declared: CdxLineParser | undefined;
  readonly #byColumns = new Map<number, CdxLineParser>();
  #offset = 0;

  constructor(options: LineReadOptions) {
    this.#file = options.file;
    this.#onFinding = options.onFinding;
  }

  /** The entry of a line; undefined for headers, comments, empty lines, and lines that were reported. */
  read(line: string, offset: number): CdxEntry | undefined {
    const first = line.charCodeAt(0);
    if (Number.isNaN(first) || first === EXCLAMATION_MARK) return undefined;
    this.#offset = offset;
    const header = parseCdxHeader(line);
    if (header) {
      this.#declared = cdxLineParser(header);
      return undefined;
    }
    if (this.#declared) return this.#declared(line, this.#report);
    if (isCdxjLine(line)) return parseCdxjLine(line, this.#report);
    const parse = this.#parserFor(line);
    if (parse) return parse(line, this.#report);
    this.#report('cdx-line-unknown', quoted(line));
    return undefined;
  }

  #parserFor(line: string): CdxLineParser | undefined {
    let columns = 1;
    for (let at = line.indexOf(' '); at >= 0; at = line.indexOf(' ', at + 1)) columns++;
    const known = this.#byColumns.get(columns);
    if (known) return known;
    const format = cdxFormatOf(line);
    if (!format) return undefined;
    const parse = cdxLineParser(format);
    this.#byColumns.set(columns, parse);
    return parse;
  }

  readonly #report: ReportFault = (code, detail) => {
    this.#onFinding(indexFinding(code, this.#file, this.#offset, detail));
  };
}

const EXCLAMATION_MARK = 0x21;
const BRACE = 0x7b;

/** The JSON object is the third part of the line. In the dialect with a record type before it, it is the fourth. */
function isCdxjLine(line: string): boolean {
  const second = line.indexOf(' ', line.indexOf(' ') + 1);
  if (second <= 0) return false;
  if (line.charCodeAt(second + 1) === BRACE) return true;
  const third = line.indexOf(' ', second + 1);
  return third > 0 && line.charCodeAt(third + 1) === BRACE && line.endsWith('}');
}

/** Inflates data that begins like gzip, and passes everything else through. Damage ends the file with a finding. */
async function* inflated(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { file, onFinding }: LineReadOptions,
): AsyncGenerator<Uint8Array> {
  const iterator = Symbol.asyncIterator in chunks ? chunks[Symbol.asyncIterator]() : chunks[Symbol.iterator]();
  const rest = (first: Uint8Array) =>
    (async function* () {
      try {
        yield first;
        for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
      } finally {
        await iterator.return?.();
      }
    })();
  let first = await iterator.next();
  while (!first.done && first.value.length === 0) first = await iterator.next();
  if (first.done) return;
  if (first.value[0] !== 0x1f || first.value[1] !== 0x8b) {
    yield* rest(first.value);
    return;
  }
  const gunzip = createGunzip({ chunkSize: 64 * 1024 });
  pipeline(Readable.from(rest(first.value)), gunzip, () => {
    // The loop below throws the failure.
  });
  try {
    for await (const chunk of gunzip) yield chunk as Uint8Array;
  } catch (error) {
    if (error instanceof PinakesError) throw error;
    onFinding(indexFinding('cdx-gzip-damaged', file, gunzip.bytesWritten, (error as Error).message));
  }
}
