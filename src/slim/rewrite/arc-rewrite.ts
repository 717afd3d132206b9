/**
 * The second pass over an ARC file: converts it to a WARC file record by record, with a revisit for each duplicate. All
 * records are written again. The new file is then read back: every record must have the expected URI, date, payload and
 * block.
 *
 * Record ids are derived from the place of the record. So revisits in other files can name a record before it is
 * written, and a resumed run writes the same bytes.
 */
import { createHash, type Hash } from 'node:crypto';
import { basename } from 'node:path';
import { type Digest, type EpochMs, type Finding, formatW3cDate, PinakesError, toHex } from '../../base/index.ts';
import {
  type BlockFacts,
  BlockScanner,
  type Coding,
  convertArcHead,
  fieldsOf,
  headBytes,
  type NewRecord,
  RECORD_TRAILER,
  type RecordHead,
  readRecords,
  WarcFileWriter,
  warcFields,
} from '../../warc/index.ts';
import { identityOf } from '../file-identity.ts';
import { slimFinding } from '../finding-catalogue.ts';
import { ARC_ALGORITHM, algorithmOf, hasCodings, hasDigest } from '../plan/original-check.ts';
import { type PlannedDuplicate, readPlan } from '../plan/plan-line.ts';
import { derivedId, revisitParts } from './revisit.ts';
import { expectUnchanged, type RewriteJob, type RewriteReport, type StayReason } from './rewrite.ts';

/** Blocks up to this size are held in memory. Larger blocks are read twice. */
const MEMORY_BYTES_MAX = 8 * 1024 * 1024;

export type ArcRewriteJob = RewriteJob & {
  readonly coding: Coding;
  readonly software: string;
  readonly startMs: EpochMs;
  /** The name that the new file will have. */
  readonly targetName: string;
};

/** The record id for the record at this place of an ARC file. */
export function arcRecordId(name: string, offset: number): string {
  return derivedId(['arc record', name, offset]);
}

export async function rewriteArcFile(job: ArcRewriteJob): Promise<RewriteReport> {
  const writer = await WarcFileWriter.create(job.temporary, { coding: job.coding, force: true });
  try {
    const rewriting = new ArcRewriting(job, writer);
    await rewriting.run();
    await writer.sync();
    await rewriting.readBack(writer.temporaryPath);
    await writer.finish();
    expectUnchanged(job);
    return { ...rewriting.report(), identity: identityOf(job.temporary) };
  } catch (error) {
    await writer.discard({ force: true });
    expectUnchanged(job);
    throw error;
  }
}

/** The records of a file, summed up in one digest, to compare the expected with the written records. */
class RecordsDigest {
  readonly #hash: Hash = createHash('sha256');
  records = 0;

  add(type: string, uri: string | undefined, date: string | undefined, facts: BlockFacts): void {
    const digests = [digestIn(facts.payloadDigests), digestIn(facts.blockDigests)].map((digest) => toHex(digest.bytes));
    this.#hash.update(`${JSON.stringify([type, uri, date, facts.payloadBytes, facts.blockBytes, digests])}\n`);
    this.records++;
  }

  finish(): string {
    return this.#hash.digest('hex');
  }
}

function digestIn(digests: readonly Digest[]): Digest {
  return digests.find(({ algorithm }) => algorithm === ARC_ALGORITHM)!;
}

class ArcRewriting {
  readonly #job: ArcRewriteJob;
  readonly #writer: WarcFileWriter;
  readonly #expected = new RecordsDigest();
  readonly #findings: Finding[] = [];
  readonly #stayed: Record<StayReason, number> = { small: 0, coding: 0, unrepeatable: 0, changed: 0 };
  readonly #plan: Iterator<PlannedDuplicate[]>;
  readonly #warcinfoId: string;
  #batch: PlannedDuplicate[] = [];
  #replaced = 0;
  #payloadBytesSaved = 0;

  constructor(job: ArcRewriteJob, writer: WarcFileWriter) {
    this.#job = job;
    this.#writer = writer;
    this.#warcinfoId = derivedId(['arc warcinfo', job.name]);
    this.#plan = job.plan === undefined ? [][Symbol.iterator]() : readPlan(job.plan, 1000);
  }

  report(): Omit<RewriteReport, 'identity'> {
    return {
      replaced: this.#replaced,
      payloadBytesSaved: this.#payloadBytesSaved,
      stayed: this.#stayed,
      findings: this.#findings,
    };
  }

