/**
 * One file while it is being added. The catalog's ledger says how far it has come, under a fingerprint of the file:
 * samples of its bytes from the first to the last. They find the place where an interrupted add goes on. That a whole
 * file was added before they say only together with its path and times: another file may have the same samples.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileError, fromLatin1, PinakesError } from '../../base/index.ts';
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
  type RecordHead,
  readFileStart,
  readRecords,
  recordParts,
  type ScanBatch,
  soundVersion,
} from '../../warc/index.ts';
import { deletedFrom } from '../deletion-count.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { CAPTURE_ID_FIELD, captureIdOf, type RecordFacts, ScanFacts } from '../record-facts.ts';
import type { Referent } from '../revisit/referent.ts';
import { repointed } from '../revisit/repointed.ts';
import type { OpenSegment, SegmentKind } from '../segment/segment-registry.ts';
import { volumeChoice } from '../segment/volume-choice.ts';
import { AddedCaptures } from '../write/added-captures.ts';
import { Referents } from '../write/referents.ts';
import { Registrar } from '../write/registrar.ts';
import { Spool } from '../write/spool.ts';
import type { AddOptions, AddReport } from './add-report.ts';
import { AddStep, type StepSource } from './add-step.ts';
import { type FileSamples, isOther, isReplaced, readBeforeGap, SAMPLED_BYTES, samplesOf } from './file-samples.ts';
import { SkippedCaptures } from './skipped-captures.ts';
import { isSameVisit, visitOf } from './visit.ts';

const ADDED_NOTE = 'added:';
/**
 * Records decided on together, and how many captures may be among them. A step ends between two visits, but never has
 * more than STEP_RECORDS_MAX.
 */
const STEP_RECORDS = 2000;
const STEP_CAPTURES = 750;
const STEP_RECORDS_MAX = 2 * STEP_RECORDS;
/** How much of the file is read at once for copying: one range of the scan, so that a step reads once or twice. */
const WINDOW_BYTES = 4 * 1024 * 1024;
/** A revisit has a head and no body. */
const REVISIT_BYTES_MAX = 16 * 1024 * 1024;
/** How far a reader reads on rather than being begun anew. */
const READ_ON_BYTES_MAX = 1024 * 1024;

/**
 * How far a file has been added: up to and with the record at this offset and, where records share a member, this
 * offset inside it.
 */
type Ledger = {
  readonly file: string;
  readonly offset: number;
  readonly innerOffset: number;
  /** Whether it was added to its end, and nothing was wrong with it. */
  readonly done: boolean;
  /** Where the file lay when its end was reached, and when it and its entry were changed last. */
  readonly seen?: string;
  /**
   * Captures that had been deleted from the collection by then; where the disk did not give all of it, before it was
   * read.
   */
  readonly deleted?: number;
  /** Whether the disk did not give all of it: it may give more the next time, also of what lies before the offset. */
  readonly hasGap?: boolean;
};

type OpenedFile = {
  readonly path: string;
  readonly handle: FileHandle;
  readonly samples: FileSamples;
  readonly coding: Coding;
  /** The segments that its records go to. */
  readonly kind: SegmentKind;
  /** What the catalog has its ledger under, and the ledger of a file with these samples. */
  readonly note: string;
  readonly held: Ledger | undefined;
  /** Captures that were deleted from the collection so far. */
  readonly deleted: number;
};

/** One file while it is being added. */
export class AddedFile implements StepSource {
  readonly path: string;
  readonly #archive: OpenedArchive;
  readonly #options: AddOptions;
  readonly #handle: FileHandle;
  readonly samples: FileSamples;
  readonly #note: string;
  readonly #coding: Coding;
  readonly #kind: SegmentKind;
  #ledger: Ledger;
  /**
   * The ledger of a file with these samples that was added to its end; where something was wrong with that, of this
   * very file.
   */
  readonly #finished: Ledger | undefined;
  /** Made when a record of our own is written; most files of few records need none. */
  #madeEncoder: MemberEncoder | undefined;
  readonly #referents: Referents;
  readonly #own: AddedCaptures;
  #warcinfoId = '';
  #reader: AsyncGenerator<ReadingRecord> | undefined;
  #readerAt = 0;
  #window: Buffer | undefined;
  #windowAt = 0;
  #windowBytes = 0;
  /** Segments to which pieces of it were appended. */
  readonly #windowUsers = new Set<OpenSegment>();
  #hasFindings = false;
  readonly #deletedBefore: number;
  /** Whether the last step ended in the middle of a visit: its records are kept in one segment. */
  #lastVisit = '';
  #passed = new SkippedCaptures();
  /** Records that were read and are not in a step yet. */
  #waiting: ScanFacts[] = [];
  #waitingCaptures = 0;

