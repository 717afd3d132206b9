/**
 * Rebalancing: brings records to the volumes that the policy of the archive chooses for them.
 *
 * - `hash`: exactly the records move that are not where the hash of their content says (distribution.ts). Records of a
 *   segment that go to one volume are copied to a new segment there, with the records that go with them; their captures
 *   and the contents that they hold move in commits (ledger/replacement/relocation.ts); then the old segment is written
 *   anew without them. Contents that were stored a second time by `force-new` stay where they were put.
 * - `uniform`: whole sealed segments move from the volume with the least free space to the one with the most, while
 *   that makes the two more equal.
 *
 * What is not done is found again by the next rebalance, so an interruption at any moment only ends it early. Reading,
 * storing and deleting go on between segments. A segment that is damaged, kept by a snapshot or without room for its
 * records stays as it is and is reported.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PinakesError } from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import { type Replacement, refusalOf, type SegmentKind } from '../../ledger/index.ts';
import type { ReadingRecord } from '../../warc/index.ts';
import { sortLines } from '../../warc/index.ts';
import { damageError, damageOf, isBadSector, isDamage } from '../damage.ts';
import { freeBytesOf } from '../maintain/compaction-room.ts';
import { beginRelocation, discardReplacement, finishSwaps, relocateIn } from '../maintain/segment-swap.ts';
import { sealOpenSegments } from '../maintain/volume-admin.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { findConcurrent, isCaptureType } from '../read/concurrent-records.ts';
import { deletedRecords } from '../segment/deleted-records.ts';
import { sharedDigestOf, sharingVolumes, VolumeHash } from '../segment/distribution.ts';
import { kindOfSegment } from '../segment/segment-kind.ts';
import { DISPLACED_NOTE } from '../segment/volume-choice.ts';
import { moveOf, type RebalanceOptions, type RebalanceReport } from './rebalance-report.ts';
import { rebalanceBySpace } from './rebalance-space.ts';
import { rewriteWithout } from './rewrite-without.ts';

/** A target keeps this much free. */
const ROOM_BYTES_MIN = 64 * 1024 * 1024;

