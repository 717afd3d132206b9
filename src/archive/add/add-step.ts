/**
 * A step of an add: a group of records of one file. The step decides what happens to them and commits them together.
 *
 * Odd records that are kept go to a segment of their own, byte for byte, together with the other records of their
 * visits.
 */
import { assert, equal } from '../../base/index.ts';
import type { BlockKey, Place } from '../../catalog/index.ts';
import {
  CAPTURE_ID_FIELD,
  CONTENT_FIELD,
  captureIdOf,
  DECLARED_FIELD,
  type Decision,
  isUndated,
  type LeftOut,
  type OpenSegment,
  OVERFLOW_FIELD,
  type Question,
  type RecordFacts,
  type ScanFacts,
} from '../../ledger/index.ts';
import { type Field, fieldsOf, isWorthRevisit, type NewRecord, SOURCE_DATE_FIELD } from '../../warc/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { blockId } from '../revisit/catalog-draft.ts';
import { type Referent, referentOf } from '../revisit/referent.ts';
import { countOdd, OddCounter } from '../segment/odd-records.ts';
import { type HolderFacts, holderFacts, type Referents, revisitDigest } from '../write/referents.ts';
import type { Registrar } from '../write/registrar.ts';
import type { AddReport } from './add-report.ts';
import { goesWithSkipped, SkippedCaptures } from './skipped-captures.ts';
import { oddVisits } from './visit.ts';

/**
 * Records that the archive encodes itself are written when they reach this many bytes. They are small, so this seldom
 * happens before the end of a step.
 */
const HELD_BYTES_MAX = 4 * 1024 * 1024;

type Written = { readonly offset: number; readonly length: number };

/** The file with the records, as a step uses it. */
export interface StepSource {
  /** Whether the bytes of a record can be copied into the segment as they are. */
  canCopy(facts: ScanFacts): boolean;
  /** Whether a content that the archive has may become a revisit. */
  shares(facts: ScanFacts): boolean;
  /** Copies a range of the file with this number of records to the end of the segment. */
  copy(open: OpenSegment, from: number, to: number, records: number): Promise<void>;
  encode(record: NewRecord, block: Uint8Array): Uint8Array;
  rewrite(open: OpenSegment, facts: ScanFacts): Promise<Written>;
  repoint(open: OpenSegment, facts: ScanFacts, referent: Referent): Promise<Written>;
}

/** Where the records of a step go. The segment for odd records is opened when there is an odd record. */
export type StepTarget = {
  readonly open: OpenSegment;
  readonly openOdd: () => Promise<OpenSegment>;
  readonly collection: number;
};

/** What a step knows of other steps, and of the refused tries of this one. */
export type StepMemory = {
  readonly leftOut: LeftOut<RecordFacts>;
  readonly skippedBefore: SkippedCaptures;
  readonly referents: Referents;
};

/** Consecutive records of the file whose bytes are copied as they are. */
type Run = { readonly from: number; to: number; records: number };

/** The end of a segment while a step is being decided. */
class SegmentEnd {
  readonly open: OpenSegment;
  /** The pieces to write, in order: runs of the file, and records that the archive encodes itself. */
  pieces: (Run | Uint8Array)[] = [];
  /** Bytes of the records among the pieces that the archive encodes itself. */
  heldBytes = 0;
  /** The offset of the next piece in the segment. */
  position: number;

  constructor(open: OpenSegment) {
    this.open = open;
    this.position = open.position;
  }

  /** The place of the next piece, if it has this length. */
  place(length: number): Place {
    const place = { segment: this.open.segment.number, offset: this.position, length };
    this.position += length;
    return place;
  }
}

/**
 * One step of an add. It decides for each record how it is stored and at which place, and writes all records at the
 * end. Only a record that has to be read again is written at once, after the records before it.
 */