  private constructor(archive: OpenedArchive, options: AddOptions, { held, deleted, ...opened }: OpenedFile) {
    this.#archive = archive;
    this.#options = options;
    this.path = opened.path;
    this.#handle = opened.handle;
    this.samples = opened.samples;
    this.#coding = opened.coding;
    this.#kind = opened.kind;
    this.#note = opened.note;
    this.#deletedBefore = deleted;
    // A damaged file may have been mended since, where only the samples say that it is the same.
    const known = held?.done || held?.seen === undefined || this.#isSurely(held) ? held : undefined;
    this.#finished = known?.seen === undefined ? undefined : known;
    this.#ledger =
      known && !known.done ? known : { file: basename(this.path), offset: -1, innerOffset: -1, done: false };
    this.#referents = new Referents(archive.access, archive.segmentRegistry);
    this.#own = new AddedCaptures(archive.catalog);
  }

  /**
   * `earlier`: what it was before threads began to read it. What grew behind that may be unread, and is no part of what
   * is noted as added.
   */
  static async open(
    archive: OpenedArchive,
    path: string,
    options: AddOptions,
    earlier?: FileSamples,
  ): Promise<AddedFile> {
    try {
      const handle = await open(path, 'r');
      try {
        const { coding, dictionary } = readFileStart(path);
        const samples = earlier ?? (await samplesOf(path, handle));
        const { digest } = samples;
        const collectionName = options.collection ?? 'default';
        const collection = await archive.collections.number(collectionName);
        const volume = options.volume ?? (await volumeChoice(archive.volumes))(digest);
        // Uncompressed records are stored as gzip members: the same records, in less room.
        const kind: SegmentKind = {
          collection,
          collectionName,
          volume,
          coding: coding === 'zstd' ? 'zstd' : 'gzip',
          dictionary,
        };
        const note = `${ADDED_NOTE}${collection}:${Buffer.from(digest).toString('hex')}`;
        const noted = options.again ? undefined : (await archive.catalog.notes(note))[note];
        const deleted = await deletedFrom(archive.catalog, collection);
        const ledger = noted === undefined ? undefined : (JSON.parse(noted) as Ledger);
        // What the disk did not give is looked for again, from the beginning on; but not when that might bring back
        // what was deleted.
        const held = ledger?.hasGap && ledger.deleted === deleted ? undefined : ledger;
        return new AddedFile(archive, options, { path, handle, samples, coding, kind, note, held, deleted });
      } catch (error) {
        await handle.close();
        throw error;
      }
    } catch (cause) {
      throw fileError(cause, path);
    }
  }

