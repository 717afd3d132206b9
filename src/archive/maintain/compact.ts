/**
 * Compaction: removes the bytes of deleted records from the segments without breaking the captures that stay (I5, I6).
 *
 * ```
 *   plan      finds the contents of deleted records that captures still have; if the holder of a content is deleted,
 *             chooses a capture that becomes the holder: the survivor
 *   promote   writes segments with chosen survivors anew, so that each survivor holds the content itself
 *   repoint   writes segments anew in which revisits point at a deleted record, so that these point at the holder that
 *             stays
 *   sweep     writes segments with deleted records anew without these records
 *   share     writes segments with surplus records anew, with revisits in place of these
 * ```
 * Each step is complete before the next begins. A deleted holder is removed only when another record durably holds
 * every content it held, and when nothing points at it any more. After an interruption, the next compaction finds the
 * remaining work in the tombstones. Segments are replaced one by one. Reading, storing and deleting continue between
 * replacements, so each replacement is planned again when it starts (see compaction-plan.ts).
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PinakesError } from '../../base/index.ts';
import type { Block, BlockKey, Capture, Place, Segment } from '../../catalog/index.ts';
import { refusalOf } from '../../ledger/index.ts';
import { sortLines } from '../../warc/index.ts';
import { damageError, isBadSector, isDamage } from '../damage.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { blockId, parseBlockId } from '../revisit/catalog-draft.ts';
import type { Referent } from '../revisit/referent.ts';
import { DeadOffsets } from '../segment/dead-offsets.ts';
import { deletedRecords } from '../segment/deleted-records.ts';
import { removeDoubles } from '../segment/segment-double.ts';
import { removeLeftovers } from './bucket-leftovers.ts';
import { HolderChoice, planRewrite, pointsAt, type RewritePlan, type RewriteWish } from './compaction-plan.ts';
import { bytesToRewrite, freeBytesOf, LackOfRoom } from './compaction-room.ts';
import { sweepCopies } from './copies.ts';
import { HolderReferents } from './holder-referents.ts';
import { type Rewritten, rewriteSegment } from './segment-rewrite.ts';
import { finishSwaps, swapIn } from './segment-swap.ts';
import { isRewritable, noneStaying, noteIfStaying, type StayingSegments } from './staying-segments.ts';
import { surplusRevisits } from './surplus-revisits.ts';
import { sealOpenSegments } from './volume-admin.ts';

const CONTENTS_AT_ONCE = 100_000;
const QUESTIONS_AT_ONCE = 2000;

export type CompactOptions = {
  /** How many contents form a group. Compaction walks the catalog once for each group. Set only by tests. */
  readonly contentsAtOnce?: number;
  readonly onProgress?: (progress: { segment: string; bytesBefore: number; bytesAfter: number }) => void;
  readonly signal?: AbortSignal;
};

export type CompactReport = StayingSegments & {
  segments: number;
  promoted: number;
  repointed: number;
  /** Small segments that were merged into others, in a cluster. */
  merged: number;
  bytesBefore: number;
  bytesAfter: number;
  /** Segments that stay as they are because they are damaged: writing them anew would lose the damaged bytes. */
  readonly damaged: { readonly segment: string; readonly why: string }[];
  /**
   * Segments that stay as they are because another volume has a file of the same name that differs or cannot be
   * removed.
   */
  readonly doubled: { readonly segment: string; readonly volume: string }[];
};

