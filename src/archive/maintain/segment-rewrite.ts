/**
 * Writes a segment anew: without deleted records, with contents in the revisits that become holders, and with new
 * referents in other revisits. Everything else is copied byte for byte and in the same order, whole runs at a time
 * (I4).
 *
 * The replacement names the replaced segment in its warcinfo. Sealing it decides which segment is used: after an
 * interruption before the sealing, the old segment stays in use. After a later interruption, the next opening finishes
 * the swap (see segment-swap.ts).
 */
import { basename } from 'node:path';
import { assert, EMPTY, type Finding, PinakesError, parseDigest } from '../../base/index.ts';
import type { BlockKey, Segment } from '../../catalog/index.ts';
import { CAPTURE_ID_FIELD, type OpenSegment, Runs, runsOf } from '../../ledger/index.ts';
import {
  BlockScanner,
  fieldsOf,
  headBytes,
  MemberEncoder,
  RECORD_TRAILER,
  type ReadingRecord,
  type RecordHead,
  readRecords,
  recordStream,
  soundVersion,
} from '../../warc/index.ts';
import { damageError, damageOf } from '../damage.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { isCaptureType, visitOf } from '../read/concurrent-records.ts';
import { fullRecord, isHttpType, messageBlock, promotedHttpHead } from '../revisit/promoted.ts';
import { repointed } from '../revisit/repointed.ts';
import { noteRuns } from '../segment/replaced-runs.ts';
import { isOwnBeginning, replacedFields } from '../segment/replacement.ts';
import { kindOfSegment } from '../segment/segment-kind.ts';
import { appendStreamed } from '../segment/streamed-append.ts';
import type { RewritePlan } from './compaction-plan.ts';
import { discardReplacement } from './segment-swap.ts';

/** A segment that was written anew and sealed, and that is not swapped in yet. */
export type Replacement = {
  readonly segment: Segment;
  /** Deleted records that stayed: their old offsets and their new ones. */
  readonly keptDead: ReadonlyMap<number, number>;
};

const COPY_BYTES = 4 * 1024 * 1024;

export function rewriteSegment(archive: OpenedArchive, segment: Segment, plan: RewritePlan): Promise<Replacement> {
  return new Rewrite(archive, segment, plan).run();
}

class Rewrite {
  readonly #archive: OpenedArchive;
  readonly #segment: Segment;
  readonly #plan: RewritePlan;
  readonly #keptDead = new Map<number, number>();
  readonly #runs = new Runs();
  /** The runs of the segment that is replaced. */
  #before = new Runs();
  /**
   * Ids and visits of deleted captures. A request or metadata record is removed with them when it names one of these
   * ids, when a deleted capture names its id, or when its visit has no remaining capture.
   */
  readonly #deadIds = new Set<string>();
  readonly #namedIds = new Set<string>();
  readonly #deadVisits = new Set<string>();
  /** Whether the archive itself began the segment. Undefined until the first record is read. */
  #isOurs: boolean | undefined;
  #runFrom = -1;
  #runTo = -1;
  #runRecords = 0;

  constructor(archive: OpenedArchive, segment: Segment, plan: RewritePlan) {
    this.#archive = archive;
    this.#segment = segment;
    this.#plan = plan;
  }

