/**
 * Compaction: takes the bytes of what was deleted out of the segments, without breaking what stays (I5, I6).
 *
 * ```
 *   plan      which contents deleted records still hold, or held, that others refer to; for each that is still held so a survivor is chosen
 *   promote   segments with chosen survivors are written anew, the survivor now holding the content itself
 *   repoint   segments with revisits that point at a record that is leaving are written anew, pointing at the holder that stays
 *   sweep     segments with deleted records are written anew without them
 * ```
 * Each step is whole before the next begins: a deleted holder leaves only when every content it held stands
 * elsewhere, durably, and when nothing points at it any more. Interrupted anywhere, the next compaction finds from the
 * tombstones what is left to do. Each segment is exchanged on its own; reading, storing and deleting go on in between,
 * so every exchange looks again at what it was planned to do.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PinakesError } from '../../base/index.ts';
import type { Block, BlockKey, Capture, Place, Segment } from '../../catalog/index.ts';
import { sortLines } from '../../warc/index.ts';
import { damageError, ifGiven, isBadSector, isDamage } from '../damage.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { blockId, parseBlockId } from '../revisit/catalog-draft.ts';
import { type Referent, referentOf } from '../revisit/referent.ts';
import { DeadOffsets } from '../segment/dead-offsets.ts';
import { removeDoubles } from '../segment/segment-double.ts';
import type { Tombstone } from '../segment/tombstones.ts';
import { adoptSegment, finishAdoptions } from './adopt.ts';
import { bytesToRewrite, freeBytesOf, LackOfRoom } from './compaction-room.ts';
import { replacementIn } from './heal.ts';
import { discardRewritten, type RewritePlan, type Rewritten, rewriteSegment } from './segment-rewrite.ts';

const CONTENTS_AT_ONCE = 100_000;
const QUESTIONS_AT_ONCE = 2000;

export type CompactOptions = {
  /** Contents that are seen to together; of more, the catalog is walked through once for each so many. For tests. */
  readonly contentsAtOnce?: number;
  readonly onProgress?: (progress: { segment: string; bytesBefore: number; bytesAfter: number }) => void;
  readonly signal?: AbortSignal;
};

/** Segments that hold deleted records and are left as they are. */
export type StayingSegments = {
  /** They cannot be written to. */
  readonly readOnly: string[];
  /**
   * They wait for a volume that is missing, or for a segment that could not be read: their tombstones may lie in it, or
   * captures that refer to them. Or they wait for the list of snapshots, which is damaged: a snapshot may keep them.
   */
  readonly waiting: string[];
  /** A snapshot keeps them. */
  readonly kept: { readonly segment: string; readonly snapshot: string }[];
};

export type CompactReport = StayingSegments & {
  segments: number;
  promoted: number;
  repointed: number;
  bytesBefore: number;
  bytesAfter: number;
  /**
   * Segments that stay as they are because something in them is damaged: what cannot be read would be lost with them.
   */
  readonly damaged: { readonly segment: string; readonly why: string }[];
  /**
   * Segments that stay as they are because another volume has a file of their name that is not the same, or that cannot
   * be removed.
   */
  readonly doubled: { readonly segment: string; readonly volume: string }[];
};