export class AddStep {
  readonly #archive: OpenedArchive;
  readonly #source: StepSource;
  readonly #end: SegmentEnd;
  readonly #target: StepTarget;
  #oddEnd: SegmentEnd | undefined;
  #oddCounter: OddCounter | undefined;
  /** The records of visits that go to the segment for odd records as a whole. */
  #apart: ReadonlySet<RecordFacts> = new Set();
  readonly #collection: number;
  readonly #registrar: Registrar;
  readonly #referents: Referents;
  readonly #report: AddReport;
  /** Revisits that are copied. They are entered last, since the records that they refer to may follow them. */
  readonly #kept: { readonly facts: RecordFacts; readonly place: Place }[] = [];
  /** Holders whose contents got another declared digest. */
  readonly #named: { readonly place: Place; readonly holder: HolderFacts }[] = [];
  /** Skipped captures, and the records that are skipped with them. Such records may follow in the next step. */
  skipped = new SkippedCaptures();
  readonly #skippedBefore: SkippedCaptures;
  readonly #leftOut: LeftOut<RecordFacts>;

  constructor(
    archive: OpenedArchive,
    source: StepSource,
    target: StepTarget,
    registrar: Registrar,
    { leftOut, skippedBefore, referents }: StepMemory,
    report: AddReport,
  ) {
    this.#leftOut = leftOut;
    this.#archive = archive;
    this.#source = source;
    this.#end = new SegmentEnd(target.open);
    this.#target = target;
    this.#collection = target.collection;
    this.#registrar = registrar;
    this.#referents = referents;
    this.#report = report;
    this.#skippedBefore = skippedBefore;
  }

  /** The records of the captures of the draft, in their order. */
  get entered(): readonly RecordFacts[] {
    return this.#registrar.entered;
  }

  async run(records: readonly ScanFacts[]): Promise<void> {
    const known = this.#skipKnown(records);
    this.#apart = oddVisits(records);
    await this.#loadReferents(records, known);
    const isAllKnown = known.size > 0 && records.every((facts) => known.has(facts) || !facts.kind);
    for (const facts of records) {
      this.#report.records++;
      if (known.has(facts)) this.#countKnown(facts);
      else if (!facts.kind) {
        if (!this.#goesWithSkipped(facts, isAllKnown)) await this.#keep(facts);
      } else await this.#takeCapture(facts);
    }
    await this.#writePieces(this.#end);
    for (const { facts, place } of this.#kept) await this.#enter(facts, place);
  }

  #countKnown(facts: RecordFacts): void {
    const why = this.#leftOut.why(facts);
    if (why === 'deleted') this.#report.capturesDeleted++;
    else if (why === 'barred') this.#report.capturesBarred++;
    else this.#report.capturesKnown++;
  }

  /**
   * The captures that are not added: the archive has them already, they were deleted or are barred, or they are
   * repeated in the step.
   */
  #skipKnown(records: readonly RecordFacts[]): Set<RecordFacts> {
    const known = new Set<RecordFacts>();
    this.skipped = new SkippedCaptures(records);
    const firsts = new Map<number, RecordFacts>();
    /** Captures with the same hash as an earlier capture of the step. */
    const others: RecordFacts[] = [];
    for (const facts of records) {
      if (!facts.kind) continue;
      const first = firsts.get(facts.hash);
      if (!first) firsts.set(facts.hash, facts);
      else if ([first, ...others].some((earlier) => isSameCapture(earlier, facts))) {
        known.add(facts);
        this.skipped.skip(facts);
        continue;
      } else others.push(facts);
      if (!this.#leftOut.why(facts) && !this.#registrar.findKnown(facts, this.#collection)) continue;
      known.add(facts);
      this.skipped.skip(facts);
    }
    return known;
  }

  #goesWithSkipped(facts: RecordFacts, isAllKnown: boolean): boolean {
    if (facts.type === 'warcinfo' || facts.url === '' || isUndated(facts)) return isAllKnown;
    return goesWithSkipped([this.#skippedBefore, this.skipped], facts);
  }

  /** Returns a promise only for a record that has to be read again. */
  #takeCapture(facts: ScanFacts): Promise<void> | undefined {
    if (this.#registrar.findKnown(facts, this.#collection)) {
      // The file has this very record twice.
      this.#report.capturesKnown++;
      return undefined;
    }
    this.#report.captures++;
    if (facts.type === 'revisit') return this.#takeRevisit(facts);
    const held = this.#heldBlock(facts);
    return held ? this.#takeDuplicate(facts, held) : this.#keep(facts);
  }

  /** The block of a record that may become a revisit, if the holder can be read and the revisit is worth writing. */
  #heldBlock(facts: ScanFacts): BlockKey | undefined {
    const decision = this.#decide(facts);
    return decision.kind === 'readable?' ? decision.block.key : undefined;
  }

