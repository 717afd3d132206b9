/**
 * Takes WARC and ARC files in: worker threads walk and hash the members, this thread decides and copies.
 *
 * What is new is copied as the members it came in, whole runs at a time (I4). A response whose content the archive holds becomes a revisit with
 * its own head; a capture that is there already is passed over, so that adding a file twice adds nothing. Everything of one step is durable
 * before the catalog hears of it, and the step's end in the file is noted with it: an interrupted add goes on where it was.
 */
import { createHash } from 'node:crypto';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { type Finding, fileError, type IdSource, PinakesError, toHex } from '../base/index.ts';
import type { BlockKey, Catalog } from '../catalog/index.ts';
import {
  type Coding,
  convertArcHead,
  type Field,
  fieldsOf,
  headBytes,
  MemberEncoder,
  type NewRecord,
  RECORD_TRAILER,
  type ReadingRecord,
  readFileStart,
  readRecords,
  recordParts,
  type ScanBatch,
  scanFiles,
} from '../warc/index.ts';
import { blockId, type CatalogDraft } from './catalog-draft.ts';
import type { Collections } from './collections.ts';
import type { RecordAccess } from './record-access.ts';
import {
  ARCHIVE_FIELDS,
  CAPTURE_ID_FIELD,
  captureIdOf,
  captureKindOf,
  DECLARED_FIELD,
  factsOfScan,
  OVERFLOW_FIELD,
  type RecordFacts,
} from './record-facts.ts';
import { Registrar } from './registrar.ts';
import { type Referent, repointed } from './segment-rewrite.ts';
import type { OpenSegment, SegmentKind, SegmentShelf } from './segment-shelf.ts';
import { Spool } from './spool.ts';

const ADDED_NOTE = 'added:';
/** Records decided on together. */
const STEP_RECORDS = 2000;
const COPY_BYTES = 4 * 1024 * 1024;
const FINGERPRINT_BYTES = 16 * 1024;
const FINGERPRINT_SAMPLES = 17;
/** A revisit has a head and no body. */
const REVISIT_BYTES_MAX = 16 * 1024 * 1024;
/** How far a reader reads on rather than being begun anew. */
const READ_ON_BYTES_MAX = 1024 * 1024;

export type AddOptions = {
  readonly collection?: string;
  readonly volume?: string;
  readonly workers?: number;
  readonly onFinding?: (finding: Finding) => void;
  readonly onProgress?: (progress: AddProgress) => void;
  readonly signal?: AbortSignal | undefined;
};

export type AddProgress = { readonly file: string; readonly bytes: number; readonly captures: number };

export type AddReport = {
  files: number;
  /** Files that had been added before and were not read again. */
  filesKnown: number;
  failures: PinakesError[];
  records: number;
  captures: number;
  /** Captures that the archive had already. */
  capturesKnown: number;
  /** Captures whose content the archive held, so that only a revisit was written. */
  duplicates: number;
  duplicateBytes: number;
  /** Revisits of other crawlers whose original is not in the archive (yet). */
  unresolved: number;
};

export type AddParts = {
  readonly directory: string;
  readonly catalog: Catalog;
  readonly shelf: SegmentShelf;
  readonly access: RecordAccess;
  readonly collections: Collections;
  readonly newId: IdSource;
  readonly dedupBytesMin: number;
  readonly fingerprint: (digest: Uint8Array) => Uint8Array;
  readonly chooseVolume: (digest: Uint8Array) => Promise<string>;
  readonly exclusive: <T>(work: () => Promise<T>) => Promise<T>;
  readonly newDraft: () => CatalogDraft;
  readonly commit: (draft: CatalogDraft) => Promise<void>;
  readonly rollBack: () => Promise<void>;
};

/** How far a file has been added: up to and with the record at this offset and, where records share a member, this offset inside it. */
type Ledger = {
  readonly file: string;
  readonly offset: number;
  readonly innerOffset: number;
  readonly done: boolean;
};

export function emptyReport(): AddReport {
  return {
    files: 0,
    filesKnown: 0,
    failures: [],
    records: 0,
    captures: 0,
    capturesKnown: 0,
    duplicates: 0,
    duplicateBytes: 0,
    unresolved: 0,
  };
}

