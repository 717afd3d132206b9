/**
 * A slice of the archive as one WARC file. Records are copied as they are stored (I4).
 *
 * A self-contained file does not depend on the archive: a revisit becomes a full record with its own head and the
 * payload of the record that it refers to, under a new id and with WARC-Previous-Record-ID. The HTTP head is the
 * revisit's own except for the codings: the transfer coding is removed, and the content coding is that of the payload.
 * A server's "not modified" cannot have a body. It stays a revisit and refers to a full record in the file. This record
 * is added if necessary.
 *
 * Damage is reported, and everything readable is exported. A damaged record that is complete is copied as it is, so
 * that its wrong checksum shows in the file as well. If a record is incomplete, its readable part is exported and
 * marked as truncated. A revisit whose content is damaged stays a revisit.
 *
 * Odd records (see `HeadForm`) would stop other readers before the records that follow. They are written anew if
 * possible. Otherwise they are left out and counted, unless they are requested.
 */
import { assert, type Finding, formatW3cDate } from '../../base/index.ts';
import type { Block, Place, Segment } from '../../catalog/index.ts';
import { urlKey } from '../../url/index.ts';
import {
  type Field,
  headBytes,
  type NewRecord,
  RECORD_TRAILER,
  type ReadingRecord,
  RecordDecoder,
  type RecordHead,
  readRecords,
  revisitProfileOf,
  soundFields,
  soundVersion,
  WarcFileWriter,
  warcFields,
} from '../../warc/index.ts';
import { type Damage, damageOf, isBadSector, isDamage, type OutputDamage } from '../damage.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { lookBackOf, type OpenedRecord, releasePayload } from '../read/record-access.ts';
import { referentOf } from '../revisit/referent.ts';
import { repointed } from '../revisit/repointed.ts';
import { oddSegments } from '../segment/odd-records.ts';
import { codingOfName } from '../segment/segment-kind.ts';
import { isMeant, type Selection } from '../selection.ts';
import { isWarcGzip, RepackedRecord } from '../stream/repacked-record.ts';
import { expandedRecord } from '../stream/revisit-expansion.ts';
import { isGone } from '../stream/storage-walk.ts';
import { oddRecordsLeftOut } from './export-odd.ts';
import { movedRecord, type RecordState, type SliceRecord, SOUND, sliceOf, stateOf } from './export-slice.ts';

const ATTEMPTS = 5;
const COPY_BYTES = 4 * 1024 * 1024;
/**
 * How many extra holders and damaged records are remembered. Beyond this number, a holder may be exported twice, and a
 * damaged record reported twice.
 */
const REMEMBERED_MAX = 100_000;

export type WarcExportOptions = {
  readonly selfContained?: boolean;
  /** Whether requests, metadata and warcinfo records are included. The default is true. */
  readonly concurrentRecords?: boolean;
  /** Whether odd records that cannot be written anew are included as they are, although other readers stop at them. */
  readonly odd?: boolean;
  readonly force?: boolean;
  readonly software: string;
  readonly title?: string;
  readonly onProgress?: (progress: { captures: number; bytes: number }) => void;
  /**
   * Called for every damaged record of the slice, and for everything unreadable in the segments of the slice, since it
   * may have belonged to the slice.
   */
  readonly onDamage?: (damage: OutputDamage) => void;
  readonly signal?: AbortSignal | undefined;
};

const NO_COUNTS = {
  captures: 0,
  /** Requests, metadata and warcinfo records in the file. */
  concurrentRecords: 0,
  /** Revisits that became full records. */
  expanded: 0,
  /** Revisits that stayed revisits. */
  revisits: 0,
  /** Among `revisits`, in a self-contained file: revisits whose content is damaged or not in the archive. */
  unresolved: 0,
  /** Full records from outside the slice that "not modified" revisits refer to. */
  extras: 0,
  /** Damaged records that are in the file, as they are stored or as far as they can be read. */
  damaged: 0,
  /**
   * Damaged records that are not in the file: nothing of them can be read, or they are outside the slice and revisits
   * in the slice refer to them.
   */
  leftOut: 0,
  /** Odd records in the file as they are, and odd records that are left out. */
  odd: 0,
  oddLeftOut: 0,
  bytes: 0,
};

export type WarcExportReport = typeof NO_COUNTS;