  #decide(facts: ScanFacts, isWorth?: boolean): Decision | Question {
    return this.#registrar.decide(facts, {
      isShareable: this.#isShareable(facts),
      sharedBytesMin: this.#archive.dedupBytesMin,
      isReadable: isWorth === undefined ? undefined : true,
      isWorth,
    });
  }

  #takeDuplicate(facts: ScanFacts, block: BlockKey): Promise<void> | undefined {
    const place = this.#registrar.holderOf(block);
    const fresh = this.#registrar.freshHolder(block);
    const holder = fresh ? holderFacts(fresh) : this.#referents.loaded(place);
    if (!holder) return this.#takeUnloaded(facts, block, place);
    const { declaredDigest } = facts;
    if (holder.declaredDigest !== declaredDigest) this.#named.push({ place, holder: { ...holder, declaredDigest } });
    return this.#writeRevisit(facts, block, holder);
  }

  /** The holder cannot be read, so no revisit refers to it: the record is kept and holds the content from now on. */
  async #takeUnloaded(facts: ScanFacts, block: BlockKey, place: Place): Promise<void> {
    const holder = await this.#referents.read(place);
    if (holder) return this.#writeRevisit(facts, block, holder);
    this.#registrar.loseHolder(block);
    return this.#keep(facts);
  }

  /**
   * Copies a revisit as it is, unless it names a capture that became a revisit here. A truncated revisit is copied too,
   * since new references alone would not repair it.
   */
  async #takeRevisit(facts: ScanFacts): Promise<void> {
    const block =
      facts.isComplete && this.#registrar.namesRevisit(facts) ? await this.#registrar.resolve(facts) : undefined;
    if (!block) return this.#keep(facts);
    const fresh = this.#registrar.freshHolder(block);
    const holder = fresh ? holderFacts(fresh) : await this.#referents.read(this.#registrar.holderOf(block));
    if (!holder) return this.#keep(facts);
    const end = await this.#endFor(facts);
    if (!this.#isWrittenBefore(block, end)) return this.#keep(facts);
    const referent = { ...referentOf(holder), payloadDigest: holder.ownDigest, content: blockId(block) };
    await this.#writeAtOnce(end, facts, (open) => this.#source.repoint(open, facts, referent));
  }

  /**
   * Records that are not captures were not looked up. The first part of a segmented content says nothing about the
   * whole (I7). A URI that is not UTF-8 would change in a record of ours (I4).
   */
  #isShareable(facts: ScanFacts): boolean {
    if (!facts.isUtf8 || !this.#source.shares(facts)) return false;
    return facts.kind === 'response' && facts.isHttp && facts.isComplete && !facts.isSegmented;
  }

  /** Loads the facts that revisits of this step need about earlier holders, in few calls. */
  async #loadReferents(records: readonly ScanFacts[], known: ReadonlySet<RecordFacts>): Promise<void> {
    const holders: Place[] = [];
    for (const facts of records) {
      const held = this.#isShareable(facts) && !known.has(facts) ? this.#heldBlock(facts) : undefined;
      if (held) holders.push(this.#registrar.holderOf(held));
    }
    await this.#referents.load(holders);
  }

  /** Copies the bytes of a record, or writes it anew when that is not possible. */
  #keep(facts: ScanFacts): Promise<void> | undefined {
    return facts.isOdd || this.#apart.has(facts) ? this.#keepApart(facts) : this.#keepIn(this.#end, facts);
  }

  async #keepApart(facts: ScanFacts): Promise<void> {
    const end = await this.#endApart();
    this.#oddCounter ??= new OddCounter(await countOdd(this.#archive.catalog, end.open.segment.number));
    this.#oddCounter.add(facts);
    if (isUndated(facts)) this.#report.undated++;
    await this.#keepIn(end, facts);
  }

  async #endFor(facts: RecordFacts): Promise<SegmentEnd> {
    return this.#apart.has(facts) ? this.#endApart() : this.#end;
  }

  async #endApart(): Promise<SegmentEnd> {
    this.#oddEnd ??= new SegmentEnd(await this.#target.openOdd());
    return this.#oddEnd;
  }

  /**
   * Whether a revisit at this end may refer to the holder (I1): the segment for odd records is written before the other
   * segment.
   */
  #isWrittenBefore(block: BlockKey, end: SegmentEnd): boolean {
    if (end === this.#end || !this.#registrar.freshHolder(block)) return true;
    return this.#registrar.holderOf(block).segment === end.open.segment.number;
  }

  #keepIn(end: SegmentEnd, facts: ScanFacts): Promise<void> | undefined {
    if (!this.#source.canCopy(facts)) return this.#writeAtOnce(end, facts, (open) => this.#source.rewrite(open, facts));
    const length = facts.length!;
    const last = end.pieces.at(-1);
    if (last && 'from' in last && last.to === facts.offset) {
      last.to += length;
      last.records++;
    } else end.pieces.push({ from: facts.offset, to: facts.offset + length, records: 1 });
    const place = end.place(length);
    if (facts.type === 'revisit') this.#kept.push({ facts, place });
    else this.#registrar.enterContent(facts, place, this.#collection);
    return undefined;
  }

  async #writeAtOnce(
    end: SegmentEnd,
    facts: RecordFacts,
    write: (open: OpenSegment) => Promise<Written>,
  ): Promise<void> {
    await this.#writePieces(end);
    const { offset, length } = await write(end.open);
    end.position = end.open.position;
    await this.#enter(facts, { segment: end.open.segment.number, offset, length });
  }

  async #writePieces(end: SegmentEnd): Promise<void> {
    const { segmentWriter } = this.#archive;
    // Revisits may refer to odd records of this step, so the odd records are written first (I1).
    if (this.#oddEnd && end !== this.#oddEnd) await this.#writePieces(this.#oddEnd);
    const { open, pieces } = end;
    end.pieces = [];
    end.heldBytes = 0;
    for (const piece of pieces) {
      if ('from' in piece) await this.#source.copy(open, piece.from, piece.to, piece.records);
      else segmentWriter.append(open, piece);
    }
    if (segmentWriter.isFull(open)) await segmentWriter.flush(open);
    assert(open.position === end.position, 'records are where the step placed them');
  }

  /** The notes about odd records to commit with the step. */
  get oddNotes(): Record<string, string> {
    return (this.#oddEnd && this.#oddCounter?.notes(this.#oddEnd.open.segment.number)) ?? {};
  }

  async #enter(facts: RecordFacts, place: Place): Promise<void> {
    const { capture } = await this.#registrar.enter(facts, place, this.#collection);
    if (capture?.kind === 'revisit' && !capture.block) this.#report.unresolved++;
  }

  /** Writes a revisit, or keeps the full record when the revisit would not be smaller. */
  #writeRevisit(facts: ScanFacts, block: BlockKey, holder: HolderFacts): Promise<void> | undefined {
    const carried = facts.carriedFields();
    const record = this.#revisitOf(facts, carried, block, holder);
    const heads = { own: fieldsOf(fullRecordOf(facts, record, carried), 0), revisit: fieldsOf(record, 0) };
    const isWorth = isWorthRevisit(facts.payloadBytes, heads, this.#archive.dedupBytesMin);
    if (this.#decide(facts, isWorth).kind !== 'revisit') return this.#keep(facts);
    if (this.#apart.has(facts)) return this.#putRevisitApart(facts, record, block, holder);
    return this.#putRevisit(this.#end, facts, record, block, holder);
  }

  async #putRevisitApart(facts: ScanFacts, record: NewRecord, block: BlockKey, holder: HolderFacts): Promise<void> {
    const end = await this.#endApart();
    await (this.#isWrittenBefore(block, end) ? this.#putRevisit(end, facts, record, block, holder) : this.#keep(facts));
  }

  #putRevisit(
    end: SegmentEnd,
    facts: ScanFacts,
    record: NewRecord,
    block: BlockKey,
    holder: HolderFacts,
  ): Promise<void> | undefined {
    this.#report.duplicates++;
    this.#report.duplicateBytes += facts.payloadBytes;
    const member = this.#source.encode(record, facts.httpHead);
    end.pieces.push(member);
    end.heldBytes += member.length;
    const isNamed = holder.declaredDigest === facts.declaredDigest;
    this.#registrar.enterRevisit(facts, end.place(member.length), this.#collection, block, isNamed);
    return end.heldBytes > HELD_BYTES_MAX ? this.#writePieces(end) : undefined;
  }

  #revisitOf(facts: ScanFacts, carried: readonly Field[], block: BlockKey, holder: HolderFacts): NewRecord {
    const fields: Field[] = [...carried, { name: CAPTURE_ID_FIELD, value: captureIdOf(facts) }];
    if (facts.recordId) fields.unshift({ name: 'WARC-Previous-Record-ID', value: facts.recordId });
    if (facts.sourceDate) fields.push({ name: SOURCE_DATE_FIELD, value: facts.sourceDate });
    const digest = revisitDigest({ algorithm: 'sha256', bytes: facts.payloadDigest }, holder.ownDigest);
    if (digest === holder.ownDigest) fields.push({ name: CONTENT_FIELD, value: blockId(block) });
    if (facts.declaredDigest !== digest && /^(?!sha-?256)\S+$/i.test(facts.declaredDigest))
      fields.push({ name: DECLARED_FIELD, value: facts.declaredDigest });
    if (block.overflow > 0) fields.push({ name: OVERFLOW_FIELD, value: String(block.overflow) });
    return {
      type: 'revisit',
      recordId: this.#archive.newId(),
      date: facts.date,
      targetUri: facts.url,
      payloadDigest: digest,
      contentType: 'application/http; msgtype=response',
      revisit: { profile: 'identical-payload-digest', ...referentOf(holder), truncated: true },
      fields,
    };
  }

  /** Called when the step is committed: later steps may refer to the holders that it entered. */
  async rememberHolders(): Promise<void> {
    for (const [block, facts] of this.#registrar.freshHolders()) {
      // A record without an id gets one when it is written, and only the written record has it.
      if (facts.recordId !== '') await this.#referents.remember(this.#registrar.holderOf(block), holderFacts(facts));
    }
    for (const { place, holder } of this.#named)
      if (holder.recordId !== '') await this.#referents.remember(place, holder);
  }
}

/**
 * The full record that is compared with a revisit, with the fields that both have. A record of an ARC file gets its id
 * and its digest when it is written.
 */
function fullRecordOf(facts: ScanFacts, revisit: NewRecord, fields: readonly Field[]): NewRecord {
  const payloadDigest = facts.declaredDigest || (facts.isArc ? revisit.payloadDigest : undefined);
  const recordId = facts.recordId || revisit.recordId;
  return { ...revisit, type: 'response', recordId, payloadDigest, fields, revisit: undefined };
}

function isSameCapture(one: RecordFacts, other: RecordFacts): boolean {
  return (
    one.hash === other.hash &&
    one.time === other.time &&
    one.url === other.url &&
    one.date === other.date &&
    captureIdOf(one) === captureIdOf(other) &&
    equal(one.payloadDigest, other.payloadDigest)
  );
}