  async run(): Promise<void> {
    expectUnchanged(this.#job);
    await this.#writeWarcinfo();
    for await (const record of readRecords(this.#job.path)) {
      const planned = this.#takePlanned(record.head.offset);
      const algorithms = planned ? [...new Set([ARC_ALGORITHM, algorithmOf(planned)])] : [ARC_ALGORITHM];
      const scanner = new BlockScanner(record.head, { block: [ARC_ALGORITHM], payload: algorithms });
      const parts: Uint8Array[] = [];
      let length = 0;
      for await (const piece of record.body()) {
        scanner.push(piece);
        length += piece.length;
        if (length <= MEMORY_BYTES_MAX) parts.push(Buffer.from(piece));
      }
      const facts = scanner.end();
      const block = length <= MEMORY_BYTES_MAX ? Buffer.concat(parts) : undefined;
      const { head } = record;
      const converted = this.#converted(head, facts);
      if (planned && (await this.#replace(planned, head, facts, converted))) continue;
      await this.#write(head, converted, block, length);
      this.#expected.add(converted.type, head.targetUri, head.date, facts);
    }
  }

  async readBack(path: string): Promise<void> {
    const found = new RecordsDigest();
    let isFirst = true;
    for await (const record of readRecords(path)) {
      const scanner = new BlockScanner(record.head, { block: [ARC_ALGORITHM], payload: [ARC_ALGORITHM] });
      for await (const piece of record.body()) scanner.push(piece);
      if (!isFirst) found.add(record.head.type, record.head.targetUri, record.head.date, scanner.end());
      isFirst = false;
    }
    if (found.records === this.#expected.records && found.finish() === this.#expected.finish()) return;
    throw new PinakesError('SLIM_READ_BACK', { where: path });
  }

  #takePlanned(offset: number): PlannedDuplicate | undefined {
    if (this.#batch.length === 0) this.#batch = this.#plan.next().value ?? [];
    return this.#batch[0]?.offset === offset ? this.#batch.shift() : undefined;
  }

  #converted(head: RecordHead, facts: BlockFacts): NewRecord {
    const document = {
      isHttp: facts.http !== undefined,
      payloadDigest: digestIn(facts.payloadDigests),
      blockDigest: digestIn(facts.blockDigests),
    };
    const newId = () => arcRecordId(this.#job.name, head.offset);
    return convertArcHead(head, document, { newId, warcinfoId: this.#warcinfoId });
  }

  async #replace(
    planned: PlannedDuplicate,
    head: RecordHead,
    facts: BlockFacts,
    converted: NewRecord,
  ): Promise<boolean> {
    const isAsPlanned =
      facts.http &&
      (planned.payloadBytes === null || facts.payloadBytes === planned.payloadBytes) &&
      hasDigest(facts, planned.digest, this.#job.digestBytes);
    if (!isAsPlanned) {
      this.#stayed.changed++;
      this.#findings.push(slimFinding('slim-duplicate-differs', this.#job.path, planned.offset));
      return false;
    }
    if (facts.isChunkingBroken || !hasCodings(facts.http!, planned.original.codings)) {
      this.#stayed.coding++;
      return false;
    }
    const { name } = this.#job;
    const http = facts.http!;
    const { payloadBytes } = facts;
    const duplicate = { head, http, payloadBytes, name, offset: planned.offset, converted };
    const parts = revisitParts(duplicate, planned.original);
    if (typeof parts === 'string') {
      this.#stayed[parts]++;
      return false;
    }
    // Both records are still uncompressed, so the saving is computed from their plain sizes.
    const { minSavingBytes } = this.#job;
    const plainBytes = parts.reduce((sum, part) => sum + part.length, 0);
    const convertedBytes =
      headBytes(fieldsOf(converted, facts.blockBytes)).length + facts.blockBytes + RECORD_TRAILER.length;
    if (minSavingBytes > 0 && convertedBytes - plainBytes < minSavingBytes) {
      this.#stayed.small++;
      return false;
    }
    await this.#writer.writeParts(parts);
    const scanner = new BlockScanner(head, { block: [ARC_ALGORITHM], payload: [ARC_ALGORITHM] });
    scanner.push(http.bytes);
    this.#expected.add('revisit', head.targetUri, head.date, scanner.end());
    this.#replaced++;
    this.#payloadBytesSaved += facts.payloadBytes;
    return true;
  }

  async #write(head: RecordHead, record: NewRecord, block: Uint8Array | undefined, length: number): Promise<void> {
    if (block) {
      await this.#writer.write(record, block);
      return;
    }
    const again = readRecords(this.#job.path, { offset: head.offset });
    const { value } = await again.next();
    if (!value || value.head.offset !== head.offset) throw new PinakesError('FILE_CHANGED', { where: this.#job.path });
    await this.#writer.writeStream(record, { length, pieces: value.body() });
    await again.return(undefined);
  }

  async #writeWarcinfo(): Promise<void> {
    const { software, startMs, path, targetName } = this.#job;
    const fields = [
      { name: 'software', value: software },
      { name: 'format', value: 'WARC File Format 1.1' },
      { name: 'description', value: `converted from ${basename(path)}` },
    ];
    await this.#writer.write(
      {
        type: 'warcinfo',
        recordId: this.#warcinfoId,
        date: formatW3cDate(startMs),
        contentType: 'application/warc-fields',
        fields: [{ name: 'WARC-Filename', value: targetName }],
      },
      warcFields(fields),
    );
  }
}
