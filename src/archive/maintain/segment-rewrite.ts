/**
 * Writes a segment anew: without deleted records, with contents in the revisits that become holders, and with new
 * referents in other revisits. Everything else is copied byte for byte and in the same order, whole runs at a time
 * (I4).
 *
 * The replacement counts for nothing before its swap begins (see segment-swap.ts).
 */
import { assert, EMPTY, type Finding, PinakesError, parseDigest } from '../../base/index.ts';
import type { BlockKey, Segment } from '../../catalog/index.ts';
import { CAPTURE_ID_FIELD, isRunsRecord, type Replacement, type ReplacementWriter } from '../../ledger/index.ts';
import {
  BlockScanner,
  fieldsOf,
  headBytes,
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
import { isOwnBeginning, namesFile, tombstonesField } from '../segment/replacement.ts';
import { kindOfSegment } from '../segment/segment-kind.ts';
import type { RewritePlan } from './compaction-plan.ts';
import { beginReplacement, discardReplacement } from './segment-swap.ts';

export type Rewritten = {
  readonly replacement: Replacement;
  /** Deleted records that stayed: their old offsets and their new ones. */
  readonly keptDead: ReadonlyMap<number, number>;
};

/** `dropsAlone`: records that go with the removed ones stay. Otherwise they are removed with them. */
type PlannedRewrite = RewritePlan & { readonly dropsAlone?: boolean };

export function rewriteSegment(archive: OpenedArchive, segment: Segment, plan: PlannedRewrite): Promise<Rewritten> {
  return new Rewrite(archive, segment, plan).run();
}

class Rewrite {
  readonly #archive: OpenedArchive;
  readonly #segment: Segment;
  readonly #plan: PlannedRewrite;
  readonly #keptDead = new Map<number, number>();
  /**
   * Ids and visits of deleted captures. A request or metadata record is removed with them when it names one of these
   * ids, when a deleted capture names its id, or when its visit has no remaining capture.
   */
  readonly #deadIds = new Set<string>();
  readonly #namedIds = new Set<string>();
  readonly #deadVisits = new Set<string>();
  /** Whether the archive itself began the segment. Undefined until the first record is read. */
  #isOurs: boolean | undefined;

  constructor(archive: OpenedArchive, segment: Segment, plan: PlannedRewrite) {
    this.#archive = archive;
    this.#segment = segment;
    this.#plan = plan;
  }

  async run(): Promise<Rewritten> {
    await this.#findConcurrent();
    const { collections, access, tombstones } = this.#archive;
    const { name, number, collection } = this.#segment;
    const dictionary = await access.dictionaryOf(number);
    const kind = kindOfSegment(this.#segment, await collections.name(collection), dictionary);
    const noted = tombstonesField(await tombstones.bytes(name));
    const writer = await beginReplacement(this.#archive, this.#segment, kind, [noted]);
    try {
      let isFirst = true;
      for await (const record of this.#records()) {
        const isOurs = isFirst && (await isOwnBeginning(record, name));
        isFirst = false;
        await this.#place(writer, record, isOurs || isRunsRecord(record.head));
      }
      await this.#keepTombstones(writer.row);
      return { replacement: await writer.finish(), keptDead: this.#keptDead };
    } catch (error) {
      writer.abandon();
      await discardReplacement(this.#archive, writer.row).catch(() => {});
      throw error;
    }
  }

  /** Deleted records that an older program noted beside the segment stay deleted if the catalog is made again. */
  async #keepTombstones(row: Segment): Promise<void> {
    if (this.#keptDead.size === 0) return;
    const noted = await this.#archive.tombstones.list(this.#segment);
    const kept = noted.flatMap(({ offset: from, block }) => {
      const offset = this.#keptDead.get(from);
      return offset === undefined ? [] : [{ offset, block }];
    });
    if (kept.length > 0) await this.#archive.tombstones.add(row, kept);
  }

  async *#records(): AsyncGenerator<ReadingRecord> {
    const { stores, access } = this.#archive;
    const dictionary = await access.dictionaryOf(this.#segment.number);
    const stream = stores.get(this.#segment.volume).stream(this.#segment, 0, this.#segment.bytes);
    const records = readRecords(stream, {
      name: this.#segment.name,
      inputBytes: this.#segment.bytes,
      dictionary: dictionary && Buffer.from(dictionary),
      onUnreadable: (finding) => this.#refuse(finding),
      checkDigests: access.checkOf(this.#segment),
    });
    let found = 0;
    for await (const record of records) {
      this.#isOurs ??= namesFile(record.head, this.#segment.name);
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
    if (this.#plan.drop.size === 0 || this.#plan.dropsAlone) return;
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

  /** `isOwn`: the archive wrote the record about the segment itself. The replacement has its own. */
  async #place(writer: ReplacementWriter, record: ReadingRecord, isOwn: boolean): Promise<void> {
    const { head } = record;
    const { offset } = head;
    const promotion = this.#plan.promote.get(offset);
    const referent = this.#plan.repoint.get(offset);
    const revisit = this.#plan.share.get(offset);
    if (isOwn || this.#plan.drop.has(offset) || this.#isConcurrent(head)) {
      await drain(record);
      return;
    }
    if (revisit) {
      await drain(record);
      this.#refuseDamaged(record.damage);
      await writer.put(this.#segment, offset, writer.encode(revisit), true);
      return;
    }
    if (promotion) {
      await this.#promote(writer, record, promotion);
      return;
    }
    if (referent) {
      const block = await record.bytes(16 * 1024 * 1024);
      this.#refuseDamaged(record.damage);
      const fields = repointed(head, referent, this.#archive.newId());
      const member = writer.encode([headBytes(fields, soundVersion(head)), block, RECORD_TRAILER]);
      await writer.put(this.#segment, offset, member);
      return;
    }
    await drain(record);
    const length = record.tail?.length;
    if (length === undefined) {
      this.#refuseDamaged(record.damage);
      const detail = 'it shares a compressed member, or is of another compression than the file';
      throw new PinakesError('RECORD_DAMAGED', { where: `${this.#segment.name}:${offset}`, detail });
    }
    const to = await writer.copy(this.#segment, offset, length);
    if (this.#plan.keepDead.has(offset)) this.#keptDead.set(offset, to);
  }

  /** Writes a revisit anew as a full record: its own head with the payload of the former holder. */
  async #promote(writer: ReplacementWriter, record: ReadingRecord, key: BlockKey): Promise<void> {
    const { catalog, access, newId } = this.#archive;
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
    const { pieces, length } = recordStream(headBytes(fieldsOf(promoted, content.length)), content);
    await writer.put(this.#segment, head.offset, writer.encodeStream(pieces, length));
  }
}

async function drain(record: ReadingRecord): Promise<void> {
  for await (const _ of record.body());
}