export async function compactArchive(archive: OpenedArchive, options: CompactOptions = {}): Promise<CompactReport> {
  const report: CompactReport = {
    segments: 0,
    promoted: 0,
    repointed: 0,
    bytesBefore: 0,
    bytesAfter: 0,
    ...noneStaying(),
    damaged: [],
    doubled: [],
  };
  await archive.exclusive(() => finishExchanges(archive));
  const scratch = await mkdtemp(join(archive.scratch, 'compaction-'));
  try {
    // On a full disk, what one round frees may be enough for segments that it had no room for.
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

/** What a compaction would leave as it is, as far as can be told without reading segments. */
export function stayingSegments(archive: OpenedArchive): StayingSegments {
  const staying = noneStaying();
  for (const segment of archive.segmentRegistry.all())
    if (segment.deadBytes > 0) noteIfStaying(archive, segment, staying);
  return staying;
}

function noneStaying(): StayingSegments {
  return { readOnly: [], waiting: [], kept: [] };
}

/** Notes a segment with deleted records that cannot be written anew, and says whether it is one. */
function noteIfStaying(archive: OpenedArchive, segment: Segment, staying: StayingSegments): boolean {
  const snapshot = archive.snapshots.keeperOf(segment);
  const isLacking =
    archive.volumes.failures().length > 0 ||
    archive.segmentRegistry.unread.size > 0 ||
    archive.snapshots.damage !== undefined;
  if (isLacking) staying.waiting.push(segment.name);
  else if (snapshot !== undefined) staying.kept.push({ segment: segment.name, snapshot });
  else if (!isInWritableVolume(archive, segment)) staying.readOnly.push(segment.name);
  else return false;
  return true;
}

function isInWritableVolume(archive: OpenedArchive, segment: Segment): boolean {
  return archive.volumes.available().some((volume) => volume.name === segment.volume && volume.writable);
}

/** Exchanges that failed half-way are finished, or given up, before new ones begin. */
export async function finishExchanges(archive: OpenedArchive): Promise<void> {
  await finishAdoptions(archive);
  for (const volume of archive.volumes.writable()) {
    for (const { name } of await volume.list()) {
      if (!/\.warc(\.gz|\.zst)?$/.test(name) || archive.segmentRegistry.byName(name)) continue;
      // What the disk does not give now is settled another time.
      const replacement = await ifGiven(replacementIn(volume, name));
      if (replacement && archive.segmentRegistry.byName(replacement.name))
        await discardRewritten(archive, { volume: volume.name, name });
    }
  }
}

/** What is wanted of an exchange. */
type Wish = {
  readonly drop?: Iterable<number>;
  readonly promote?: ReadonlyMap<number, BlockKey>;
  readonly repoint?: ReadonlyMap<number, Referent>;
  /**
   * Contents whose deleted records other segments may still have revisits of that point at them: these stay for now.
   */
  readonly mayBePointedAt?: ReadonlyMap<string, BlockKey>;
};

/**
 * Contents that deleted records had and that are still referred to: revisits may point at these records, also at those
 * that lean on others.
 */
type ContentGroup = {
  readonly keys: ReadonlyMap<string, BlockKey>;
  /** Those that a deleted record holds. */
  readonly orphans: ReadonlySet<string>;
  /** Whether there are no others. */
  readonly isAll: boolean;
};

class Compaction {
  readonly #archive: OpenedArchive;
  readonly #scratch: string;
  readonly #options: CompactOptions;
  readonly #report: CompactReport;
  readonly #lackOfRoom: LackOfRoom;
  /**
   * Deleted records of segments that can be written to, as they were when this compaction began, by where they stand
   * now.
   */
  readonly #dead: DeadOffsets;
  /**
   * Contents with revisits in segments that stay as they are, which could not be pointed anew: deleted records that
   * these may name stay.
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
  }

  #isWritable(segment: Segment): boolean {
    return this.#archive.snapshots.keeperOf(segment) === undefined && isInWritableVolume(this.#archive, segment);
  }

  /** Notes the deleted records, and gives the contents they had, some of them several times. */
  async *#findDead(): AsyncGenerator<string> {
    for (const segment of this.#archive.segmentRegistry.all()) {
      if (segment.deadBytes === 0 || noteIfStaying(this.#archive, segment, this.#report)) continue;
      const tombstones = await this.#sparing(segment, () => this.#archive.tombstones.listApplied(segment));
      if (!tombstones || tombstones.length === 0) continue;
      await this.#dead.set(
        segment.number,
        tombstones.map(({ offset }) => offset),
      );
      for (const { block } of tombstones) if (block) yield blockId(block);
    }
  }

  /** The contents that are still referred to, so many at a time that they fit into memory (I9). */
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
    const dying = await this.#holdersThatGo(blocks);
    const keys = new Map(blocks.map(({ key }) => [blockId(key), key]));
    return { keys, orphans: new Set(dying.map(({ key }) => blockId(key))), isAll };
  }

  /** Those of the blocks that are held. */
  async #blocksOf(keys: readonly BlockKey[]): Promise<Block[]> {
    const blocks: Block[] = [];
    for (let at = 0; at < keys.length; at += QUESTIONS_AT_ONCE) {
      for (const block of await this.#archive.catalog.getBlocks(keys.slice(at, at + QUESTIONS_AT_ONCE)))
        if (block) blocks.push(block);
    }
    return blocks;
  }

  /** Those of the blocks whose holders are among the deleted records. */
  async #holdersThatGo(blocks: readonly Block[]): Promise<Block[]> {
    const found: Block[] = [];
    const bySegment = Map.groupBy(blocks, ({ holder }) => holder.segment);
    for (const [number, held] of bySegment) {
      const dead = await this.#dead.get(number);
      found.push(...held.filter(({ holder }) => dead.has(holder.offset)));
    }
    return found;
  }

  /** Captures that have one of the contents. */
  async *#leaning({ keys }: ContentGroup): AsyncGenerator<{ capture: Capture; id: string }> {
    if (keys.size === 0) return;
    for await (const page of this.#archive.catalog.captures({})) {
      for (const capture of page) {
        const id = capture.block && blockId(capture.block);
        if (id && keys.has(id)) yield { capture, id };
      }
    }
  }

  async #promote(group: ContentGroup): Promise<void> {
    if (group.orphans.size === 0) return;
    const chosen = new Map<string, Capture>();
    for await (const { capture, id } of this.#leaning(group)) {
      if (!group.orphans.has(id)) continue;
      const segment = this.#archive.segmentRegistry.find(capture.place.segment);
      if (!segment || (capture.kind === 'revisit' && !this.#isWritable(segment))) continue;
      const rival = chosen.get(id);
      if (!rival || rank(capture) < rank(rival) || (rank(capture) === rank(rival) && capture.time < rival.time))
        chosen.set(id, capture);
    }
    const bySegment = new Map<number, Map<number, BlockKey>>();
    for (const [id, capture] of chosen) {
      if (capture.kind !== 'revisit') {
        await this.#appoint(id, capture);
        continue;
      }
      const promotions = bySegment.get(capture.place.segment) ?? new Map<number, BlockKey>();
      promotions.set(capture.place.offset, capture.block!);
      bySegment.set(capture.place.segment, promotions);
    }
    for (const [number, promote] of bySegment) await this.#exchange(number, { promote });
  }

  /** A survivor that has the payload in its own record needs only to be named the holder. */
  async #appoint(id: string, wanted: Capture): Promise<void> {
    await this.#archive.exclusive(async () => {
      const { urlKey, time, hash: ofHash } = wanted;
      const [found] = await this.#archive.catalog.findCaptures([{ urlKey, time, ofHash }]);
      const capture = found!.find(({ collection }) => collection === wanted.collection);
      if (!capture?.block || blockId(capture.block) !== id) return;
      const draft = this.#archive.newDraft();
      await draft.load([capture.block.digest]);
      draft.moveHolder(capture.block, capture.place);
      await this.#archive.catalog.write(draft.batch());
    });
  }

  async #repoint(group: ContentGroup): Promise<void> {
    let current = -1;
    let wishes = new Map<number, Referent>();
    const onUnknown = (id: string, holder: Place | undefined) => {
      this.#stuck.set(id, parseBlockId(id)!);
      if (!holder) return;
      const { access, segmentRegistry } = this.#archive;
      this.#noteDamaged(segmentRegistry.get(holder.segment), damageError(access.absenceAt(holder, [], undefined)));
    };
    const referents = new Referents(this.#archive, await this.#staying(group), onUnknown);
    const exchange = async () => {
      // As long as other contents wait for their turn, revisits may point at any of the deleted records.
      const drop = group.isAll ? await this.#dead.get(current) : [];
      if (wishes.size > 0) await this.#exchange(current, { repoint: wishes, drop, mayBePointedAt: group.keys });
      wishes = new Map();
    };
    // A content may have any number of revisits: sorted by where they stand, they come segment by segment.
    const lines = sortLines(this.#toRepoint(group, referents), { directory: this.#scratch });
    for await (const line of lines) {
      const [segment, offset, id] = line.split(' ') as [string, string, string];
      if (Number(segment) !== current) {
        await exchange();
        current = Number(segment);
      }
      wishes.set(Number(offset), (await referents.of(id))!);
    }
    await exchange();
  }

  /** Revisits that do not point at the record that holds their content and stays: segment, offset, content. */
  async *#toRepoint(group: ContentGroup, referents: Referents): AsyncGenerator<string> {
    for await (const { capture, id } of this.#leaning(group)) {
      const segment = this.#archive.segmentRegistry.find(capture.place.segment);
      if (capture.kind !== 'revisit' || !segment || !this.#isWritable(segment)) continue;
      const referent = await referents.of(id);
      if (!referent || (!group.orphans.has(id) && (await this.#pointsAt(capture, referent)))) continue;
      const place = [capture.place.segment, capture.place.offset].map((number) => String(number).padStart(16, '0'));
      yield `${place.join(' ')} ${id}`;
    }
  }

  /** The records that hold the contents and are not among those that go. */
  async #staying({ keys }: ContentGroup): Promise<Map<string, Place>> {
    const blocks = await this.#blocksOf([...keys.values()]);
    const going = new Set(await this.#holdersThatGo(blocks));
    return new Map(blocks.filter((block) => !going.has(block)).map(({ key, holder }) => [blockId(key), holder]));
  }

  async #pointsAt(capture: Capture, referent: Referent): Promise<boolean> {
    const [head] = await this.#archive.access.heads([capture.place]);
    return (
      head !== undefined &&
      head.get('warc-refers-to-target-uri') === referent.refersToTargetUri &&
      head.get('warc-refers-to-date') === referent.refersToDate
    );
  }

  async #sweep(): Promise<void> {
    const staysBytes = (number: number) => {
      const { bytes, deadBytes } = this.#archive.segmentRegistry.find(number) ?? { bytes: 0, deadBytes: 0 };
      return bytes - deadBytes;
    };
    // On a full disk those that take the least room to be written anew make room for the others.
    for (const number of this.#dead.numbers().sort((a, b) => staysBytes(a) - staysBytes(b)))
      await this.#exchange(number, { drop: await this.#dead.get(number), mayBePointedAt: this.#stuck });
  }

  /** Writes a segment anew as wished, as far as the wish still holds, and puts the new one into its place. */
  async #exchange(number: number, wish: Wish): Promise<void> {
    this.#options.signal?.throwIfAborted();
    await this.#archive.exclusive(async () => {
      const { segmentRegistry, catalog } = this.#archive;
      const open = segmentRegistry.openSegments().find(({ segment }) => segment.number === number);
      if (open) {
        await segmentRegistry.retire(open);
        await catalog.write({ putSegments: [open.segment] });
      }
      const old = segmentRegistry.find(number);
      // A snapshot may have been taken since this was planned.
      if (old && this.#archive.snapshots.keeperOf(old) !== undefined) return;
      const rewriting = old && (await this.#sparing(old, () => this.#rewritten(old, wish), wish.repoint));
      if (!old || !rewriting) return;
      const { plan, rewritten } = rewriting;
      const { segment, keptDead } = rewritten;
      const adopted = await this.#adopt(segment, old);
      await this.#follow(number, adopted, keptDead);
      this.#report.segments++;
      this.#report.promoted += plan.promote.size;
      this.#report.repointed += plan.repoint.size;
      this.#report.bytesBefore += old.bytes;
      this.#report.bytesAfter += adopted.bytes;
      this.#options.onProgress?.({ segment: old.name, bytesBefore: old.bytes, bytesAfter: adopted.bytes });
    });
  }

  async #isDoubled(old: Segment, { repoint }: RewritePlan): Promise<boolean> {
    const volume = await removeDoubles(this.#archive, old);
    if (volume === undefined) return false;
    const { doubled } = this.#report;
    if (!doubled.some(({ segment }) => segment === old.name)) doubled.push({ segment: old.name, volume });
    this.#stay(repoint);
    return true;
  }

  /** A segment is not written anew. What its revisits were to be pointed away from stays. */
  #stay(repoint: ReadonlyMap<number, Referent>): void {
    for (const { content } of repoint.values()) if (content) this.#stuck.set(content, parseBlockId(content)!);
  }

  /** Does something with a segment, which stays as it is when damage forbids that. */
  async #sparing<T>(old: Segment, work: () => Promise<T>, repoint?: Wish['repoint']): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!isDamage(error) && !isBadSector(error)) throw error;
      this.#noteDamaged(old, error);
      this.#stay(repoint ?? new Map());
      return undefined;
    }
  }

  #noteDamaged({ name }: Segment, { message: why }: PinakesError): void {
    const { damaged } = this.#report;
    if (!damaged.some(({ segment }) => segment === name)) damaged.push({ segment: name, why });
  }

  /**
   * The segment written anew, as far as the wish still holds; undefined when nothing is left to do, or another of its
   * name or the lack of room forbids it.
   */
  async #rewritten(old: Segment, wish: Wish): Promise<{ plan: RewritePlan; rewritten: Rewritten } | undefined> {
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

  /**
   * Whether there is room to write a segment anew, be it that of the reserve. One for which there is none stays, for
   * now.
   */
  async #hasRoom(old: Segment, plan: RewritePlan, isFull = false): Promise<boolean> {
    const { catalog, volumes } = this.#archive;
    const volume = volumes.get(old.volume);
    const neededBytes = await bytesToRewrite(catalog, old, plan);
    if (!isFull && neededBytes <= (await freeBytesOf(volume))) return true;
    const hasMore = await this.#archive.giveUpReserve();
    if (!isFull && hasMore && neededBytes <= (await freeBytesOf(volume))) return true;
    this.#lackOfRoom.note(old, neededBytes, await freeBytesOf(volume));
    this.#stay(plan.repoint);
    return false;
  }

  async #adopt(segment: Segment, old: Segment): Promise<Segment> {
    try {
      return await adoptSegment(this.#archive, segment, old);
    } catch (error) {
      // Before the catalog has heard of it, it can be given up; after, the exchange is finished before the next change.
      if (!this.#archive.segmentRegistry.find(segment.number))
        await discardRewritten(this.#archive, segment).catch(() => {});
      throw error;
    }
  }

  /** What of a wish still holds; undefined when nothing is left to do. */
  async #planFor(segment: Segment, wish: Wish): Promise<RewritePlan | undefined> {
    const tombstones = new Map<number, Tombstone>();
    for (const tombstone of await this.#archive.tombstones.listApplied(segment))
      tombstones.set(tombstone.offset, tombstone);
    const held = await this.#heldIn(segment.number, tombstones.values());
    const drop = new Set<number>();
    for (const offset of wish.drop ?? []) {
      const tombstone = tombstones.get(offset);
      const isPointedAt = tombstone?.block && wish.mayBePointedAt?.has(blockId(tombstone.block));
      if (tombstone && !held.has(offset) && !isPointedAt) drop.add(offset);
    }
    const isLive = ([offset]: [number, unknown]) => !tombstones.has(offset);
    const promote = new Map([...(wish.promote ?? [])].filter(isLive));
    const repoint = new Map([...(wish.repoint ?? [])].filter(isLive));
    if (drop.size + promote.size + repoint.size === 0) return undefined;
    const keepDead = new Map([...tombstones].filter(([offset]) => !drop.has(offset)));
    return { drop, keepDead, promote, repoint };
  }

  /** Offsets in a segment of deleted records that hold contents at this moment. */
  async #heldIn(number: number, tombstones: Iterable<Tombstone>): Promise<Set<number>> {
    const keys = new Map<string, BlockKey>();
    for (const { block } of tombstones) if (block) keys.set(blockId(block), block);
    const blocks = await this.#blocksOf([...keys.values()]);
    return new Set(blocks.flatMap(({ holder }) => (holder.segment === number ? [holder.offset] : [])));
  }

  /** What was planned for a segment by number and offset goes on for the one that took its place. */
  async #follow(number: number, adopted: Segment, keptDead: ReadonlyMap<number, number>): Promise<void> {
    const dead = await this.#dead.get(number);
    await this.#dead.delete(number);
    await this.#dead.set(
      adopted.number,
      [...dead].flatMap((offset) => keptDead.get(offset) ?? []),
    );
  }
}