  async run(): Promise<Replacement> {
    await this.#findConcurrent();
    this.#before = await runsOf(this.#archive.catalog, this.#segment);
    const { segmentWriter, volumes, collections, access } = this.#archive;
    const dictionary = await access.dictionaryOf(this.#segment.number);
    const kind = kindOfSegment(this.#segment, await collections.name(this.#segment.collection), dictionary);
    const tombstoneBytes = await this.#archive.tombstones.bytes(this.#segment.name);
    const open = await segmentWriter.begin(kind, [], replacedFields({ name: this.#segment.name, tombstoneBytes }));
    const encoder = new MemberEncoder(kind);
    try {
      let isFirst = true;
      for await (const record of this.#records()) {
        const isOurs = isFirst && (await isOwnBeginning(record, this.#segment.name));
        isFirst = false;
        await this.#place(open, encoder, record, isOurs);
      }
      await this.#endRun(open);
      await segmentWriter.flush(open);
      const volume = volumes.get(kind.volume);
      await volume.sync([open.segment.name]);
      const row: Segment = { ...open.segment, bytes: 0, records: 0 };
      const dead = [...this.#keptDead].map(([from, offset]) => ({ ...this.#plan.keepDead.get(from)!, offset }));
      if (dead.length > 0) await this.#archive.tombstones.add(row, dead);
      const fresh = await noteRuns(this.#archive, row, this.#runs);
      await volume.seal(open.segment.name);
      return { segment: fresh, keptDead: this.#keptDead };
    } catch (error) {
      await discardReplacement(this.#archive, open.segment).catch(() => {});
      throw error;
    } finally {
      encoder.close();
    }
  }

  async *#records(): AsyncGenerator<ReadingRecord> {
    const { volumes, access } = this.#archive;
    const dictionary = await access.dictionaryOf(this.#segment.number);
    const stream = volumes.get(this.#segment.volume).stream(this.#segment.name, 0, this.#segment.bytes);
    const records = readRecords(stream, {
      name: this.#segment.name,
      inputBytes: this.#segment.bytes,
      dictionary: dictionary && Buffer.from(dictionary),
      onUnreadable: (finding) => this.#refuse(finding),
      checkDigests: access.checkOf(this.#segment),
    });
    let found = 0;
    for await (const record of records) {
      this.#isOurs ??= record.head.get('warc-filename') === basename(this.#segment.name);
      if (!this.#plan.drop.has(record.head.offset)) found++;
      yield record;
    }
    // Zeros in place of a record look like padding, so only the count shows that records are missing.
    const { volume, name, records: all } = this.#segment;
    const expected = all - this.#plan.drop.size;
    const message = `${expected - found} of its ${all} records cannot be found`;
    if (found < expected)
      throw damageError({ volume, segment: name, offset: 0, code: 'capture-without-record', message, url: undefined });
  }

  /**
   * Unreadable bytes would be lost with the old segment, so the old segment has to stay. Garbage between records is
   * accepted only in files of other writers, where it may never have been a record.
   */
  #refuse(finding: Finding): void {
    const isForeign = finding.code === 'garbage-skipped' && this.#isOurs !== true;
    if (!isForeign && !this.#plan.drop.has(finding.offset)) this.#refuseDamaged([finding]);
  }

  #refuseDamaged(findings: readonly Finding[]): void {
    const damage = damageOf(this.#segment, findings, undefined);
    if (damage) throw damageError(damage);
  }

  /** Finds the requests and metadata records that go with the deleted captures. */
  async #findConcurrent(): Promise<void> {
    if (this.#plan.drop.size === 0) return;
    const [liveIds, liveNamed, liveVisits] = [new Set<string>(), new Set<string>(), new Set<string>()];
    for await (const { head } of this.#records()) {
      if (!isCaptureType(head.type)) continue;
      const isDead = this.#plan.drop.has(head.offset);
      const ids = isDead ? this.#deadIds : liveIds;
      for (const id of [head.recordId, head.get(CAPTURE_ID_FIELD)]) if (id) ids.add(id);
      for (const id of head.getAll('warc-concurrent-to')) (isDead ? this.#namedIds : liveNamed).add(id);
      (isDead ? this.#deadVisits : liveVisits).add(visitOf(head));
    }
    // An id or visit that a remaining capture has or names stays.
    for (const id of liveIds) this.#deadIds.delete(id);
    for (const id of liveNamed) this.#namedIds.delete(id);
    for (const visit of liveVisits) this.#deadVisits.delete(visit);
  }

  #isConcurrent(head: RecordHead): boolean {
    if (isCaptureType(head.type) || head.type === 'warcinfo') return false;
    if (head.recordId && this.#namedIds.has(head.recordId)) return true;
    const named = [...head.getAll('warc-concurrent-to'), ...head.getAll('warc-refers-to')];
    if (named.some((id) => this.#deadIds.has(id))) return true;
    return head.targetUri !== undefined && this.#deadVisits.has(visitOf(head));
  }

  async #place(
    open: OpenSegment,
    encoder: MemberEncoder,
    record: ReadingRecord,
    isOwnWarcinfo: boolean,
  ): Promise<void> {
    const { head } = record;
    const { offset } = head;
    const promotion = this.#plan.promote.get(offset);
    const referent = this.#plan.repoint.get(offset);
    if (isOwnWarcinfo || this.#plan.drop.has(offset) || this.#isConcurrent(head)) {
      await drain(record);
      await this.#endRun(open);
      return;
    }
    if (promotion) {
      await this.#endRun(open);
      this.#runs.add(this.#before, { from: offset, offset: open.position, bytes: 1, isAnew: true });
      await this.#promote(open, encoder, record, promotion);
      return;
    }
    if (referent) {
      await this.#endRun(open);
      this.#runs.add(this.#before, { from: offset, offset: open.position, bytes: 1, isAnew: true });
      const block = await record.bytes(16 * 1024 * 1024);
      this.#refuseDamaged(record.damage);
      const parts = [
        headBytes(repointed(head, referent, this.#archive.newId()), soundVersion(head)),
        block,
        RECORD_TRAILER,
      ];
      this.#archive.segmentWriter.append(open, encoder.encode(parts));
      return;
    }
    await drain(record);
    const length = record.tail?.length;
    if (length === undefined) {
      this.#refuseDamaged(record.damage);
      const detail = 'it shares a compressed member, or is of another compression than the file';
      throw new PinakesError('RECORD_DAMAGED', { where: `${this.#segment.name}:${offset}`, detail });
    }
    if (this.#runTo !== offset) await this.#endRun(open);
    if (this.#runFrom < 0) this.#runFrom = offset;
    const at = open.position + offset - this.#runFrom;
    if (this.#plan.keepDead.has(offset)) this.#keptDead.set(offset, at);
    this.#runs.add(this.#before, { from: offset, offset: at, bytes: length, isAnew: false });
    this.#runTo = offset + length;
    this.#runRecords++;
  }

  async #endRun(open: OpenSegment): Promise<void> {
    if (this.#runFrom < 0) return;
    const { segmentWriter, volumes } = this.#archive;
    const volume = volumes.get(this.#segment.volume);
    for (let at = this.#runFrom; at < this.#runTo; ) {
      const length = Math.min(COPY_BYTES, this.#runTo - at);
      const [bytes] = await volume.read([{ name: this.#segment.name, offset: at, length }]);
      assert(bytes!.length === length, `${this.#segment.name} is shorter than its records`);
      segmentWriter.append(open, bytes!, 0);
      if (segmentWriter.isFull(open)) await segmentWriter.flush(open);
      at += length;
    }
    open.records += this.#runRecords;
    this.#runFrom = -1;
    this.#runTo = -1;
    this.#runRecords = 0;
  }

  /** Writes a revisit anew as a full record: its own head with the payload of the former holder. */
  async #promote(open: OpenSegment, encoder: MemberEncoder, record: ReadingRecord, key: BlockKey): Promise<void> {
    const { catalog, access, segmentWriter, newId } = this.#archive;
    const scanner = new BlockScanner(record.head, {});
    for await (const piece of record.body()) scanner.push(piece);
    this.#refuseDamaged(record.damage);
    const { http } = scanner.end();
    const [block] = await catalog.getBlocks([key]);
    assert(block, 'a content that is promoted is held');
    const holder = await access.openSound(block.holder, record.head.targetUri);
    if (!('payload' in holder)) throw damageError(holder);
    const { head } = record;
    const isHttp = http !== undefined || (holder.http !== undefined && isHttpType(head.contentType));
    const words = head.get('warc-payload-digest') ?? '';
    const message = isHttp ? promotedHttpHead(http, holder.http) : EMPTY;
    const full = fullRecord(head, holder.head, key, newId(), isHttp);
    // The digest as the revisit wrote it. Revisits with the same text then find this record, also after a rebuild and
    // with other tools.
    const promoted = parseDigest(words) ? { ...full, payloadDigest: words } : full;
    const content = messageBlock(message, holder.payload, block.size);
    const start = headBytes(fieldsOf(promoted, content.length));
    const { length } = await appendStreamed(segmentWriter, open, encoder, recordStream(start, content));
    assert(length > 0, 'a promoted record takes some bytes');
  }
}

async function drain(record: ReadingRecord): Promise<void> {
  for await (const _ of record.body());
}
