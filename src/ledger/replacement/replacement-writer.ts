/**
 * Writes a segment that replaces one or several sealed ones, under a compaction lease (K1). Nothing of it counts before
 * its swap (swap.ts).
 *
 * The row is listed, open and empty, before anything is written under the name (P3), and it stays empty until the swap.
 * So what a crash leaves is removed with its row (`discardUnfinished`). Records are copied as the members they came in,
 * whole runs at a time (I4), or written anew under a new record id. They keep the order of the old segments, one after
 * another. The warcinfo record names these segments, and the last record has the runs (runs.ts).
 */
import { assert, EMPTY, formatW3cDate, PinakesError } from '../../base/index.ts';
import type { CatalogView, Segment } from '../../catalog/index.ts';
import { type Field, MemberEncoder, recordParts } from '../../warc/index.ts';
import type { OpenSegment, SegmentKind } from '../open-segment.ts';
import { RUNS_NOTE, Runs, runsRecord } from '../runs.ts';
import { isMissing } from '../segment-reader.ts';
import { type SegmentStore, type SegmentStores, sealedBytes } from '../segment-store.ts';
import type { SegmentWriter } from '../segment-writer.ts';
import { sequenceOf } from '../snapshot-bounds.ts';

/** More records than this are not changed in one replacement, since the first commit of the swap has them all. */
export const CHANGED_MAX = 2000;
const COPY_BYTES = 4 * 1024 * 1024;

/** A full record that is a revisit now. */
export type ChangedRecord = {
  /** Where the capture was. */
  readonly from: { readonly segment: number; readonly offset: number };
  readonly offset: number;
  readonly length: number;
};

/** A segment that was written, is durable, and waits for its swap. */
export type Replacement = {
  /** The row as it was listed. */
  readonly row: Segment;
  readonly bytes: number;
  readonly records: number;
  readonly replaced: readonly Segment[];
  readonly runs: Runs;
  readonly changed: readonly ChangedRecord[];
};

export type ReplacementOptions = {
  readonly catalog: Pick<CatalogView, 'notes' | 'segment'>;
  readonly stores: Pick<SegmentStores, 'get'>;
  /** It has the compaction lease, and no other segment open. */
  readonly writer: SegmentWriter;
  readonly clock: () => number;
  readonly newId: () => string;
};

/** The runs of a segment. One without any has its records where they were first written to. */
export async function runsOf(catalog: Pick<CatalogView, 'notes'>, segment: Segment): Promise<Runs> {
  const { name, roots, bytes } = segment;
  const note = RUNS_NOTE + name;
  const text = (await catalog.notes(note))[note];
  const runs = text === undefined ? undefined : Runs.parseNote(text);
  if (runs) return runs;
  // What an earlier incarnation left open is sealed under another name, with the same bytes (R3).
  if (roots?.length === 1 && text === undefined) return Runs.ofRoot(roots[0]!, bytes);
  return roots ? new Runs() : Runs.ofRoot({ name, sequence: sequenceOf(segment) }, bytes);
}

export class ReplacementWriter {
  readonly #options: ReplacementOptions;
  readonly #open: OpenSegment;
  readonly #encoder: MemberEncoder;
  readonly #replaced: readonly Segment[];
  readonly #before: ReadonlyMap<number, Runs>;
  readonly #runs = new Runs();
  readonly #changed: ChangedRecord[] = [];
  /** Records that are copied together. */
  #run: { readonly old: Segment; readonly from: number; to: number } | undefined;

  /**
   * Lists and begins a segment that replaces others of the same collection, on one volume. `isRelocation`: it takes
   * only some of their records, so it does not say that it replaces them.
   */
  static async begin(
    options: ReplacementOptions,
    replaced: readonly Segment[],
    kind: SegmentKind,
    fields: readonly Field[] = [],
    isRelocation = false,
  ): Promise<ReplacementWriter> {
    assert(
      replaced.every(({ state, collection }) => state === 'sealed' && collection === kind.collection),
      'only sealed segments of one collection are replaced',
    );
    const before = new Map<number, Runs>();
    for (const segment of replaced) before.set(segment.number, await runsOf(options.catalog, segment));
    const names = isRelocation ? [] : replaced.map(({ name }) => name);
    const open = await options.writer.begin(kind, names, fields);
    return new ReplacementWriter(options, replaced, before, open);
  }

  private constructor(
    options: ReplacementOptions,
    replaced: readonly Segment[],
    before: ReadonlyMap<number, Runs>,
    open: OpenSegment,
  ) {
    this.#options = options;
    this.#replaced = replaced;
    this.#before = before;
    this.#open = open;
    this.#encoder = new MemberEncoder(open.kind);
  }

