/**
 * One file while it is being added. A note of the catalog says how far the file was added. The note is found by samples
 * of bytes from all over the file, so an interrupted add continues at the right place. Another file may have the same
 * samples. So a file counts as added before only if its path and times match too.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileError, fromLatin1, PinakesError } from '../../base/index.ts';
import {
  CAPTURE_ID_FIELD,
  captureIdOf,
  commitUntilTaken,
  LeftOut,
  type OpenSegment,
  type RecordFacts,
  refusalOf,
  ScanFacts,
  type SegmentKind,
  type WriteOutcome,
} from '../../ledger/index.ts';
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
  recordStream,
  type ScanBatch,
  soundVersion,
} from '../../warc/index.ts';
import { deletedFrom } from '../deletion-count.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import type { CatalogDraft } from '../revisit/catalog-draft.ts';
import type { Referent } from '../revisit/referent.ts';
import { oneLine, repointed } from '../revisit/repointed.ts';
import { oddKind } from '../segment/segment-kind.ts';
import { appendStreamed } from '../segment/streamed-append.ts';
import { volumeChoice } from '../segment/volume-choice.ts';
import { AddedCaptures } from '../write/added-captures.ts';
import { Referents } from '../write/referents.ts';
import { Registrar } from '../write/registrar.ts';
import { Spool } from '../write/spool.ts';
import type { AddOptions, AddReport } from './add-report.ts';
import { AddStep, type StepSource } from './add-step.ts';
import {
  type FileSamples,
  hasOtherBytes,
  isReplaced,
  readBeforeGap,
  SAMPLED_BYTES,
  samplesOf,
} from './file-samples.ts';
import { SkippedCaptures } from './skipped-captures.ts';
import { isSameVisit, visitOf } from './visit.ts';

const ADDED_NOTE = 'added:';
/**
 * Limits of a step: how many records and how many captures are decided together. A step ends between two visits, but
 * never has more than STEP_RECORDS_MAX records.
 */
const STEP_RECORDS = 2000;
const STEP_CAPTURES = 750;
const STEP_RECORDS_MAX = 2 * STEP_RECORDS;
/**
 * How much of the file is read at once for copying. This is the size of one range of the scan, so a step reads once or
 * twice.
 */
const WINDOW_BYTES = 4 * 1024 * 1024;
/** A revisit has a head and no body. */
const REVISIT_BYTES_MAX = 16 * 1024 * 1024;
/** A record at most this far ahead is reached by reading on. For a farther one, a new reader begins there. */
const READ_ON_BYTES_MAX = 1024 * 1024;

/**
 * How far a file was added: up to and including the record at this offset. If records share a member, the offset inside
 * the member too.
 */
type AddState = {
  readonly file: string;
  readonly offset: number;
  readonly innerOffset: number;
  /** Whether the file was added to its end and had no errors. */
  readonly done: boolean;
  /** Path and times of the file when its end was reached. */
  readonly seen?: string;
  /**
   * How many captures had been deleted from the collection when the end was reached. For a file with unreadable bytes:
   * before the file was read.
   */
  readonly deleted?: number;
  /** Whether the disk could not read all of the file. It may read more the next time, also before the offset. */
  readonly hasGap?: boolean;
};

const COMMITTED: WriteOutcome = { kind: 'committed', lost: [], freed: 0 };