/** Hears of a content of which nobody can say where it stands, and of the record that holds it and cannot be read. */
type OnUnknown = (id: string, holder: Place | undefined) => void;

/** What revisits of contents have to say: the records that hold these, by their places. */
class Referents {
  readonly #archive: OpenedArchive;
  readonly #holders: ReadonlyMap<string, Place>;
  readonly #onUnknown: OnUnknown;
  readonly #known = new Map<string, Referent | undefined>();

  constructor(archive: OpenedArchive, holders: ReadonlyMap<string, Place>, onUnknown: OnUnknown) {
    this.#archive = archive;
    this.#holders = holders;
    this.#onUnknown = onUnknown;
  }

  /**
   * Undefined for a content whose holder cannot be read, or was to go and could not: none of its revisits took its
   * place.
   */
  async of(id: string): Promise<Referent | undefined> {
    if (this.#known.has(id)) return this.#known.get(id);
    const holder = this.#holders.get(id);
    const [head] = holder ? await this.#archive.access.heads([holder]) : [];
    if (!head) this.#onUnknown(id, holder);
    const payloadDigest = head?.get('warc-payload-digest');
    const referent = head && { ...referentOf(head), payloadDigest, content: id };
    this.#known.set(id, referent);
    return referent;
  }
}

/**
 * Full records before revisits, and of these the ones that carry a head of their own before those that only say "not
 * modified".
 */
function rank(capture: Capture): number {
  if (capture.kind !== 'revisit') return 0;
  return capture.status === 304 ? 2 : 1;
}