  get row(): Segment {
    return this.#open.segment;
  }

  get changes(): number {
    return this.#changed.length;
  }

  /** Copies the member of a record as it is. Returns its new offset. */
  async copy(old: Segment, offset: number, length: number): Promise<number> {
    if (this.#run?.old !== old || this.#run.to !== offset) {
      await this.#whileOwn(() => this.#endRun());
      this.#run = { old, from: offset, to: offset };
    }
    const at = this.#open.position + offset - this.#run.from;
    this.#run.to += length;
    this.#open.records++;
    this.#runs.add(this.#before.get(old.number)!, { from: offset, offset: at, bytes: length, isAnew: false });
    return at;
  }

  /**
   * Writes a record anew, as one member or as pieces of it. Returns its new offset. `isChanged`: a full record is a
   * revisit now.
   */
  put(old: Segment, from: number, member: Uint8Array | AsyncIterable<Uint8Array>, isChanged = false): Promise<number> {
    return this.#whileOwn(() => this.#put(old, from, member, isChanged));
  }

  async #put(
    old: Segment,
    from: number,
    member: Uint8Array | AsyncIterable<Uint8Array>,
    isChanged: boolean,
  ): Promise<number> {
    await this.#endRun();
    const { writer } = this.#options;
    const open = this.#open;
    const offset = open.position;
    for await (const piece of member instanceof Uint8Array ? [member] : member) {
      writer.append(open, piece, 0);
      if (writer.isFull(open)) await writer.flush(open);
    }
    open.records++;
    const length = open.position - offset;
    assert(length > 0, 'a record has bytes');
    this.#runs.add(this.#before.get(old.number)!, { from, offset, bytes: length, isAnew: true });
    if (isChanged) {
      assert(this.#changed.length < CHANGED_MAX, 'a replacement changes a limited number of records');
      this.#changed.push({ from: { segment: old.number, offset: from }, offset, length });
    }
    return offset;
  }

  /** Encodes a record as a member of this segment. */
  encode(parts: readonly Uint8Array[]): Uint8Array {
    return this.#encoder.encode(parts);
  }

  encodeStream(pieces: AsyncIterable<Uint8Array>, length: number): AsyncIterable<Uint8Array> {
    return this.#encoder.encodeStream(pieces, length);
  }

  /** Writes the runs, makes the segment durable and seals it. */
  finish(): Promise<Replacement> {
    return this.#whileOwn(() => this.#finish());
  }

  async #finish(): Promise<Replacement> {
    await this.#endRun();
    const { writer, newId, clock } = this.#options;
    const open = this.#open;
    const { record, block } = runsRecord(this.#runs, newId(), formatW3cDate(clock()));
    writer.append(open, this.#encoder.encode(recordParts(record, block)));
    await writer.flush(open);
    const { store, segment: row, position: bytes, records, fresh } = open;
    await store.sync([row.name]);
    await store.seal({ name: row.name, state: 'open', bytes, ...(store.hasParts && { parts: fresh }) });
    this.#encoder.close();
    return { row, bytes, records, replaced: this.#replaced, runs: this.#runs, changed: this.#changed };
  }

  /** Ends the writing. What was written is removed by `discard` of the swap. */
  abandon(): void {
    this.#encoder.close();
  }

  /** An object that is missing was removed by the next holder of the lease, together with the row. */
  async #whileOwn<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    try {
      return await work();
    } catch (error) {
      if (!isMissing(error) || (await this.#options.catalog.segment(this.row.number))) throw error;
      throw new PinakesError('LEASE_LOST', { where: this.row.name, cause: error });
    }
  }

  async #endRun(): Promise<void> {
    const run = this.#run;
    if (!run) return;
    this.#run = undefined;
    const { writer, stores } = this.#options;
    const { old, from, to } = run;
    const store = stores.get(old.volume);
    for (let at = from; at < to; ) {
      const bytes = await readWhole(store, old, at, Math.min(COPY_BYTES, to - at));
      writer.append(this.#open, bytes, 0);
      if (writer.isFull(this.#open)) await writer.flush(this.#open);
      at += bytes.length;
    }
  }
}

async function readWhole(store: SegmentStore, old: Segment, offset: number, length: number): Promise<Uint8Array> {
  const [bytes = EMPTY] = await store.read(sealedBytes(old.name, old.bytes), [{ offset, length }]);
  assert(bytes.length === length, `${old.name} is as long as its row says`);
  return bytes;
}