export async function compactArchive(archive: OpenedArchive, options: CompactOptions = {}): Promise<CompactReport> {
  const report: CompactReport = {
    segments: 0,
    promoted: 0,
    repointed: 0,
    merged: 0,
    bytesBefore: 0,
    bytesAfter: 0,
    ...noneStaying(),
    damaged: [],
    doubled: [],
  };
  await archive.exclusive(async () => {
    await finishSwaps(archive);
    await removeLeftovers(archive);
  });
  await sweepCopies(archive);
  const scratch = await mkdtemp(join(archive.scratch, 'compaction-'));
  try {
    // On a full disk, one round may free enough for the segments that it had no room for.
    for (let freedBytes = 0; ; ) {
      const lackOfRoom = new LackOfRoom();
      await new Compaction(archive, scratch, options, report, lackOfRoom).run();
      const lacking = lackOfRoom.error(report.segments);
      if (!lacking) return report;
      if (report.bytesBefore - report.bytesAfter <= freedBytes) throw lacking;
      freedBytes = report.bytesBefore - report.bytesAfter;
      Object.assign(report, noneStaying());
    }
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/**
 * Contents of deleted records that captures still have. Revisits of these contents may point at the deleted records.
 */
type ContentGroup = {
  readonly keys: ReadonlyMap<string, BlockKey>;
  /** The contents of the group that a deleted record holds. */
  readonly orphans: ReadonlySet<string>;
  /** Whether this is the only group. */
  readonly isAll: boolean;
};

class Compaction {
  readonly #archive: OpenedArchive;
  readonly #scratch: string;
  readonly #options: CompactOptions;
  readonly #report: CompactReport;
  readonly #lackOfRoom: LackOfRoom;
  /**
   * Current places of the records that were deleted before this compaction began, in segments that can be written anew.
   */
  readonly #dead: DeadOffsets;
  /**
   * Contents with revisits that could not be repointed because their segments stay as they are. Deleted records that
   * these revisits may name stay too.
   */
  readonly #stuck = new Map<string, BlockKey>();

  constructor(
    archive: OpenedArchive,
    scratch: string,
    options: CompactOptions,
    report: CompactReport,
    lackOfRoom: LackOfRoom,
  ) {
    this.#archive = archive;
    this.#scratch = scratch;
    this.#options = options;
    this.#report = report;
    this.#lackOfRoom = lackOfRoom;
    this.#dead = new DeadOffsets(scratch);
  }

  async run(): Promise<void> {
    for await (const group of this.#groups()) {
      await this.#promote(group);
      await this.#repoint(group);
    }
    await this.#sweep();
    await this.#share();
  }

  /** Notes the deleted records and yields their contents. A content may be yielded several times. */
  async *#findDead(): AsyncGenerator<string> {
    for (const segment of await this.#archive.segmentRegistry.all()) {
      if (segment.deadBytes === 0 || noteIfStaying(this.#archive, segment, this.#report)) continue;
      const deleted = await this.#unlessDamaged(segment, () => deletedRecords(this.#archive, segment));
      if (!deleted || deleted.length === 0) continue;
      await this.#dead.set(
        segment.number,
        deleted.map(({ offset }) => offset),
      );
      for (const { block } of deleted) if (block) yield blockId(block);
    }
  }

  /** The contents that captures still have, in groups that fit into memory (I9). */
  async *#groups(): AsyncGenerator<ContentGroup> {
    let ids: string[] = [];
    let isAll = true;
    for await (const id of sortLines(this.#findDead(), { directory: this.#scratch, unique: true })) {
      if (ids.length >= (this.#options.contentsAtOnce ?? CONTENTS_AT_ONCE)) {
        isAll = false;
        yield await this.#groupOf(ids, isAll);
        ids = [];
      }
      ids.push(id);
    }
    if (ids.length > 0) yield await this.#groupOf(ids, isAll);
  }

  async #groupOf(ids: readonly string[], isAll: boolean): Promise<ContentGroup> {
    const blocks = await this.#blocksOf(ids.map((id) => parseBlockId(id)!));
    const orphaned = await this.#withDeadHolders(blocks);
    const keys = new Map(blocks.map(({ key }) => [blockId(key), key]));
    return { keys, orphans: new Set(orphaned.map(({ key }) => blockId(key))), isAll };
  }

  /** The blocks of these keys that are in the catalog. */
  async #blocksOf(keys: readonly BlockKey[]): Promise<Block[]> {
    const blocks: Block[] = [];
    for (let at = 0; at < keys.length; at += QUESTIONS_AT_ONCE) {
      for (const block of await this.#archive.catalog.getBlocks(keys.slice(at, at + QUESTIONS_AT_ONCE)))
        if (block) blocks.push(block);
    }
    return blocks;
  }

  /** The blocks whose holders are among the deleted records. */
  async #withDeadHolders(blocks: readonly Block[]): Promise<Block[]> {
    const found: Block[] = [];
    const bySegment = Map.groupBy(blocks, ({ holder }) => holder.segment);
    for (const [number, held] of bySegment) {
      const dead = await this.#dead.get(number);
      found.push(...held.filter(({ holder }) => dead.has(holder.offset)));
    }
    return found;
  }

  /** The captures that have one of the contents, with their segments. */
  async *#capturesOf({ keys }: ContentGroup): AsyncGenerator<{ capture: Capture; id: string; segment: Segment }> {
    if (keys.size === 0) return;
    for await (const page of this.#archive.catalog.captures({})) {
      for (const capture of page) {
        const id = capture.block && blockId(capture.block);
        if (!id || !keys.has(id)) continue;
        const segment = await this.#archive.segmentRegistry.find(capture.place.segment);
        if (segment) yield { capture, id, segment };
      }
    }
  }

  async #promote(group: ContentGroup): Promise<void> {
    if (group.orphans.size === 0) return;
    const choice = new HolderChoice();
    for await (const { capture, id, segment } of this.#capturesOf(group))
      if (group.orphans.has(id)) choice.consider(id, capture, isRewritable(this.#archive, segment));
    for (const [id, capture] of choice.appointments()) await this.#appoint(id, capture);
    for (const [number, promote] of choice.promotions()) await this.#replace(number, { promote });
  }

  /** Makes a chosen full record the holder of its content, unless its capture has changed since the choice. */
  async #appoint(id: string, chosen: Capture): Promise<void> {
    await this.#archive.exclusive(async () => {
      const { urlKey, time, hash: ofHash } = chosen;
      const [found] = await this.#archive.catalog.findCaptures([{ urlKey, time, ofHash }]);
      const capture = found!.find(({ collection }) => collection === chosen.collection);
      if (!capture?.block || blockId(capture.block) !== id) return;
      const [block] = await this.#archive.catalog.getBlocks([capture.block]);
      if (!block) return;
      const { key, holder } = block;
      const group = { holderMoves: [{ key, from: holder, to: capture.place }], removeSurplus: [capture.place] };
      refusalOf(await this.#archive.commitGroup(group));
    });
  }

  async #repoint(group: ContentGroup): Promise<void> {
    let current = -1;
    let repoint = new Map<number, Referent>();
    const { access, segmentRegistry } = this.#archive;
    const referents = new HolderReferents(access, await this.#livingHolders(group), async (id, holder) => {
      this.#stuck.set(id, parseBlockId(id)!);
      if (!holder) return;
      this.#noteDamaged(
        await segmentRegistry.get(holder.segment),
        damageError(await access.absenceAt(holder, [], undefined)),
      );
    });
    const replace = async () => {
      // If there are other groups, revisits of their contents may still point at deleted records of this segment.
      const drop = group.isAll ? await this.#dead.get(current) : [];
      if (repoint.size > 0) await this.#replace(current, { repoint, drop, mayBePointedAt: group.keys });
      repoint = new Map();
    };
    // A content may have any number of revisits. Sorting them by place puts the revisits of a segment together.
    const lines = sortLines(this.#toRepoint(group, referents), { directory: this.#scratch });
    for await (const line of lines) {
      const [segment, offset, id] = line.split(' ') as [string, string, string];
      if (Number(segment) !== current) {
        await replace();
        current = Number(segment);
      }
      repoint.set(Number(offset), (await referents.of(id))!);
    }
    await replace();
  }

  /** A line for each revisit that does not point at the remaining holder: segment, offset, content. */
  async *#toRepoint(group: ContentGroup, referents: HolderReferents): AsyncGenerator<string> {
    for await (const { capture, id, segment } of this.#capturesOf(group)) {
      if (capture.kind !== 'revisit' || !isRewritable(this.#archive, segment)) continue;
      const referent = await referents.of(id);
      if (!referent || (!group.orphans.has(id) && (await this.#pointsAt(capture, referent)))) continue;
      const place = [capture.place.segment, capture.place.offset].map((number) => String(number).padStart(16, '0'));
      yield `${place.join(' ')} ${id}`;
    }
  }

  /** The holders of the contents, without holders that are deleted records. */
  async #livingHolders({ keys }: ContentGroup): Promise<Map<string, Place>> {
    const blocks = await this.#blocksOf([...keys.values()]);
    const orphaned = new Set(await this.#withDeadHolders(blocks));
    return new Map(blocks.filter((block) => !orphaned.has(block)).map(({ key, holder }) => [blockId(key), holder]));
  }

  async #pointsAt(capture: Capture, referent: Referent): Promise<boolean> {
    const [head] = await this.#archive.access.heads([capture.place]);
    return head !== undefined && pointsAt(head, referent);
  }

  async #sweep(): Promise<void> {
    const liveBytes = new Map<number, number>();
    for (const { number, bytes, deadBytes } of await this.#archive.segmentRegistry.all())
      liveBytes.set(number, bytes - deadBytes);
    const order = (number: number) => liveBytes.get(number) ?? 0;
    // Segments that need the least room are rewritten first. On a full disk, they free room for the others.
    for (const number of this.#dead.numbers().sort((a, b) => order(a) - order(b)))
      await this.#replace(number, { drop: await this.#dead.get(number), mayBePointedAt: this.#stuck });
  }

  /** Makes revisits of surplus records (I12). A segment with very many of them is written anew several times. */
  async #share(): Promise<void> {
    const { segmentRegistry, catalog } = this.#archive;
    for (let isMore = true; isMore; ) {
      isMore = false;
      for (const segment of await segmentRegistry.all()) {
        if ((await catalog.surplusRecords(segment.number)).length === 0) continue;
        if (noteIfStaying(this.#archive, segment, noneStaying())) continue;
        if (await this.#shareIn(segment)) isMore = true;
      }
    }
  }

  /** Whether the segment was written anew. */
  async #shareIn({ number }: Segment): Promise<boolean> {
    this.#options.signal?.throwIfAborted();
    const done = this.#report.segments;
    await this.#archive.exclusive(async () => {
      await sealOpenSegments(this.#archive, (segment) => segment.number === number);
      const segment = await this.#archive.segmentRegistry.find(number);
      if (segment?.state !== 'sealed') return;
      const surplus = await this.#unlessDamaged(segment, () => surplusRevisits(this.#archive, segment));
      const removeSurplus = surplus?.stay.map((offset) => ({ segment: number, offset })) ?? [];
      if (removeSurplus.length > 0) refusalOf(await this.#archive.commitGroup({ removeSurplus }));
      if (surplus && surplus.share.size > 0) await this.#replaceNow(number, { share: surplus.share });
    });
    return this.#report.segments > done;
  }

  async #replace(number: number, wish: RewriteWish): Promise<void> {
    this.#options.signal?.throwIfAborted();
    await this.#archive.exclusive(() => this.#replaceNow(number, wish));
  }

  /** Writes a segment anew as far as the wish is still possible, and swaps the replacement in. */
  async #replaceNow(number: number, wish: RewriteWish): Promise<void> {
    const { segmentRegistry } = this.#archive;
    await sealOpenSegments(this.#archive, (segment) => segment.number === number);
    const old = await segmentRegistry.find(number);
    // A snapshot may have been taken since the wish was made.
    if (!old || this.#archive.snapshots.keeperOf(old) !== undefined) return;
    // After an append or a commit that failed, the next opening finds out what the segment has, and seals it.
    if (old.state !== 'sealed') {
      if (!this.#report.waiting.includes(old.name)) this.#report.waiting.push(old.name);
      this.#noteStuck(wish.repoint ?? new Map());
      return;
    }
    const written = await this.#unlessDamaged(old, () => this.#writeReplacement(old, wish), wish.repoint);
    if (!written) return;
    const { plan, rewritten } = written;
    const fresh = await swapIn(this.#archive, rewritten.replacement);
    await this.#moveDead(number, fresh, rewritten.keptDead);
    this.#report.segments++;
    this.#report.promoted += plan.promote.size;
    this.#report.repointed += plan.repoint.size;
    this.#report.bytesBefore += old.bytes;
    this.#report.bytesAfter += fresh.bytes;
    this.#options.onProgress?.({ segment: old.name, bytesBefore: old.bytes, bytesAfter: fresh.bytes });
  }

  /**
   * The replacement of a segment. Undefined when nothing of the wish is left to do, or when another file of its name or
   * a lack of room prevents it.
   */
  async #writeReplacement(
    old: Segment,
    wish: RewriteWish,
  ): Promise<{ plan: RewritePlan; rewritten: Rewritten } | undefined> {
    const plan = await this.#planFor(old, wish);
    if (!plan || (await this.#isDoubled(old, plan)) || !(await this.#hasRoom(old, plan))) return undefined;
    try {
      return { plan, rewritten: await rewriteSegment(this.#archive, old, plan) };
    } catch (error) {
      if (!(error instanceof PinakesError && error.code === 'DISK_FULL')) throw error;
      await this.#hasRoom(old, plan, true);
      return undefined;
    }
  }

  async #planFor(segment: Segment, wish: RewriteWish): Promise<RewritePlan | undefined> {
    const deleted = await deletedRecords(this.#archive, segment);
    const keys = new Map(deleted.flatMap(({ block }) => (block ? [[blockId(block), block] as const] : [])));
    const blocks = await this.#blocksOf([...keys.values()]);
    const holders = blocks.map(({ holder }) => holder).filter((holder) => holder.segment === segment.number);
    const holding = new Set(holders.map(({ offset }) => offset));
    return planRewrite({ deleted: new Map(deleted.map((one) => [one.offset, one])), holding }, wish);
  }

  async #isDoubled(old: Segment, { repoint }: RewritePlan): Promise<boolean> {
    const volume = await removeDoubles(this.#archive, old);
    if (volume === undefined) return false;
    const { doubled } = this.#report;
    if (!doubled.some(({ segment }) => segment === old.name)) doubled.push({ segment: old.name, volume });
    this.#noteStuck(repoint);
    return true;
  }

  /**
   * Whether there is room to write a segment anew, if necessary after giving up the reserve. Otherwise the segment
   * stays.
   */
  async #hasRoom(old: Segment, plan: RewritePlan, isFull = false): Promise<boolean> {
    const { catalog, stores } = this.#archive;
    const store = stores.get(old.volume);
    const neededBytes = await bytesToRewrite(catalog, old, plan);
    if (!isFull && neededBytes <= (await freeBytesOf(store))) return true;
    const hasMore = await this.#archive.giveUpReserve();
    if (!isFull && hasMore && neededBytes <= (await freeBytesOf(store))) return true;
    this.#lackOfRoom.note(old, neededBytes, await freeBytesOf(store));
    this.#noteStuck(plan.repoint);
    return false;
  }

  /** Notes the contents of revisits that could not be repointed because their segment stays as it is. */
  #noteStuck(repoint: ReadonlyMap<number, Referent>): void {
    for (const { content } of repoint.values()) if (content) this.#stuck.set(content, parseBlockId(content)!);
  }

  /** Does some work on a segment. When damage prevents it, the segment stays as it is and the result is undefined. */
  async #unlessDamaged<T>(
    segment: Segment,
    work: () => Promise<T>,
    repoint: ReadonlyMap<number, Referent> = new Map(),
  ): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!isDamage(error) && !isBadSector(error)) throw error;
      this.#noteDamaged(segment, error);
      this.#noteStuck(repoint);
      return undefined;
    }
  }

  #noteDamaged({ name }: Segment, { message: why }: PinakesError): void {
    const { damaged } = this.#report;
    if (!damaged.some(({ segment }) => segment === name)) damaged.push({ segment: name, why });
  }

  /** Notes the new offsets of the deleted records that were kept in the replacement of their segment. */
  async #moveDead(number: number, replacement: Segment, keptDead: ReadonlyMap<number, number>): Promise<void> {
    const dead = await this.#dead.get(number);
    await this.#dead.delete(number);
    await this.#dead.set(
      replacement.number,
      [...dead].flatMap((offset) => keptDead.get(offset) ?? []),
    );
  }
}
