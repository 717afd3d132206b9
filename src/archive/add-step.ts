/** A step of an add: some records of one file, decided on together and committed together. */
import { equal } from '../base/index.ts';
import type { BlockKey, Place } from '../catalog/index.ts';
import type { NewRecord } from '../warc/index.ts';
import type { AddParts, AddReport } from './add-parts.ts';
import { blockId } from './catalog-draft.ts';
import { CAPTURE_ID_FIELD, captureIdOf, DECLARED_FIELD, OVERFLOW_FIELD, type RecordFacts } from './record-facts.ts';
import type { Referents } from './referents.ts';
import type { Registrar } from './registrar.ts';
import type { Referent } from './segment-rewrite.ts';
import type { OpenSegment } from './segment-shelf.ts';

type Written = { readonly offset: number; readonly length: number };

/** The file that the records come from, as a step needs it. */
export interface StepSource {
  /** Whether a record's bytes can go into the segment as they are. */
  canCopy(facts: RecordFacts): boolean;
  /** Copies bytes of the file that hold so many records; says where they begin in the segment. */
  copy(open: OpenSegment, from: number, to: number, records: number): Promise<number>;
  encode(record: NewRecord, block: Uint8Array): Uint8Array;
  rewrite(open: OpenSegment, facts: RecordFacts): Promise<Written>;
  repoint(open: OpenSegment, facts: RecordFacts, referent: Referent): Promise<Written>;
}

/** What was passed over: ids of captures and of what they name, and their visits. */
export type Passed = { readonly ids: Set<string>; readonly visits: Set<string> };

export function visitOf({ date, url }: RecordFacts): string {
  return `${date} ${url}`;
}

/** One step of an add: decides record by record, and copies what is kept in runs. */
export class AddStep {
  readonly #parts: AddParts;
  readonly #source: StepSource;
  readonly #registrar: Registrar;
  readonly #referents: Referents;
  readonly #records: readonly RecordFacts[];
  readonly #heads: readonly Uint8Array[];
  readonly #report: AddReport;
  #run: RecordFacts[] = [];
  /** Records that go with captures which are passed over are passed over too, also when these were the end of the step before. */
  readonly passed: Passed = { ids: new Set(), visits: new Set() };
  readonly #passedBefore: Passed;

  constructor(
    parts: AddParts,
    source: StepSource,
    registrar: Registrar,
    referents: Referents,
    records: readonly RecordFacts[],
    heads: readonly Uint8Array[],
    report: AddReport,
    passedBefore: Passed,
  ) {
    this.#passedBefore = passedBefore;
    this.#parts = parts;
    this.#source = source;
    this.#registrar = registrar;
    this.#referents = referents;
    this.#records = records;
    this.#heads = heads;
    this.#report = report;
  }

  async run(open: OpenSegment, collection: number): Promise<void> {
    const known = new Set<RecordFacts>();
    const seen = new Map<number, RecordFacts[]>();
    for (const facts of this.#records) {
      if (!facts.kind) continue;
      // A record that stands twice in a file is one capture.
      const alike = seen.get(facts.hash);
      if (alike?.some((earlier) => isSameCapture(earlier, facts))) known.add(facts);
      else if (alike) alike.push(facts);
      else seen.set(facts.hash, [facts]);
      if (known.has(facts) || !this.#registrar.findKnown(facts, collection)) continue;
      known.add(facts);
      this.passed.ids.add(facts.recordId).add(facts.concurrentTo);
      this.passed.visits.add(visitOf(facts));
    }
    await this.#loadReferents(known);
    const isAllKnown = this.#records.every((facts) => known.has(facts) || !facts.kind);
    for (const [index, facts] of this.#records.entries()) {
      this.#report.records++;
      if (known.has(facts)) {
        this.#report.capturesKnown++;
        await this.#endRun(open, collection);
      } else if (!facts.kind) {
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
    const held = this.#canBeRevisit(facts) ? this.#registrar.heldBlock(facts) : undefined;
    if (held) {
      await this.#endRun(open, collection);
      await this.#writeRevisit(open, collection, facts, held, httpHead);
      this.#report.duplicates++;
      this.#report.duplicateBytes += facts.payloadBytes;
      return;
    }
    if (facts.type === 'revisit' && this.#registrar.namesRevisit(facts)) {
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

  #canBeRevisit(facts: RecordFacts): boolean {
    if (facts.type !== 'response' || !facts.isHttp || !facts.isComplete) return false;
    return facts.payloadBytes > 0 && facts.payloadBytes >= this.#parts.dedupBytesMin;
  }

  /** Asks in one go what the revisits of this step will say of holders that were there before it. */
  async #loadReferents(known: ReadonlySet<RecordFacts>): Promise<void> {
    const holders: Place[] = [];
    for (const facts of this.#records) {
      const held = !known.has(facts) && this.#canBeRevisit(facts) ? this.#registrar.heldBlock(facts) : undefined;
      if (held) holders.push(this.#registrar.holderOf(held));
    }
    await this.#referents.load(holders);
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

  /** What the revisit says of the holder: from this step when it is new, else from the record itself. */
  async #referentOf(block: BlockKey): Promise<Referent> {
    const fresh = this.#registrar.freshHolder(block);
    return fresh ? referentOf(fresh) : this.#referents.get(this.#registrar.holderOf(block));
  }

  /** The step is committed: what it entered can be leaned on by the next ones. */
  rememberHolders(): void {
    for (const [block, facts] of this.#registrar.freshHolders()) {
      // A record without an id gets one when it is written, which only the record itself tells.
      if (facts.recordId !== '') this.#referents.remember(this.#registrar.holderOf(block), referentOf(facts));
    }
  }
}

function referentOf({ recordId, url, date }: RecordFacts): Referent {
  return { refersTo: recordId || undefined, refersToTargetUri: url, refersToDate: date };
}

function isSameCapture(one: RecordFacts, other: RecordFacts): boolean {
  return (
    captureIdOf(one) === captureIdOf(other) &&
    one.url === other.url &&
    one.date === other.date &&
    equal(one.payloadDigest, other.payloadDigest)
  );
}