type OpenedFile = {
  readonly path: string;
  readonly handle: FileHandle;
  readonly samples: FileSamples;
  readonly coding: Coding;
  /** The kind of segment that the records go to. */
  readonly kind: SegmentKind;
  /** The name of the note, and its value when a file with these samples has one. */
  readonly note: string;
  readonly held: AddState | undefined;
  /** How many captures were deleted from the collection so far. */
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
  #state: AddState;
  /**
   * The note of a finished add with these samples. If the file of the note had errors, the note counts only when path
   * and times match.
   */
  readonly #finished: AddState | undefined;
  /** Created when the archive encodes its first record of this file. Most files with few records do not need it. */
  #madeEncoder: MemberEncoder | undefined;
  readonly #referents: Referents;
  readonly #own: AddedCaptures;
  #warcinfoId = '';
  #reader: AsyncGenerator<ReadingRecord> | undefined;
  #readerAt = 0;
  #window: Buffer | undefined;
  #windowAt = 0;
  #windowBytes = 0;
  /** Segments with pending pieces of the window. */
  readonly #windowUsers = new Set<OpenSegment>();
  #hasFindings = false;
  readonly #deletedBefore: number;
  /**
   * The visit of the last record of the previous step. If this visit continues in the next step, its records stay in
   * one segment.
   */
  #lastVisit = '';
  #skipped = new SkippedCaptures();
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
    // When only the samples match, the file may be a repaired copy of the damaged one.
    const known = held?.done || held?.seen === undefined || this.#isSameFile(held) ? held : undefined;
    this.#finished = known?.seen === undefined ? undefined : known;
    this.#state =
      known && !known.done ? known : { file: basename(this.path), offset: -1, innerOffset: -1, done: false };
    this.#referents = new Referents(archive.access, archive.segmentRegistry);
    this.#own = new AddedCaptures(archive.catalog);
  }

  /**
   * `earlier`: the samples that were taken before threads began to read the file. Bytes that were appended later may be
   * unread, so they do not count as added.
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
        const wanted = options.volume && archive.volumes.named(options.volume).name;
        const volume = wanted ?? (await volumeChoice(archive))(digest);
        // Uncompressed records are stored as gzip members: the same records in less space.
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
        const state = noted === undefined ? undefined : (JSON.parse(noted) as AddState);
        // A file with unreadable bytes is tried again from its beginning, unless that might bring back deleted
        // captures.
        const held = state?.hasGap && state.deleted === deleted ? undefined : state;
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
   * Whether this file was added before and need not be read. When only the samples match, the file is read again, and
   * nothing is added twice. But if captures were deleted after the file was added, reading it might bring them back.
   * Then it is not read, and the report says so.
   */
  async wasAdded(): Promise<boolean> {
    if (!this.#finished?.done) return false;
    return this.#isSameFile(this.#finished) || (await this.deletedSince()) > 0;
  }

  /** Whether path and times in the note match this file. Another file may have the same samples. */
  #isSameFile({ seen }: AddState): boolean {
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
   * Completes the add of this file. A file with errors is not noted as done: every later add reads it again to report
   * the errors, and adds nothing twice.
   */
  async finish(report: AddReport): Promise<void> {
    await this.takeRest(report);
    // This check notices a file that was truncated before it was read. Appended bytes are added by the next add.
    await this.#assertSame();
    if (this.#finished && !this.#finished.done) {
      report.deletedSince = Math.max(report.deletedSince, await this.deletedSince());
      return;
    }
    const { hasGap = false, deleted = await deletedFrom(this.#archive.catalog, this.#kind.collection) } = this.#state;
    this.#state = { ...this.#state, seen: this.samples.seen, done: !this.#hasFindings && !hasGap, deleted };
    const putNotes = { [this.#note]: JSON.stringify(this.#state) };
    await this.#archive.exclusive(async () => {
      for (let repeats = 0; ; repeats++) {
        const outcome = await this.#archive.commitGroup({ putNotes });
        if (!(await this.#archive.mayRepeat(outcome, repeats))) return void refusalOf(outcome);
      }
    });
  }

  async take(batch: ScanBatch, report: AddReport): Promise<void> {
    // The threads opened the file by its path. They must have read the bytes that are copied.
    if (await isReplaced(this.path, this.samples)) throw this.#changed();
    this.#hasFindings ||= batch.findings.some(({ level }) => level === 'error');
    if (!this.#state.hasGap && batch.findings.some(({ code }) => code === 'sector-unreadable'))
      this.#state = { ...this.#state, hasGap: true, deleted: this.#deletedBefore };
    for (let record = 0; record < batch.count; record++) {
      const facts = new ScanFacts(batch, record);
      if (!this.#isAhead(facts)) continue;
      if (this.#isStepFull(facts)) await this.#takeWaiting(report);
      this.#waiting.push(facts);
      if (facts.kind) this.#waitingCaptures++;
    }
    // The last visit may continue in the next batch.
    let whole = this.#waiting.length;
    while (--whole > 0 && isSameVisit(this.#waiting[whole - 1]!, this.#waiting[whole]!));
    await this.#takeWaiting(report, whole);
  }

  /** Adds the last visit when no batch follows. */
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
    if (await hasOtherBytes(this.path, this.#handle, this.samples)) throw this.#changed();
  }

  #changed(): PinakesError {
    return new PinakesError('FILE_CHANGED', { where: this.path });
  }

  #isAhead({ offset, innerOffset }: RecordFacts): boolean {
    if (offset !== this.#state.offset) return offset > this.#state.offset;
    return innerOffset > this.#state.innerOffset;
  }

  async #step(records: readonly ScanFacts[], report: AddReport): Promise<void> {
    const before = { ...report };
    const leftOut = new LeftOut<RecordFacts>();
    const { offset, innerOffset } = records.at(-1)!;
    const state = { ...this.#state, offset, innerOffset };
    let step: AddStep | undefined;
    let taken = records;
    let repeats = 0;
    const attempt = async (): Promise<WriteOutcome> => {
      Object.assign(report, before);
      const draft = this.#archive.newDraft();
      step = await this.#decideStep(taken, draft, leftOut, report);
      draft.putNote(this.#note, JSON.stringify(state));
      // The copied bytes must be from the file that was read.
      await this.#assertSame();
      return this.#archive.commit(draft);
    };
    try {
      await commitUntilTaken(async (refusal) => {
        if (refusal) leftOut.add(refusal, step!.entered);
        // Captures that were deleted come back as other captures, whose ids say so. A rebuild keeps them.
        if (this.#options.again)
          taken = taken.map((facts) => (leftOut.why(facts) === 'deleted' ? facts.addedAgain() : facts));
        for (;;) {
          const outcome = await attempt().catch((error: unknown) => this.#archive.fencedBy(error));
          if (!(await this.#archive.mayRepeat(outcome, repeats))) return outcome;
          repeats++;
          // The segments of the former lease belong to others now.
          this.#windowUsers.clear();
          if (outcome.kind === 'unknown' && (await this.#isCommitted(state))) return COMMITTED;
        }
      });
      this.#state = state;
      this.#lastVisit = visitOf(records.at(-1)!);
      this.#skipped = step!.skipped;
      this.#own.endStep(taken);
      await step!.rememberHolders();
    } catch (error) {
      Object.assign(report, before);
      await this.#archive.segmentWriter.rollBack();
      throw error;
    }
  }

  /**
   * Whether the step is committed although its commit was not answered. An earlier add of all of the file may have left
   * the same note, so such a step is made again. Then the commit finds that its captures are known (C5).
   */
  async #isCommitted(state: AddState): Promise<boolean> {
    if (this.#options.again || state.hasGap) return false;
    return (await this.#archive.catalog.notes(this.#note))[this.#note] === JSON.stringify(state);
  }

  /** Decides what becomes of the records, and appends those that are kept. */
  async #decideStep(
    records: readonly ScanFacts[],
    draft: CatalogDraft,
    leftOut: LeftOut<RecordFacts>,
    report: AddReport,
  ): Promise<AddStep> {
    const { catalog, fingerprint, segmentWriter } = this.#archive;
    const { collection, collectionName } = this.#kind;
    const checks = { collectionName };
    const registrar = new Registrar(catalog, draft, fingerprint, { copyingFor: this.#own, checks });
    const isMiddle = visitOf(records[0]!) === this.#lastVisit;
    const open = await segmentWriter.openFor(this.#kind, isMiddle);
    this.#own.beginStep(open);
    draft.seeNow();
    await registrar.prepare(records);
    const openOdd = async () => {
      open.refersTo = await segmentWriter.openFor(oddKind(this.#kind), isMiddle);
      return open.refersTo;
    };
    const target = { open, openOdd, collection };
    const memory = { leftOut, skippedBefore: this.#skipped, referents: this.#referents };
    const step = new AddStep(this.#archive, this, target, registrar, memory, report);
    await step.run(records);
    for (const [name, value] of Object.entries(step.oddNotes)) draft.putNote(name, value);
    return step;
  }

  /** Whether the bytes of a record can be copied into the segment as they are. */
  canCopy({ length, isComplete, isTorn, isArc, isOdd, isLoose, isAgain }: ScanFacts): boolean {
    if (isAgain || isArc || (isLoose && !isOdd)) return false;
    return this.#coding === this.#kind.coding && length !== undefined && isComplete && !isTorn;
  }

  shares({ payloadDigest }: ScanFacts): boolean {
    return this.#options.shares?.(payloadDigest) ?? true;
  }

  async copy(open: OpenSegment, from: number, to: number, records: number): Promise<void> {
    for (let at = from; at < to; ) {
      if (at < this.#windowAt || at >= this.#windowAt + this.#windowBytes) await this.#moveWindow(at);
      const end = Math.min(to, this.#windowAt + this.#windowBytes);
      this.#archive.segmentWriter.append(open, this.#window!.subarray(at - this.#windowAt, end - this.#windowAt), 0);
      this.#windowUsers.add(open);
      at = end;
    }
    open.records += records;
  }

  /** Reads the file from `at` on. Pending pieces of the old window are written before it is reused. */
  async #moveWindow(at: number): Promise<void> {
    for (const open of this.#windowUsers) await this.#archive.segmentWriter.flush(open);
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

  /** Writes a record anew that cannot be copied: it was uncompressed, shared its member, was cut short, is ARC, or
   * its capture has another id now. */
  async rewrite(open: OpenSegment, facts: ScanFacts): Promise<{ offset: number; length: number }> {
    const record = await this.#recordAt(facts);
    const path = `${this.#archive.scratch}/spool-add-${process.pid}`;
    const { type, targetUri = '', contentType = '' } = record.head;
    const kind = { type, url: targetUri, contentType };
    const spool = await Spool.take(kind, new Uint8Array(0), record.body(), path);
    try {
      this.#assertAsFound(record, facts);
      return await this.#writeSpool(open, this.#headFor(record, spool, facts), spool);
    } finally {
      await spool.discard();
    }
  }

  /**
   * The record to write anew. Such records are requested in order, so one reader can read them all, including records
   * that share a member.
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
      // In a file that was joined from several files, some records are found only by reading from the beginning.
      await this.#beginReading(attempt++ === 1 ? offset : 0);
    }
  }

  /** Fails if a sector of a record has become unreadable since the scan read the record. */
  #assertAsFound({ tail }: ReadingRecord, { isComplete }: RecordFacts): void {
    if (isComplete && !tail?.isComplete) throw this.#changed();
  }

  async #beginReading(offset: number): Promise<void> {
    await this.#reader?.return(undefined);
    this.#readerAt = offset;
    this.#reader = readRecords(this.path, { offset, skipsGaps: true, signal: this.#options.signal });
  }

  /**
   * Writes a foreign revisit anew. It names a capture that the archive stored as a revisit, so it has to name the
   * holder of the content instead.
   */
  async repoint(open: OpenSegment, facts: ScanFacts, referent: Referent): Promise<{ offset: number; length: number }> {
    const record = await this.#recordAt(facts);
    const block = await record.bytes(REVISIT_BYTES_MAX);
    this.#assertAsFound(record, facts);
    const head = headBytes(
      repointed(record.head, referent, this.#archive.newId(), facts.isAgain ? facts.captureId : undefined),
      soundVersion(record.head),
    );
    return this.#archive.segmentWriter.append(open, this.#encoder.encode([head, block, RECORD_TRAILER]));
  }

  async #writeSpool(open: OpenSegment, head: Uint8Array, spool: Spool): Promise<{ offset: number; length: number }> {
    const { segmentWriter } = this.#archive;
    if (!spool.bytes) return appendStreamed(segmentWriter, open, this.#encoder, recordStream(head, spool.block));
    return segmentWriter.append(open, this.#encoder.encode([head, spool.bytes, RECORD_TRAILER]));
  }

  /** The head as it was if possible, otherwise with the length of the block. */
  #headFor(record: ReadingRecord, spool: Spool, facts: ScanFacts): Uint8Array {
    const { head } = record;
    const newId = facts.isAgain ? [{ name: CAPTURE_ID_FIELD, value: facts.captureId }] : [];
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
    if (head.form === 'odd') return oddHead(head, spool.length, newId);
    if (head.form === 'sound' && head.contentLength === spool.length && !facts.isAgain) return head.bytes;
    const replaced = ['content-length', ...newId.map(({ name }) => name)];
    const fields = head.fields.filter((field) => !replaced.includes(field.name.toLowerCase()));
    fields.push(...newId);
    if (head.contentLength !== spool.length && head.get('warc-truncated') === undefined) {
      fields.push({ name: 'WARC-Truncated', value: 'unspecified' });
    }
    return headBytes([...fields.map(oneLine), { name: 'Content-Length', value: String(spool.length) }], head.version);
  }
}

/** An odd head stays as it is, except that a wrong length is corrected, and fields are added. */
function oddHead({ bytes, contentLength }: RecordHead, length: number, added: readonly Field[]): Uint8Array {
  const text = fromLatin1(bytes, 0, bytes.length);
  const isEnded = /\n\r?\n$/.test(text);
  if (contentLength === length && isEnded && added.length === 0) return bytes;
  let lines = isEnded ? text.replace(/\r?\n$/, '') : text.replace(/\n?$/, '\n');
  if (contentLength !== length) {
    const truncated = /^warc-truncated[ \t]*:/im.test(lines) ? '' : 'WARC-Truncated: unspecified\r\n';
    lines = `${lines.replace(/^content-length[ \t]*:[^\n]*\n/gim, '')}${truncated}Content-Length: ${length}\r\n`;
  }
  for (const { name, value } of added) {
    lines = lines.replace(new RegExp(`^${name}[ \\t]*:[^\\n]*\\n`, 'gim'), '');
    lines += `${name}: ${value}\r\n`;
  }
  return Buffer.from(`${lines}\r\n`, 'latin1');
}