/** Adds files by copying. */
export async function addFiles(parts: AddParts, files: readonly string[], options: AddOptions): Promise<AddReport> {
  const report = emptyReport();
  const todo: string[] = [];
  const sources = new Map<string, FileSource>();
  try {
    for (const file of files) {
      const source = await FileSource.open(parts, file, options).catch((error: PinakesError) => {
        report.failures.push(error);
        return undefined;
      });
      if (!source) continue;
      report.files++;
      if (source.isDone) report.filesKnown++;
      if (source.isDone) await source.close();
      else {
        sources.set(file, source);
        todo.push(file);
      }
    }
    const scan = scanFiles(todo, {
      workers: options.workers ?? 2,
      fields: ARCHIVE_FIELDS,
      signal: options.signal!,
      httpHeads: true,
    });
    for await (const item of scan) {
      const source = sources.get(item.kind === 'batch' ? item.batch.file : item.file)!;
      if (item.kind === 'batch') {
        for (const finding of item.batch.findings) options.onFinding?.(finding);
        await source.take(item.batch, report);
        options.onProgress?.({ file: source.path, bytes: item.bytes, captures: report.captures });
      } else {
        if (item.kind === 'file-end') await source.finish();
        else report.failures.push(item.error);
        await source.close();
        sources.delete(item.file);
      }
    }
  } finally {
    for (const source of sources.values()) await source.close();
  }
  return report;
}

/** One file while it is being added. */
class FileSource {
  readonly path: string;
  readonly #parts: AddParts;
  readonly #options: AddOptions;
  readonly #handle: FileHandle;
  readonly #note: string;
  readonly #coding: Coding;
  readonly #kind: SegmentKind;
  #ledger: Ledger;
  readonly #encoder: MemberEncoder;
  #warcinfoId = '';
  #reader: AsyncGenerator<ReadingRecord> | undefined;
  #readerAt = 0;
  #hasFindings = false;
  /** Whether the last step ended in the middle of a visit: its records are kept in one segment. */
  #lastVisit = '';
  #passed: Passed = { ids: new Set(), visits: new Set() };

  private constructor(
    parts: AddParts,
    path: string,
    options: AddOptions,
    handle: FileHandle,
    coding: Coding,
    kind: SegmentKind,
    note: string,
    ledger: Ledger,
  ) {
    this.#parts = parts;
    this.path = path;
    this.#options = options;
    this.#handle = handle;
    this.#coding = coding;
    this.#kind = kind;
    this.#note = note;
    this.#ledger = ledger;
    this.#encoder = new MemberEncoder({ coding: kind.coding, dictionary: kind.dictionary });
  }

  static async open(parts: AddParts, path: string, options: AddOptions): Promise<FileSource> {
    try {
      const handle = await open(path, 'r');
      try {
        const { coding, dictionary } = readFileStart(path);
        const print = await fingerprintOf(handle, (await stat(path)).size);
        const collectionName = options.collection ?? 'default';
        const collection = await parts.collections.number(collectionName);
        const volume = options.volume ?? (await parts.chooseVolume(print));
        // Uncompressed records are stored as gzip members: the same records, in less room.
        const kind: SegmentKind = {
          collection,
          collectionName,
          volume,
          coding: coding === 'zstd' ? 'zstd' : 'gzip',
          dictionary,
        };
        const note = `${ADDED_NOTE}${collection}:${Buffer.from(print).toString('hex')}`;
        const held = (await parts.catalog.notes(note))[note];
        const ledger: Ledger = held
          ? (JSON.parse(held) as Ledger)
          : { file: basename(path), offset: -1, innerOffset: -1, done: false };
        return new FileSource(parts, path, options, handle, coding, kind, note, ledger);
      } catch (error) {
        await handle.close();
        throw error;
      }
    } catch (cause) {
      throw fileError(cause, path);
    }
  }

  get isDone(): boolean {
    return this.#ledger.done;
  }

  async close(): Promise<void> {
    this.#encoder.close();
    await this.#reader?.return(undefined);
    await this.#handle.close();
  }

  /** A file that had something wrong with it is read again when it comes again: it may have been mended. */
  async finish(): Promise<void> {
    if (this.#hasFindings) {
      await this.#parts.catalog.write({ removeNotes: [this.#note] });
      return;
    }
    this.#ledger = { ...this.#ledger, done: true };
    await this.#parts.catalog.write({ putNotes: { [this.#note]: JSON.stringify(this.#ledger) } });
  }

