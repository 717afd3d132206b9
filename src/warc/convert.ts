/**
 * Converts WARC and ARC files: to another compression, or from ARC to WARC.
 *
 * A WARC record keeps its head and its block byte for byte; only the member around it is made anew. Exceptions are
 * reported as findings. A head with bare line feeds is written with proper line ends. A record with a wrong
 * Content-Length gets its true length.
 *
 * Before the new file gets its final name it is read back. Every record in it must have the URI, date, payload and
 * block of its source.
 */
import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { basename } from 'node:path';
import {
  type Clock,
  type Finding,
  fileError,
  formatW3cDate,
  type IdSource,
  indexOf,
  PinakesError,
  toHex,
} from '../base/index.ts';
import type { Coding } from './member/file-coding.ts';
import { type BlockFacts, BlockScanner, type BlockScanOptions } from './read/block-scanner.ts';
import { digestMismatches, verdictScanOptions } from './read/digest-verdict.ts';
import { type ReadingRecord, readRecords } from './read/record-reader.ts';
import { convertArcHead } from './record/arc-conversion.ts';
import { warcFinding } from './record/finding-catalogue.ts';
import { fieldsOf, headBytes, RECORD_TRAILER, warcFields } from './record/new-record.ts';
import type { RecordHead } from './record/record-head.ts';
import type { WarcInput } from './warc-input.ts';
import { WarcFileWriter } from './write/warc-file-writer.ts';

/** Blocks up to this size are converted in memory. Larger ones go through a spool file. */
const MEMORY_BYTES_MAX = 8 * 1024 * 1024;

export type ConvertOptions = {
  readonly coding: Coding;
  readonly level?: number | undefined;
  readonly dictionary?: Uint8Array | undefined;
  readonly newId: IdSource;
  readonly clock: Clock;
  /** Name and version of the program, for the warcinfo record of files that were ARC. */
  readonly software: string;
  readonly force?: boolean;
  readonly onFinding?: (finding: Finding) => void;
  /** Called with the offset in the source after each record. */
  readonly onProgress?: (offset: number) => void;
  readonly signal?: AbortSignal | undefined;
};

export type ConvertReport = {
  readonly records: number;
  /** Records whose head had to be written anew. */
  readonly rewritten: number;
  readonly bytes: number;
};

/**
 * Writes `input` anew at `target`. The new file is kept only if it was read back and is right. For an input without
 * records, no file is kept and the report counts 0 records.
 */
export async function convertFile(input: WarcInput, target: string, options: ConvertOptions): Promise<ConvertReport> {
  const { coding, level, dictionary, force = false } = options;
  const writer = await WarcFileWriter.create(target, { coding, level, dictionary, force });
  const conversion = new Conversion(input, writer, options);
  try {
    await conversion.run();
    if (conversion.records === 0) {
      await writer.discard({ force });
      return { records: 0, rewritten: 0, bytes: 0 };
    }
    await writer.sync();
    const written = new Manifest();
    let records = 0;
    for await (const record of readRecords(writer.temporaryPath, { signal: options.signal })) {
      if (++records <= conversion.added) continue;
      await written.add(record, await scan(record));
    }
    if (records !== conversion.records + conversion.added || written.finish() !== conversion.manifest.finish()) {
      throw new PinakesError('CONVERSION_DIFFERS', { where: target });
    }
    await writer.finish();
    return { records: conversion.records, rewritten: conversion.rewritten, bytes: writer.offset };
  } catch (error) {
    await writer.discard({ force });
    throw error;
  }
}

/** A digest over the records of a file: equal when every record has the same URI, date, payload and block. */
class Manifest {
  readonly #hash: Hash = createHash('sha256');

  async add(record: ReadingRecord, facts: BlockFacts): Promise<void> {
    const { head } = record;
    const digests = [facts.payloadDigests[0]!, facts.blockDigests[0]!].map((digest) => toHex(digest.bytes));
    this.#hash.update(
      `${JSON.stringify([head.targetUri, head.date, facts.payloadBytes, facts.blockBytes])} ${digests}\n`,
    );
  }

  finish(): string {
    return this.#hash.digest('hex');
  }
}

function isChecksumlessFrame({ isCompressed, hasChecksum }: ReadingRecord): boolean {
  return isCompressed && !hasChecksum;
}

/** SHA-256 is the first algorithm for block and payload, because the manifest uses the first digests. */
function scanOptionsFor(record: ReadingRecord): BlockScanOptions {
  const { block = [], payload = [], ...others } = isChecksumlessFrame(record) ? verdictScanOptions(record.head) : {};
  return {
    block: [...new Set(['sha256', ...block] as const)],
    payload: [...new Set(['sha256', ...payload] as const)],
    ...others,
  };
}

async function scan(record: ReadingRecord): Promise<BlockFacts> {
  const scanner = new BlockScanner(record.head, { block: ['sha256'], payload: ['sha256'] });
  for await (const piece of record.body()) scanner.push(piece);
  return scanner.end();
}

type Block = {
  readonly length: number;
  readonly bytes: Uint8Array | undefined;
  readonly pieces: () => AsyncIterable<Uint8Array>;
};

class Conversion {
  readonly manifest = new Manifest();
  records = 0;
  rewritten = 0;
  /** Records that were added before the converted ones. */
  added = 0;
  #warcinfoId = '';
  readonly #input: WarcInput;
  readonly #writer: WarcFileWriter;
  readonly #options: ConvertOptions;