/** The outcome for a record. `missing`: nothing of it can be read. */
type Copied = 'copied' | 'missing';

export async function exportWarc(
  archive: OpenedArchive,
  selection: Selection,
  path: string,
  options: WarcExportOptions,
): Promise<WarcExportReport> {
  const coding = codingOfName(path);
  const writer = await WarcFileWriter.create(path, { coding, force: options.force === true });
  const force = options.force === true;
  try {
    const output = new WarcExport(archive, selection, writer, coding === 'gzip', options);
    await output.run();
    await writer.finish();
    return output.report;
  } catch (error) {
    await writer.discard({ force });
    throw error;
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

class WarcExport {
  readonly report: WarcExportReport = { ...NO_COUNTS };
  readonly #archive: OpenedArchive;
  readonly #selection: Selection;
  readonly #writer: WarcFileWriter;
  readonly #isGzip: boolean;
  readonly #options: WarcExportOptions;
  readonly #extras = new Set<string>();
  /** Damaged records that were reported. */
  readonly #reported = new Set<string>();
  readonly #decoder = new RecordDecoder();
  /** Segments that have odd records, and the odd records that the slice has contained so far. */
  #oddSegments: ReadonlySet<number> = new Set();
  readonly #oddMet = new Set<string>();

  constructor(
    archive: OpenedArchive,
    selection: Selection,
    writer: WarcFileWriter,
    isGzip: boolean,
    options: WarcExportOptions,
  ) {
    this.#archive = archive;
    this.#selection = selection;
    this.#writer = writer;
    this.#isGzip = isGzip;
    this.#options = options;
  }

  async run(): Promise<void> {
    await this.#writeWarcinfo();
    this.#oddSegments = new Set((await oddSegments(this.#archive.catalog)).keys());
    try {
      await this.#putAll();
      await this.#putOdd();
    } finally {
      this.#decoder.close();
    }
    this.report.bytes = this.#writer.offset;
  }

  async #putAll(): Promise<void> {
    const { concurrentRecords = true, signal } = this.#options;
    for await (const { segment, records, unreadable } of sliceOf(this.#archive, this.#selection, {
      concurrentRecords,
      signal,
    })) {
      for (const finding of unreadable) this.#reportDamage(damageOf(segment, [finding], undefined), 'nothing');
      for (const record of records) {
        signal?.throwIfAborted();
        await this.#putWithRetries(segment.number, record);
      }
    }
  }

  async #putOdd(): Promise<void> {
    const isMet = ({ number }: Segment, offset: number) => this.#oddMet.has(`${number}:${offset}`);
    const { signal } = this.#options;
    for await (const { record } of oddRecordsLeftOut(this.#archive, this.#selection, isMet, signal)) {
      if (this.#options.odd) await this.#putAsItIs(record);
      else this.report.oddLeftOut++;
    }
  }

  async #putAsItIs(record: ReadingRecord): Promise<void> {
    const { newId, scratch } = this.#archive;
    await using packed = await RepackedRecord.take(record, { newId, scratch, asItIs: true });
    await this.#writer.writeStreamParts(packed.head, packed.block);
    this.report.odd++;
  }

  async #writeWarcinfo(): Promise<void> {
    const { software, title, selfContained } = this.#options;
    const fields: Field[] = [
      { name: 'software', value: software },
      { name: 'format', value: 'WARC File Format 1.1' },
      { name: 'conformsTo', value: 'http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/' },
      { name: 'description', value: selfContained ? 'self-contained slice of an archive' : 'slice of an archive' },
      ...(title === undefined ? [] : [{ name: 'isPartOf', value: title }]),
    ];
    const record: NewRecord = {
      type: 'warcinfo',
      recordId: this.#archive.newId(),
      date: formatW3cDate(this.#archive.clock()),
      contentType: 'application/warc-fields',
    };
    await this.#writer.write(record, warcFields(fields));
  }

  /**
   * Compaction may move a record between planning and reading, so a failed read is tried again at the new place.
   * Nothing of a record is written before the record is found.
   */
  async #putWithRetries(number: number, record: SliceRecord): Promise<void> {
    let current = { segment: number, record };
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#put(current.record, { segment: current.segment, ...current.record });
        return;
      } catch (error) {
        if (!isGone(error) || attempt >= ATTEMPTS) throw error;
        // The segment still exists, so it was moved to another volume, and the place is still right.
        if (await this.#archive.segmentRegistry.find(current.segment)) continue;
        const moved = await movedRecord(this.#archive, current.record);
        if (!moved) return;
        current = moved;
      }
    }
  }

  async #put(record: SliceRecord, place: Place): Promise<void> {
    const { kind, state } = record;
    if (kind === undefined) {
      if ((await this.#copy(place, state)) === 'copied') this.#countConcurrent(place);
      return;
    }
    const isPlain = kind !== 'revisit' || !this.#options.selfContained || (state?.damage.length ?? 0) > 0;
    const copied = isPlain ? await this.#copy(place, state) : await this.#standAlone(record, place);
    if (copied === 'missing') return;
    if (kind === 'revisit' && isPlain) this.report.revisits++;
    this.report.captures++;
    this.#options.onProgress?.({ captures: this.report.captures, bytes: this.#writer.offset });
  }

  #countConcurrent({ segment, offset }: Place): void {
    this.report.concurrentRecords++;
    if (this.#oddSegments.has(segment)) this.#oddMet.add(`${segment}:${offset}`);
  }

  /** Writes a revisit that has to stay a revisit in a self-contained file. */
  async #keepRevisit(place: Place, state: RecordState | undefined): Promise<Copied> {
    const copied = await this.#copy(place, state);
    if (copied === 'missing') return copied;
    this.report.revisits++;
    this.report.unresolved++;
    return copied;
  }

  async #standAlone(record: SliceRecord, place: Place): Promise<Copied> {
    const [block] = record.block ? await this.#archive.catalog.getBlocks([record.block]) : [];
    const own = block && (await this.#archive.access.openSound(place, undefined));
    if (!own || !('payload' in own)) return this.#keepRevisit(place, record.state);
    await releasePayload(own.payload);
    const profile = revisitProfileOf(own.head.get('warc-profile') ?? '');
    const isUnmodified = profile === 'server-not-modified' && own.http?.status === 304;
    const isDone = isUnmodified ? await this.#referToHolder(own, block) : await this.#expand(own, block);
    return isDone ? 'copied' : this.#keepRevisit(place, record.state);
  }

  /** Writes the revisit as a full record. False when its content is damaged. */
  async #expand(own: OpenedRecord, block: Block): Promise<boolean> {
    const holder = await this.#archive.access.openSound(block.holder, undefined);
    if (!('payload' in holder)) {
      this.#reportDamage(holder, 'nothing');
      return false;
    }
    const { record, block: content } = expandedRecord(own, holder, block, this.#archive.newId());
    await this.#writer.writeStream(record, content);
    this.report.expanded++;
    return true;
  }

  /**
   * Writes a "not modified" revisit that refers to the holder of the content. The holder is added unless the slice
   * contains it. False when the holder cannot be read.
   */
  async #referToHolder(own: OpenedRecord, block: Block): Promise<boolean> {
    const head = await this.#headAt(block.holder);
    if (!head) return false;
    if (!(await this.#isInSlice(head, block))) await this.#addExtra(block.holder);
    const message = own.http?.bytes ?? new Uint8Array(0);
    const referent = { ...referentOf(head), payloadDigest: head.get('warc-payload-digest') };
    const fields = repointed(own.head, referent, this.#archive.newId()).filter(
      (field) => field.name.toLowerCase() !== 'content-length',
    );
    fields.push({ name: 'Content-Length', value: String(message.length) });
    await this.#writer.writeParts([headBytes(fields, soundVersion(own.head)), message, RECORD_TRAILER]);
    this.report.revisits++;
    return true;
  }

  async #headAt(place: Place): Promise<RecordHead | undefined> {
    const { access } = this.#archive;
    try {
      const { head, payload } = await access.open(place);
      await releasePayload(payload);
      return head;
    } catch (error) {
      if (!isDamage(error) && !isBadSector(error)) throw error;
      this.#reportDamage(await access.absenceAt(place, [], undefined), 'nothing');
      return undefined;
    }
  }

  async #isInSlice(head: RecordHead, block: Block): Promise<boolean> {
    const { targetUri, time } = head;
    if (targetUri === undefined || time === undefined) return false;
    const [found] = await this.#archive.catalog.findCaptures([{ urlKey: urlKey(targetUri), time, at: block.holder }]);
    const [capture] = found!;
    return capture !== undefined && isMeant(capture, block.size, this.#selection);
  }

  async #addExtra(place: Place): Promise<void> {
    const id = `${place.segment}:${place.offset}`;
    if (this.#extras.has(id)) return;
    if (this.#extras.size < REMEMBERED_MAX) this.#extras.add(id);
    if ((await this.#copy(place, undefined)) === 'copied') this.report.extras++;
  }

  #reportDamage(damage: Damage | undefined, comes: OutputDamage['comes']): void {
    if (!damage) return;
    const id = `${damage.segment}:${damage.offset}`;
    if (this.#reported.has(id)) return;
    if (this.#reported.size < REMEMBERED_MAX) this.#reported.add(id);
    if (comes === 'nothing') this.report.leftOut++;
    else this.report.damaged++;
    this.#options.onDamage?.({ ...damage, comes });
  }

  /** Copies a record as it is stored. Only its compression may change. */
  async #copy(place: Place, state: RecordState | undefined): Promise<Copied> {
    const { segmentRegistry, access } = this.#archive;
    const segment = await segmentRegistry.get(place.segment);
    if (!this.#isGzip || !isWarcGzip(segment)) return this.#repack(place);
    let known = state;
    if (place.length <= COPY_BYTES) {
      const member = await access.memberIfGiven(place);
      if (!member) return this.#repack(place);
      known ??= this.#decoder.decode(member)?.isSound ? SOUND : await this.#stateIn(once(member), place);
      if (known.isWhole) await this.#writer.writeMember(member);
    } else {
      // Records of other writers are examined before they are written, since the output cannot be undone. The archive's
      // own records are whole unless they are damaged or odd.
      const isOurs = (await access.isOwn(segment)) && !this.#oddSegments.has(segment.number);
      if (!isOurs) known ??= await this.#stateIn(access.memberPieces(place), place);
      if (known?.isWhole) for await (const _ of this.#copying(place));
      known ??= { ...(await this.#stateIn(this.#copying(place), place)), isWhole: true };
    }
    if (!known.isWhole) return this.#repack(place);
    this.#reportDamage(damageOf(segment, known.damage, known.url), 'all');
    return 'copied';
  }

  /** Writes a large member to the file, piece by piece. */
  async *#copying(place: Place): AsyncGenerator<Uint8Array> {
    let left = place.length;
    for await (const bytes of this.#archive.access.memberPieces(place)) {
      await this.#writer.writeMember(bytes);
      left -= bytes.length;
      yield bytes;
    }
    assert(left === 0, `${(await this.#archive.segmentRegistry.get(place.segment)).name} is shorter than its records`);
  }

  /** The state of a record. Reads all bytes of its gzip member. */
  async #stateIn(bytes: AsyncIterable<Uint8Array>, place: Place): Promise<RecordState> {
    const { name } = await this.#archive.segmentRegistry.get(place.segment);
    const lost: Finding[] = [];
    let state: RecordState = { isWhole: false, url: undefined, damage: lost };
    const options = { name, offset: place.offset, onUnreadable: (finding: Finding) => lost.push(finding) };
    for await (const record of readRecords(bytes, options)) {
      for await (const _ of record.body());
      if (record.head.offset === place.offset) state = stateOf(record, place.length);
    }
    return state;
  }

  /** Compresses the readable part of a record anew. */
  async #repack(place: Place): Promise<Copied> {
    const { segmentRegistry, access, newId, scratch } = this.#archive;
    const segment = await segmentRegistry.get(place.segment);
    const lost: Finding[] = [];
    const onUnreadable = (finding: Finding) => lost.push(finding);
    const options = { onUnreadable, lookBackBytes: lookBackOf(place), skipsGaps: true };
    for await (const record of access.records(place, options)) {
      if (record.head.offset !== place.offset) break;
      // It is counted when the odd records outside of the slice are exported.
      if (record.head.form === 'odd' && !soundFields(record.head)) return 'missing';
      await using packed = await RepackedRecord.take(record, { newId, scratch });
      await this.#writer.writeStreamParts(packed.head, packed.block);
      const damage = damageOf(segment, record.damage, record.head.targetUri);
      this.#reportDamage(damage, record.tail?.isComplete ? 'all' : 'part');
      return 'copied';
    }
    this.#reportDamage(await access.absenceAt(place, lost, undefined), 'nothing');
    return 'missing';
  }
}