  get #encoder(): MemberEncoder {
    const { coding, dictionary } = this.#kind;
    this.#madeEncoder ??= new MemberEncoder({ coding, dictionary });
    return this.#madeEncoder;
  }

  /**
   * Whether this file was added before and need not be read. Where only the samples say so it is read again, which adds
   * nothing twice; but not when captures were deleted since, which it might bring back: that is for whoever adds it to
   * decide, and they are told.
   */
  async wasAdded(): Promise<boolean> {
    if (!this.#finished?.done) return false;
    return this.#isSurely(this.#finished) || (await this.deletedSince()) > 0;
  }

  /** Whether the ledger is of this very file, and not only of one with the same samples. */
  #isSurely({ seen }: Ledger): boolean {
    return this.samples.size <= SAMPLED_BYTES || seen === this.samples.seen;
  }

  /** Captures that were deleted from the collection since the file was added. */
  async deletedSince(): Promise<number> {
    return (await deletedFrom(this.#archive.catalog, this.#kind.collection)) - (this.#finished?.deleted ?? 0);
  }

  async close(): Promise<void> {
    this.#madeEncoder?.close();
    await this.#reader?.return(undefined);
    await this.#handle.close();
  }

  /**
   * A file that has something wrong with it is read again when it comes again, so that it is told again; but nothing of
   * it is added twice.
   */
  async finish(report: AddReport): Promise<void> {
    await this.takeRest(report);
    // What was cut off before it was read is not there to be told of otherwise. What was added behind comes with the
    // next add.
    await this.#assertSame();
    if (this.#finished && !this.#finished.done) {
      report.deletedSince = Math.max(report.deletedSince, await this.deletedSince());
      return;
    }
    const { hasGap = false, deleted = await deletedFrom(this.#archive.catalog, this.#kind.collection) } = this.#ledger;
    this.#ledger = { ...this.#ledger, seen: this.samples.seen, done: !this.#hasFindings && !hasGap, deleted };
    await this.#archive.catalog.write({ putNotes: { [this.#note]: JSON.stringify(this.#ledger) } });
  }

  async take(batch: ScanBatch, report: AddReport): Promise<void> {
    // The threads opened it by its path: what they found has to be of the bytes that are copied.
    if (await isReplaced(this.path, this.samples)) throw this.#changed();
    this.#hasFindings ||= batch.findings.some(({ level }) => level === 'error');
    if (!this.#ledger.hasGap && batch.findings.some(({ code }) => code === 'sector-unreadable'))
      this.#ledger = { ...this.#ledger, hasGap: true, deleted: this.#deletedBefore };
    for (let record = 0; record < batch.count; record++) {
      const facts = new ScanFacts(batch, record);
      if (!this.#isAhead(facts)) continue;
      if (this.#isStepFull(facts)) await this.#takeWaiting(report);
      this.#waiting.push(facts);
      if (facts.kind) this.#waitingCaptures++;
    }
    // The last visit may go on in the next batch.
    let whole = this.#waiting.length;
    while (--whole > 0 && isSameVisit(this.#waiting[whole - 1]!, this.#waiting[whole]!));
    await this.#takeWaiting(report, whole);
  }

  /** Takes the last visit, when no batch follows. */
  takeRest(report: AddReport): Promise<void> {
    return this.#takeWaiting(report);
  }

  #isStepFull(next: RecordFacts): boolean {
    const waiting = this.#waiting;
    if (waiting.length < STEP_RECORDS && this.#waitingCaptures < STEP_CAPTURES) return false;
    return waiting.length >= STEP_RECORDS_MAX || !isSameVisit(waiting.at(-1)!, next);
  }

  async #takeWaiting(report: AddReport, count = this.#waiting.length): Promise<void> {
    const records = this.#waiting.splice(0, count);
    this.#waitingCaptures = this.#waiting.filter(({ kind }) => kind).length;
    if (records.length > 0) await this.#archive.growing(() => this.#step(records, report));
  }

  async #assertSame(): Promise<void> {
    if (await isOther(this.path, this.#handle, this.samples)) throw this.#changed();
  }

  #changed(): PinakesError {
    return new PinakesError('FILE_CHANGED', { where: this.path });
  }

  #isAhead({ offset, innerOffset }: RecordFacts): boolean {
    if (offset !== this.#ledger.offset) return offset > this.#ledger.offset;
    return innerOffset > this.#ledger.innerOffset;
  }

  async #step(records: readonly ScanFacts[], report: AddReport): Promise<void> {
    const draft = this.#archive.newDraft();
    const before = { ...report };
    try {
      const { catalog, fingerprint } = this.#archive;
      const registrar = new Registrar(catalog, draft, fingerprint, { copyingFor: this.#own });
      const isMiddle = visitOf(records[0]!) === this.#lastVisit;
      const open = await this.#archive.segmentRegistry.openFor(this.#kind, isMiddle);
      this.#own.beginStep(open);
      await registrar.prepare(records);
      const openOdd = async () => {
        open.refersTo = await this.#archive.segmentRegistry.openFor({ ...this.#kind, isOdd: true }, isMiddle);
        return open.refersTo;
      };
      const target = { open, openOdd, collection: this.#kind.collection };
      const step = new AddStep(this.#archive, this, target, registrar, this.#referents, report, this.#passed);
      await step.run(records);
      const { offset, innerOffset } = records.at(-1)!;
      const ledger = { ...this.#ledger, offset, innerOffset };
      draft.putNote(this.#note, JSON.stringify(ledger));
      for (const [name, value] of Object.entries(step.oddNotes)) draft.putNote(name, value);
      // What was copied has to be of the file that was read.
      await this.#assertSame();
      await this.#archive.commit(draft);
      this.#ledger = ledger;
      this.#lastVisit = visitOf(records.at(-1)!);
      this.#passed = step.passed;
      this.#own.endStep(records);
      step.rememberHolders();
    } catch (error) {
      Object.assign(report, before);
      await this.#archive.segmentRegistry.rollBack();
      throw error;
    }
  }

  /** Whether a record's bytes can go into the segment as they are. */
  canCopy({ length, isComplete, isTorn, isArc, isOdd, isLoose }: ScanFacts): boolean {
    if (isArc || (isLoose && !isOdd)) return false;
    return this.#coding === this.#kind.coding && length !== undefined && isComplete && !isTorn;
  }

  async copy(open: OpenSegment, from: number, to: number, records: number): Promise<void> {
    for (let at = from; at < to; ) {
      if (at < this.#windowAt || at >= this.#windowAt + this.#windowBytes) await this.#moveWindow(at);
      const end = Math.min(to, this.#windowAt + this.#windowBytes);
      this.#archive.segmentRegistry.append(open, this.#window!.subarray(at - this.#windowAt, end - this.#windowAt), 0);
      this.#windowUsers.add(open);
      at = end;
    }
    open.records += records;
  }

  /** Reads the file from `at` on. What was appended out of the window has to be written before the window goes. */
  async #moveWindow(at: number): Promise<void> {
    for (const open of this.#windowUsers) await this.#archive.segmentRegistry.flush(open);
    this.#windowUsers.clear();
    this.#window ??= Buffer.allocUnsafeSlow(Math.min(WINDOW_BYTES, (await this.#handle.stat()).size));
    this.#windowBytes = 0;
    const bytesRead = await readBeforeGap(this.path, this.#handle, this.#window, this.#window.length, at);
    if (bytesRead === 0) throw this.#changed();
    this.#windowAt = at;
    this.#windowBytes = bytesRead;
  }

  encode(record: NewRecord, block: Uint8Array): Uint8Array {
    return this.#encoder.encode(recordParts(record, block));
  }

  /** Writes a record anew: one that was uncompressed, shared its member, was cut short, or is ARC. */
  async rewrite(open: OpenSegment, facts: RecordFacts): Promise<{ offset: number; length: number }> {
    const record = await this.#recordAt(facts);
    const path = `${this.#archive.scratch}/spool-add-${process.pid}`;
    const kind = {
      type: record.head.type,
      url: record.head.targetUri ?? '',
      contentType: record.head.contentType ?? '',
    };
    const spool = await Spool.take(kind, new Uint8Array(0), record.body(), path);
    try {
      this.#assertAsFound(record, facts);
      return await this.#writeSpool(open, this.#headFor(record, spool, facts), spool);
    } finally {
      await spool.discard();
    }
  }

  /**
   * The record to be written anew. They are asked for in order, so one reader serves them all, also those that share
   * one member.
   */
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
      if (attempt > 2) throw new PinakesError('FILE_CHANGED', { where: `${this.path}:${offset}` });
      // Behind the seams of a file that was joined, some records show only to who comes from its beginning.
      await this.#beginReading(attempt++ === 1 ? offset : 0);
    }
  }

  /** What was whole when it was found has to be so still, and not cut by a sector that has gone bad since. */
  #assertAsFound({ tail }: ReadingRecord, { isComplete }: RecordFacts): void {
    if (isComplete && !tail?.isComplete) throw this.#changed();
  }

  async #beginReading(offset: number): Promise<void> {
    await this.#reader?.return(undefined);
    this.#readerAt = offset;
    this.#reader = readRecords(this.path, { offset, skipsGaps: true, signal: this.#options.signal });
  }

  /**
   * Writes a foreign revisit anew: the capture it points at is a revisit here, and it shall point at what holds the
   * content.
   */
  async repoint(
    open: OpenSegment,
    facts: RecordFacts,
    referent: Referent,
  ): Promise<{ offset: number; length: number }> {
    const record = await this.#recordAt(facts);
    const block = await record.bytes(REVISIT_BYTES_MAX);
    this.#assertAsFound(record, facts);
    const head = headBytes(repointed(record.head, referent, this.#archive.newId()), soundVersion(record.head));
    const { offset, length } = this.#archive.segmentRegistry.append(
      open,
      this.#encoder.encode([head, block, RECORD_TRAILER]),
    );
    return { offset, length };
  }

  async #writeSpool(open: OpenSegment, head: Uint8Array, spool: Spool): Promise<{ offset: number; length: number }> {
    const { segmentRegistry } = this.#archive;
    const offset = open.position;
    const parts = spool.bytes ? [head, spool.bytes, RECORD_TRAILER] : undefined;
    if (parts) segmentRegistry.append(open, this.#encoder.encode(parts));
    else {
      const total = head.length + spool.length + RECORD_TRAILER.length;
      for await (const piece of this.#encoder.encodeStream(whole(head, spool), total)) {
        segmentRegistry.append(open, piece, 0);
        if (segmentRegistry.isFull(open)) await segmentRegistry.flush(open);
      }
      open.records++;
    }
    return { offset, length: open.position - offset };
  }

  /** The head as it was, where it can be; else with the length the block has. */
  #headFor(record: ReadingRecord, spool: Spool, facts: RecordFacts): Uint8Array {
    const { head } = record;
    if (head.format === 'arc') {
      this.#warcinfoId ||= this.#archive.newId();
      const document = {
        isHttp: spool.facts.http !== undefined,
        payloadDigest: spool.facts.payloadDigests[0]!,
        blockDigest: spool.blockDigest,
      };
      const conversion = { newId: this.#archive.newId, warcinfoId: this.#warcinfoId };
      const converted = convertArcHead(head, document, conversion);
      const fields = [...(converted.fields ?? []), { name: CAPTURE_ID_FIELD, value: captureIdOf(facts) }];
      return headBytes(fieldsOf({ ...converted, fields }, spool.length));
    }
    if (head.form === 'odd') return oddHead(head, spool.length);
    if (head.form === 'sound' && head.contentLength === spool.length) return head.bytes;
    const fields = head.fields.filter((field) => field.name.toLowerCase() !== 'content-length');
    if (head.contentLength !== spool.length && head.get('warc-truncated') === undefined) {
      fields.push({ name: 'WARC-Truncated', value: 'unspecified' });
    }
    return headBytes([...fields.map(oneLine), { name: 'Content-Length', value: String(spool.length) }], head.version);
  }
}

/** An odd head stays as it is but for what it says of a length that is not that of the block. */
function oddHead({ bytes, contentLength }: RecordHead, length: number): Uint8Array {
  const text = fromLatin1(bytes, 0, bytes.length);
  const isEnded = /\n\r?\n$/.test(text);
  if (contentLength === length && isEnded) return bytes;
  let lines = isEnded ? text.replace(/\r?\n$/, '') : text.replace(/\n?$/, '\n');
  if (contentLength !== length) {
    const truncated = /^warc-truncated[ \t]*:/im.test(lines) ? '' : 'WARC-Truncated: unspecified\r\n';
    lines = `${lines.replace(/^content-length[ \t]*:[^\n]*\n/gim, '')}${truncated}Content-Length: ${length}\r\n`;
  }
  return Buffer.from(`${lines}\r\n`, 'latin1');
}

function oneLine({ name, value }: Field): Field {
  return { name, value: value.replace(/[\r\n]+/g, ' ') };
}

async function* whole(head: Uint8Array, spool: Spool): AsyncGenerator<Uint8Array> {
  yield head;
  yield* spool.stream();
  yield RECORD_TRAILER;
}