  async take(batch: ScanBatch, report: AddReport): Promise<void> {
    this.#hasFindings ||= batch.findings.some(({ level }) => level === 'error');
    for (let from = 0; from < batch.count; from += STEP_RECORDS) {
      const facts: RecordFacts[] = [];
      const heads: Uint8Array[] = [];
      for (let record = from; record < Math.min(batch.count, from + STEP_RECORDS); record++) {
        const one = factsOfScan(batch, record);
        if (!this.#isAhead(one)) continue;
        facts.push(one);
        heads.push(batch.httpHead(record));
      }
      if (facts.length === 0) continue;
      await this.#parts.exclusive(() => this.#step(facts, heads, report));
    }
  }

  #isAhead({ offset, innerOffset }: RecordFacts): boolean {
    if (offset !== this.#ledger.offset) return offset > this.#ledger.offset;
    return innerOffset > this.#ledger.innerOffset;
  }

  async #step(records: readonly RecordFacts[], heads: readonly Uint8Array[], report: AddReport): Promise<void> {
    const draft = this.#parts.newDraft();
    try {
      const registrar = new Registrar(this.#parts.catalog, draft, this.#parts.fingerprint);
      await registrar.prepare(records);
      const step = new Step(this.#parts, this, registrar, records, heads, report, this.#passed);
      const isMiddle = visitOf(records[0]!) === this.#lastVisit;
      await step.run(await this.#parts.shelf.openFor(this.#kind, isMiddle), this.#kind.collection);
      const { offset, innerOffset } = records.at(-1)!;
      const ledger = { ...this.#ledger, offset, innerOffset };
      draft.putNote(this.#note, JSON.stringify(ledger));
      await this.#parts.commit(draft);
      this.#ledger = ledger;
      this.#lastVisit = visitOf(records.at(-1)!);
      this.#passed = step.passed;
    } catch (error) {
      await this.#parts.rollBack();
      throw error;
    }
  }

  /** Whether a record's bytes can go into the segment as they are. */
  canCopy(facts: RecordFacts): boolean {
    return this.#coding === this.#kind.coding && facts.length !== undefined && facts.isComplete && !facts.isArc;
  }

  async copy(open: OpenSegment, from: number, to: number, records: number): Promise<number> {
    const start = open.position;
    for (let at = from; at < to; ) {
      const bytes = Buffer.allocUnsafeSlow(Math.min(COPY_BYTES, to - at));
      const { bytesRead } = await this.#handle.read(bytes, 0, bytes.length, at);
      if (bytesRead === 0) throw new PinakesError('FILE_CHANGED', { where: this.path });
      this.#parts.shelf.append(open, bytes.subarray(0, bytesRead), 0);
      if (this.#parts.shelf.isFull(open)) await this.#parts.shelf.flush(open);
      at += bytesRead;
    }
    open.records += records;
    return start;
  }

  encode(record: NewRecord, block: Uint8Array): Uint8Array {
    return this.#encoder.encode(recordParts(record, block));
  }

  /** Writes a record anew: one that was uncompressed, shared its member, was cut short, or is ARC. */
  async rewrite(open: OpenSegment, facts: RecordFacts): Promise<{ offset: number; length: number }> {
    const record = await this.#recordAt(facts);
    const path = `${this.#parts.directory}/spool-add-${process.pid}`;
    const kind = {
      type: record.head.type,
      url: record.head.targetUri ?? '',
      contentType: record.head.contentType ?? '',
    };
    const spool = await Spool.take(kind, new Uint8Array(0), record.body(), path);
    try {
      return await this.#writeSpool(open, this.#headFor(record, spool, facts), spool);
    } finally {
      await spool.discard();
    }
  }

  /** The record to be written anew. They are asked for in order, so one reader serves them all, also those that share one member. */
  async #recordAt({ offset, innerOffset }: RecordFacts): Promise<ReadingRecord> {
    const isFar = innerOffset === 0 && offset > this.#readerAt + READ_ON_BYTES_MAX;
    if (!this.#reader || isFar || offset < this.#readerAt) await this.#beginReading(offset);
    for (let attempt = 1; ; ) {
      const next = await this.#reader!.next();
      const head = next.done ? undefined : next.value.head;
      if (head) this.#readerAt = head.offset;
      if (head?.offset === offset && head.innerOffset === innerOffset) return next.value as ReadingRecord;
      const isPast = !head || head.offset > offset || (head.offset === offset && head.innerOffset > innerOffset);
      if (!isPast) continue;
      if (attempt++ > 1) throw new PinakesError('FILE_CHANGED', { where: `${this.path}:${offset}` });
      await this.#beginReading(offset);
    }
  }

  async #beginReading(offset: number): Promise<void> {
    await this.#reader?.return(undefined);
    this.#readerAt = offset;
    this.#reader = readRecords(this.path, { offset, signal: this.#options.signal });
  }

  /** Writes a foreign revisit anew: the capture it points at is a revisit here, and it shall point at what holds the content. */
  async repoint(
    open: OpenSegment,
    facts: RecordFacts,
    referent: Referent,
  ): Promise<{ offset: number; length: number }> {
    const record = await this.#recordAt(facts);
    const block = await record.bytes(REVISIT_BYTES_MAX);
    const head = headBytes(repointed(record.head, referent, this.#parts.newId()), record.head.version);
    const { offset, length } = this.#parts.shelf.append(open, this.#encoder.encode([head, block, RECORD_TRAILER]));
    return { offset, length };
  }

  async #writeSpool(open: OpenSegment, head: Uint8Array, spool: Spool): Promise<{ offset: number; length: number }> {
    const { shelf } = this.#parts;
    const offset = open.position;
    const parts = spool.bytes ? [head, spool.bytes, RECORD_TRAILER] : undefined;
    if (parts) shelf.append(open, this.#encoder.encode(parts));
    else {
      const total = head.length + spool.length + RECORD_TRAILER.length;
      for await (const piece of this.#encoder.encodeStream(whole(head, spool), total)) {
        shelf.append(open, piece, 0);
        if (shelf.isFull(open)) await shelf.flush(open);
      }
      open.records++;
    }
    return { offset, length: open.position - offset };
  }

  /** The head as it was, where it can be; else with the length the block has. */
  #headFor(record: ReadingRecord, spool: Spool, facts: RecordFacts): Uint8Array {
    const { head } = record;
    if (head.format === 'arc') {
      this.#warcinfoId ||= this.#parts.newId();
      const document = {
        isHttp: spool.facts.http !== undefined,
        payloadDigest: spool.facts.payloadDigests[0]!,
        blockDigest: spool.facts.blockDigests[0]!,
      };
      const conversion = { newId: this.#parts.newId, warcinfoId: this.#warcinfoId };
      const converted = convertArcHead(head, document, conversion);
      const fields = [...(converted.fields ?? []), { name: CAPTURE_ID_FIELD, value: captureIdOf(facts) }];
      return headBytes(fieldsOf({ ...converted, fields }, spool.length));
    }
    const isProper = head.contentLength === spool.length && Buffer.from(head.bytes).subarray(-4).equals(RECORD_TRAILER);
    if (isProper) return head.bytes;
    const fields = head.fields.filter((field) => field.name.toLowerCase() !== 'content-length');
    if (head.contentLength !== spool.length && head.get('warc-truncated') === undefined) {
      fields.push({ name: 'WARC-Truncated', value: 'unspecified' });
    }
    return headBytes([...fields.map(oneLine), { name: 'Content-Length', value: String(spool.length) }], head.version);
  }
}

function oneLine({ name, value }: Field): Field {
  return { name, value: value.replace(/[\r\n]+/g, ' ') };
}

async function* whole(head: Uint8Array, spool: Spool): AsyncGenerator<Uint8Array> {
  yield head;
  yield* spool.stream();
  yield RECORD_TRAILER;
}

async function fingerprintOf(handle: FileHandle, size: number): Promise<Uint8Array> {
  const hash = createHash('sha256').update(String(size));
  const piece = Buffer.alloc(FINGERPRINT_BYTES);
  for (let sample = 0; sample < FINGERPRINT_SAMPLES; sample++) {
    const position = Math.floor((Math.max(0, size - FINGERPRINT_BYTES) * sample) / (FINGERPRINT_SAMPLES - 1));
    const { bytesRead } = await handle.read(piece, 0, piece.length, position);
    hash.update(piece.subarray(0, bytesRead));
  }
  return hash.digest();
}

/** What was passed over: ids of captures and of what they name, and their visits. */
type Passed = { readonly ids: Set<string>; readonly visits: Set<string> };

function visitOf({ date, url }: RecordFacts): string {
  return `${date} ${url}`;
}

/** One step of an add: decides record by record, and copies what is kept in runs. */
class Step {
  readonly #parts: AddParts;
  readonly #source: FileSource;
  readonly #registrar: Registrar;
  readonly #records: readonly RecordFacts[];
  readonly #heads: readonly Uint8Array[];
  readonly #report: AddReport;
  #run: RecordFacts[] = [];
  /** Records that go with captures which are passed over are passed over too, also when these were the end of the step before. */
  readonly passed: Passed = { ids: new Set(), visits: new Set() };
  readonly #passedBefore: Passed;

  constructor(
    parts: AddParts,
    source: FileSource,
    registrar: Registrar,
    records: readonly RecordFacts[],
    heads: readonly Uint8Array[],
    report: AddReport,
    passedBefore: Passed,
  ) {
    this.#passedBefore = passedBefore;
    this.#parts = parts;
    this.#source = source;
    this.#registrar = registrar;
    this.#records = records;
    this.#heads = heads;
    this.#report = report;
  }

  async run(open: OpenSegment, collection: number): Promise<void> {
    const known = new Set<RecordFacts>();
    const seen = new Set<string>();
    for (const facts of this.#records) {
      if (!captureKindOf(facts)) continue;
      // A record that stands twice in a file is one capture. Kept twice, it would outlive its own deletion.
      const identity = `${captureIdOf(facts)} ${visitOf(facts)} ${toHex(facts.payloadDigest)}`;
      if (seen.has(identity)) known.add(facts);
      seen.add(identity);
      if (known.has(facts) || !this.#registrar.findKnown(facts, collection)) continue;
      known.add(facts);
      this.passed.ids.add(facts.recordId).add(facts.concurrentTo);
      this.passed.visits.add(visitOf(facts));
    }
    const isAllKnown = this.#records.every((facts) => known.has(facts) || !captureKindOf(facts));
    for (const [index, facts] of this.#records.entries()) {
      this.#report.records++;
      if (known.has(facts)) {
        this.#report.capturesKnown++;
        await this.#endRun(open, collection);
      } else if (!captureKindOf(facts)) {
        if (this.#goesWithPassed(facts, isAllKnown && known.size > 0)) await this.#endRun(open, collection);
        else await this.#keep(open, collection, facts);
      } else {
        await this.#takeCapture(open, collection, facts, this.#heads[index]!);
      }
    }
    await this.#endRun(open, collection);
  }

  #goesWithPassed(facts: RecordFacts, isAllKnown: boolean): boolean {
    if (facts.type === 'warcinfo' || facts.url === '') return isAllKnown;
    return [this.passed, this.#passedBefore].some(
      ({ ids, visits }) =>
        (facts.concurrentTo !== '' && ids.has(facts.concurrentTo)) ||
        (facts.recordId !== '' && ids.has(facts.recordId)) ||
        visits.has(visitOf(facts)),
    );
  }

  async #takeCapture(open: OpenSegment, collection: number, facts: RecordFacts, httpHead: Uint8Array): Promise<void> {
    if (this.#registrar.findKnown(facts, collection)) {
      // The file has this very record twice.
      this.#report.capturesKnown++;
      await this.#endRun(open, collection);
      return;
    }
    this.#report.captures++;
    const isFull = facts.type === 'response' && facts.isHttp && facts.isComplete;
    const held = facts.type === 'revisit' ? undefined : this.#registrar.heldBlock(facts);
    const isWorth = facts.payloadBytes > 0 && facts.payloadBytes >= this.#parts.dedupBytesMin;
    if (held && isFull && isWorth) {
      await this.#endRun(open, collection);
      await this.#writeRevisit(open, collection, facts, held, httpHead);
      this.#report.duplicates++;
      this.#report.duplicateBytes += facts.payloadBytes;
      return;
    }
    if (facts.type === 'revisit' && (await this.#registrar.namesRevisit(facts))) {
      const block = await this.#registrar.resolve(facts);
      if (block) {
        await this.#endRun(open, collection);
        const referent = { ...(await this.#referentOf(block)), content: blockId(block) };
        const place = await this.#source.repoint(open, facts, referent);
        await this.#enter(collection, facts, { segment: open.segment.number, ...place });
        return;
      }
    }
    await this.#keep(open, collection, facts);
    // Entered now, so that the next record of the same content in this step finds it.
    if (facts.type !== 'revisit') await this.#endRunBefore(open, collection, facts);
  }

  /** Puts a record into the current run, or writes it anew when its bytes cannot be copied. */
  async #keep(open: OpenSegment, collection: number, facts: RecordFacts): Promise<void> {
    if (!this.#source.canCopy(facts)) {
      await this.#endRun(open, collection);
      const { offset, length } = await this.#source.rewrite(open, facts);
      await this.#enter(collection, facts, { segment: open.segment.number, offset, length });
      return;
    }
    const last = this.#run.at(-1);
    if (last && last.offset + last.length! !== facts.offset) await this.#endRun(open, collection);
    this.#run.push(facts);
  }

  /** Where a record of the current run will stand, since nothing else is appended before the run is. */
  #plannedAt(open: OpenSegment, facts: RecordFacts): number {
    return open.position + facts.offset - this.#run[0]!.offset;
  }

  async #endRunBefore(open: OpenSegment, collection: number, facts: RecordFacts): Promise<void> {
    if (this.#run.at(-1) !== facts) return;
    const place = { segment: open.segment.number, offset: this.#plannedAt(open, facts), length: facts.length! };
    await this.#enter(collection, facts, place);
  }

  readonly #entered = new Set<RecordFacts>();

  async #enter(
    collection: number,
    facts: RecordFacts,
    place: { segment: number; offset: number; length: number },
  ): Promise<void> {
    if (this.#entered.has(facts)) return;
    this.#entered.add(facts);
    const { capture } = await this.#registrar.enter(facts, place, collection);
    if (capture?.kind === 'revisit' && !capture.block) this.#report.unresolved++;
  }

  async #endRun(open: OpenSegment, collection: number): Promise<void> {
    const run = this.#run;
    if (run.length === 0) return;
    this.#run = [];
    const first = run[0]!;
    const last = run.at(-1)!;
    const start = await this.#source.copy(open, first.offset, last.offset + last.length!, run.length);
    for (const facts of run) {
      await this.#enter(collection, facts, {
        segment: open.segment.number,
        offset: start + facts.offset - first.offset,
        length: facts.length!,
      });
    }
  }

  async #writeRevisit(
    open: OpenSegment,
    collection: number,
    facts: RecordFacts,
    block: BlockKey,
    httpHead: Uint8Array,
  ): Promise<void> {
    const referent = await this.#referentOf(block);
    const recordId = this.#parts.newId();
    const record: NewRecord = {
      type: 'revisit',
      recordId,
      date: facts.date,
      targetUri: facts.url,
      payloadDigest: { algorithm: 'sha256', bytes: facts.payloadDigest },
      contentType: 'application/http; msgtype=response',
      revisit: { profile: 'identical-payload-digest', ...referent, truncated: true },
      fields: [
        ...(facts.recordId ? [{ name: 'WARC-Previous-Record-ID', value: facts.recordId }] : []),
        { name: CAPTURE_ID_FIELD, value: captureIdOf(facts) },
        ...(/^(?!sha-?256)\S+$/i.test(facts.declaredDigest)
          ? [{ name: DECLARED_FIELD, value: facts.declaredDigest }]
          : []),
        ...(block.overflow > 0 ? [{ name: OVERFLOW_FIELD, value: String(block.overflow) }] : []),
      ],
    };
    const place = this.#parts.shelf.append(open, this.#source.encode(record, httpHead));
    this.#entered.add(facts);
    this.#registrar.enterRevisit(facts, place, collection, block);
  }

  readonly #referents = new Map<string, Referent>();

  /** What the revisit says of the holder: from this step when it is new, else from the record itself. */
  async #referentOf(block: BlockKey): Promise<Referent> {
    const id = `${Buffer.from(block.digest).toString('hex')}~${block.overflow}`;
    let referent = this.#referents.get(id);
    if (referent) return referent;
    const fresh = this.#registrar.freshHolder(block);
    if (fresh)
      referent = { refersTo: fresh.recordId || undefined, refersToTargetUri: fresh.url, refersToDate: fresh.date };
    else {
      const { head } = await this.#parts.access.open(this.#registrar.holderOf(block));
      referent = { refersTo: head.recordId, refersToTargetUri: head.targetUri, refersToDate: head.date };
    }
    this.#referents.set(id, referent);
    return referent;
  }
}