export async function rebalanceArchive(
  archive: OpenedArchive,
  options: RebalanceOptions = {},
): Promise<RebalanceReport> {
  const distribution = archive.connector.policies.distribution ?? 'uniform';
  const report: RebalanceReport = { distribution, moves: [], staying: [] };
  if (!options.dryRun) await archive.exclusive(() => finishSwaps(archive));
  if (distribution === 'uniform') await rebalanceBySpace(archive, report, options);
  else {
    const scratch = await mkdtemp(join(archive.scratch, 'rebalance-'));
    try {
      await new RebalanceByHash(archive, scratch, report, options).run();
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  }
  return report;
}

/** The records of one segment that move: by the target, the lengths of their members by their offsets. */
type Leaving = Map<string, Map<number, number>>;

class RebalanceByHash {
  readonly #archive: OpenedArchive;
  readonly #scratch: string;
  readonly #report: RebalanceReport;
  readonly #options: RebalanceOptions;
  #bytes = 0;
  #records = 0;

  constructor(archive: OpenedArchive, scratch: string, report: RebalanceReport, options: RebalanceOptions) {
    this.#archive = archive;
    this.#scratch = scratch;
    this.#report = report;
    this.#options = options;
  }

  async run(): Promise<void> {
    const { dryRun = false } = this.#options;
    let current = -1;
    let leaving: Leaving = new Map();
    const move = async () => {
      if (leaving.size > 0) await (dryRun ? this.#count(current, leaving) : this.#leave(current, leaving));
      leaving = new Map();
    };
    // Sorting by place puts the records of a segment together, in a memory that does not grow with the archive (I9).
    for await (const line of sortLines(this.#displaced(), { directory: this.#scratch })) {
      const [segment, offset, length, target] = line.split(' ') as [string, string, string, string];
      if (Number(segment) !== current) {
        await move();
        current = Number(segment);
      }
      const records = leaving.get(target) ?? new Map<number, number>();
      records.set(Number(offset), Number(length));
      leaving.set(target, records);
    }
    await move();
    if (!dryRun) await this.#clearNotes();
  }

  /** A line for each record that is not where its content belongs: segment, offset, length, volume. */
  async *#displaced(): AsyncGenerator<string> {
    const { volumes, catalog, segmentRegistry } = this.#archive;
    const sharing = sharingVolumes(volumes.settings());
    const taking = new Set(volumes.writable().map(({ name }) => name));
    const hash = new VolumeHash(sharing);
    for await (const page of catalog.captures({})) {
      this.#options.signal?.throwIfAborted();
      for (const capture of page) {
        if (capture.block && capture.block.overflow > 0) continue;
        const home = hash.homeOf(sharedDigestOf(capture), (name) => taking.has(name));
        const { segment, offset, length } = capture.place;
        const volume = (await segmentRegistry.find(segment))?.volume;
        if (home === undefined || volume === undefined || volume === home || !taking.has(volume)) continue;
        yield `${[segment, offset].map((number) => String(number).padStart(16, '0')).join(' ')} ${length} ${home}`;
      }
    }
  }

  async #count(number: number, leaving: Leaving): Promise<void> {
    const segment = await this.#archive.segmentRegistry.find(number);
    if (!segment || this.#isKept(segment)) return;
    for (const [target, records] of leaving) this.#note(segment.volume, target, records);
  }

  #note(from: string, to: string, records: ReadonlyMap<number, number>): void {
    const move = moveOf(this.#report, from, to);
    move.segments++;
    move.records += records.size;
    for (const length of records.values()) move.bytes += length;
  }

  async #leave(number: number, leaving: Leaving): Promise<void> {
    this.#options.signal?.throwIfAborted();
    const moved = await this.#archive.exclusive(() => this.#unlessDamaged(number, () => this.#move(number, leaving)));
    if (!moved) return;
    for (const records of moved.values()) {
      this.#records += records.size;
      for (const length of records.values()) this.#bytes += length;
    }
    const segment = (await this.#archive.segmentRegistry.find(number))?.name ?? '';
    this.#options.onProgress?.({ segment, records: this.#records, bytes: this.#bytes });
  }

  /** Moves records out of a segment, and writes the segment anew without them. Returns what was moved. */
  async #move(number: number, wanted: Leaving): Promise<Leaving | undefined> {
    const { segmentRegistry } = this.#archive;
    await sealOpenSegments(this.#archive, (segment) => segment.number === number);
    const old = await segmentRegistry.find(number);
    if (!old || this.#isKept(old)) return undefined;
    if (old.state !== 'sealed') return this.#stay(old, 'it could not be sealed; open the archive again');
    const leaving = await this.#stillThere(old, wanted);
    const moved: Leaving = new Map();
    const captures = new Set<number>();
    const others = new Set<number>();
    for (const [target, records] of leaving) {
      const copied = await this.#moveTo(old, target, records);
      if (!copied) continue;
      moved.set(target, records);
      this.#note(old.volume, target, records);
      for (const offset of copied) (records.has(offset) ? captures : others).add(offset);
    }
    await rewriteWithout(this.#archive, number, captures, others);
    return moved;
  }

  #isKept(segment: Segment): boolean {
    const snapshot = this.#archive.snapshots.keeperOf(segment);
    if (snapshot !== undefined) this.#stay(segment, `the snapshot ${snapshot} keeps it`);
    return snapshot !== undefined;
  }

  #stay({ name: segment }: Segment, why: string): undefined {
    this.#report.staying.push({ segment, why });
  }

  /** Without the records whose captures were deleted since. Their bytes go nowhere. */
  async #stillThere(old: Segment, wanted: Leaving): Promise<Leaving> {
    const dead = new Set((await deletedRecords(this.#archive, old)).map(({ offset }) => offset));
    const left: Leaving = new Map();
    for (const [target, records] of wanted) {
      const living = new Map([...records].filter(([offset]) => !dead.has(offset)));
      if (living.size > 0) left.set(target, living);
    }
    return left;
  }

  /** The offsets of what was moved: captures, and the records that go with them. */
  async #moveTo(
    old: Segment,
    target: string,
    captures: ReadonlyMap<number, number>,
  ): Promise<Iterable<number> | undefined> {
    const { access, collections, stores } = this.#archive;
    const records = await this.#withConcurrent(old, captures);
    let neededBytes = ROOM_BYTES_MIN;
    for (const length of records.values()) neededBytes += length;
    if ((await freeBytesOf(stores.get(target))) < neededBytes) {
      return this.#stay(old, `the volume ${target} has too little room for its records`);
    }
    const dictionary = await access.dictionaryOf(old.number);
    const collectionName = await collections.name(old.collection);
    const kind = { ...kindOfSegment(old, collectionName, dictionary), volume: target };
    const written = await this.#write(old, kind, records);
    const moved = written && (await relocateIn(this.#archive, written));
    if (written && !moved) this.#stay(old, 'it was changed meanwhile');
    return moved && records.keys();
  }

  /** The new segment. Undefined when the disk is full. */
  async #write(
    old: Segment,
    kind: SegmentKind,
    records: ReadonlyMap<number, number>,
  ): Promise<Replacement | undefined> {
    const writer = await beginRelocation(this.#archive, old, kind);
    try {
      for (const [offset, length] of [...records].sort(([a], [b]) => a - b)) await writer.copy(old, offset, length);
      return await writer.finish();
    } catch (error) {
      writer.abandon();
      await discardReplacement(this.#archive, writer.row).catch(() => {});
      if (!(error instanceof PinakesError && error.code === 'DISK_FULL')) throw error;
      return this.#stay(old, error.message);
    }
  }

  /** The records that move: those of the captures, and those that go with them. Fails where the segment is damaged. */
  async #withConcurrent(old: Segment, captures: ReadonlyMap<number, number>): Promise<Map<number, number>> {
    const records = new Map<number, number>();
    const rule = {
      isChosen: ({ type, offset }: ReadingRecord['head']) => isCaptureType(type) && captures.has(offset),
      whenDoubtful: false,
    };
    for await (const { offset, length } of findConcurrent(this.#sound(old, captures, records), rule))
      if (length !== undefined) records.set(offset, length);
    return records;
  }

  /** The records of a segment without damage, and the lengths of those that were chosen. */
  async *#sound(
    old: Segment,
    chosen: ReadonlyMap<number, number>,
    found: Map<number, number>,
  ): AsyncGenerator<ReadingRecord> {
    const { access } = this.#archive;
    const refuse = (findings: ReadingRecord['damage']) => {
      const damage = damageOf(old, findings, undefined);
      if (damage) throw damageError(damage);
    };
    const onUnreadable = (finding: ReadingRecord['damage'][number]) => refuse([finding]);
    for await (const record of access.recordsIn(old, 0, old.bytes, { onUnreadable })) {
      yield record;
      const { offset } = record.head;
      if (!chosen.has(offset)) continue;
      refuse(record.damage);
      const length = record.tail?.length;
      if (length === undefined)
        throw new PinakesError('RECORD_DAMAGED', { where: `${old.name}:${offset}`, detail: 'it shares its member' });
      found.set(offset, length);
    }
  }

  async #unlessDamaged<T>(number: number, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!isDamage(error) && !isBadSector(error)) throw error;
      const segment = await this.#archive.segmentRegistry.find(number);
      if (segment) this.#stay(segment, error.message);
      return undefined;
    }
  }

  /** When every record is where it belongs, as far as that is possible with all volumes there. */
  async #clearNotes(): Promise<void> {
    const { catalog, volumes } = this.#archive;
    const isWhole = volumes.failures().length === 0 && this.#report.staying.length === 0;
    const notes = isWhole ? Object.keys(await catalog.notes(DISPLACED_NOTE)) : [];
    if (notes.length > 0) refusalOf(await this.#archive.commitGroup({ removeNotes: notes }));
  }
}