  constructor(input: WarcInput, writer: WarcFileWriter, options: ConvertOptions) {
    this.#input = input;
    this.#writer = writer;
    this.#options = options;
  }

  async run(): Promise<void> {
    const { onFinding, onProgress, signal } = this.#options;
    const spool = `${this.#writer.path}.spool`;
    try {
      for await (const record of this.#input.read({ onFinding, signal })) {
        if (record.head.format === 'arc' && this.#warcinfoId === '') await this.#writeWarcinfo();
        const scanner = new BlockScanner(record.head, scanOptionsFor(record));
        const block = await readBlock(record, scanner, spool);
        const facts = scanner.end();
        this.#reportWrongDigests(record, facts);
        await this.manifest.add(record, facts);
        await this.#write(this.#recordHeadBytes(record, facts, block.length), block);
        this.records++;
        onProgress?.(record.head.offset);
      }
    } finally {
      await unlink(spool).catch(() => {});
    }
  }

  /** Reports damage of frames without a checksum: the converted record gets a checksum, and would then look sound. */
  #reportWrongDigests(record: ReadingRecord, facts: BlockFacts): void {
    if (!isChecksumlessFrame(record)) return;
    const { head, tail } = record;
    for (const code of digestMismatches(head, facts, tail?.isComplete === true))
      this.#options.onFinding?.(warcFinding(code, this.#input.name, head.offset));
  }

  async #write(head: Uint8Array, block: Block): Promise<void> {
    if (block.bytes) await this.#writer.writeParts([head, block.bytes, RECORD_TRAILER]);
    else await this.#writer.writeStreamParts(head, { length: block.length, pieces: block.pieces() });
  }

  async #writeWarcinfo(): Promise<void> {
    const { newId, clock, software } = this.#options;
    this.#warcinfoId = newId();
    this.added = 1;
    const fields = [
      { name: 'software', value: software },
      { name: 'format', value: 'WARC File Format 1.1' },
      { name: 'description', value: `converted from ${basename(this.#input.name)}` },
    ];
    await this.#writer.write(
      {
        type: 'warcinfo',
        recordId: this.#warcinfoId,
        date: formatW3cDate(clock()),
        contentType: 'application/warc-fields',
        fields: [{ name: 'WARC-Filename', value: basename(this.#writer.path) }],
      },
      warcFields(fields),
    );
  }

  #recordHeadBytes(record: ReadingRecord, facts: BlockFacts, length: number): Uint8Array {
    const { head } = record;
    if (head.format === 'arc') {
      const document = {
        isHttp: facts.http !== undefined,
        payloadDigest: facts.payloadDigests[0]!,
        blockDigest: facts.blockDigests[0]!,
      };
      const conversion = { newId: this.#options.newId, warcinfoId: this.#warcinfoId };
      const converted = convertArcHead(head, document, conversion);
      const truncated = record.tail?.isComplete ? [] : [{ name: 'WARC-Truncated', value: 'unspecified' }];
      return headBytes(fieldsOf({ ...converted, fields: [...(converted.fields ?? []), ...truncated] }, length));
    }
    if (length === head.contentLength && hasProperLineEnds(head.bytes)) return head.bytes;
    this.rewritten++;
    return this.#repairedHead(head, length);
  }

  #repairedHead(head: RecordHead, length: number): Uint8Array {
    const fields = head.fields.map(({ name, value }) => ({ name, value: value.replaceAll('\r', ' ') }));
    const kept = fields.filter((field) => field.name.toLowerCase() !== 'content-length');
    if (length !== head.contentLength) {
      this.#options.onFinding?.(
        warcFinding('content-length-rewritten', this.#input.name, head.offset, `now ${length} bytes`),
      );
      if (head.get('warc-truncated') === undefined) kept.push({ name: 'WARC-Truncated', value: 'unspecified' });
    }
    return headBytes([...kept, { name: 'Content-Length', value: String(length) }], head.version);
  }
}

/** Every line ends with CR LF, and an empty line ends the head. */
function hasProperLineEnds(bytes: Uint8Array): boolean {
  for (let lf = indexOf(bytes, 0x0a); lf >= 0; lf = indexOf(bytes, 0x0a, lf + 1)) {
    if (bytes[lf - 1] !== 0x0d) return false;
  }
  return bytes.length >= 4 && bytes[bytes.length - 1] === 0x0a && bytes[bytes.length - 3] === 0x0a;
}

/** Reads a block into memory, or into the spool file when it is large. Its true length is known afterwards. */
async function readBlock(record: ReadingRecord, scanner: BlockScanner, spool: string): Promise<Block> {
  const parts: Uint8Array[] = [];
  let length = 0;
  let file: FileHandle | undefined;
  try {
    for await (const piece of record.body()) {
      scanner.push(piece);
      length += piece.length;
      parts.push(Buffer.from(piece));
      if (length <= MEMORY_BYTES_MAX) continue;
      file ??= await open(spool, 'w');
      await file.writeFile(Buffer.concat(parts));
      parts.length = 0;
    }
  } catch (cause) {
    throw fileError(cause, spool, 'writing');
  } finally {
    await file?.close();
  }
  const bytes = file ? undefined : Buffer.concat(parts);
  return { length, bytes, pieces: () => createReadStream(spool, { highWaterMark: 1024 * 1024 }) };
}
