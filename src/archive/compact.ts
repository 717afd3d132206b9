/**
 * Compaction: takes the bytes of what was deleted out of the segments, without breaking what stays (I5, I6).
 *
 * ```
 *   plan      which contents deleted records still hold, or held, that others refer to; for each that is still held so a survivor is chosen
 *   promote   segments with chosen survivors are written anew, the survivor now holding the content itself
 *   repoint   segments with revisits that point at a record that is leaving are written anew, pointing at the holder that stays
 *   sweep     segments with deleted records are written anew without them
 * ```
 * Each step is whole before the next begins: a deleted holder leaves only when every content it held stands elsewhere, durably, and when nothing
 * points at it any more. Interrupted anywhere, the next compaction finds from the tombstones what is left to do. Each segment is exchanged on its own;
 * reading, storing and deleting go on in between, so every exchange looks again at what it was planned to do.
 */
import type { Block, BlockKey, Capture, Segment } from '../catalog/index.ts';
import { adoptSegment, finishAdoptions } from './adopt.ts';
import type { ArchiveParts } from './archive-parts.ts';
import { blockId } from './catalog-draft.ts';
import { replacementIn } from './heal.ts';
import { discardRewritten, type Referent, type RewritePlan, rewriteSegment } from './segment-rewrite.ts';
import type { Tombstone } from './tombstones.ts';

export type CompactOptions = {
  readonly onProgress?: (progress: { segment: string; bytesBefore: number; bytesAfter: number }) => void;
  readonly signal?: AbortSignal;
};

export type CompactReport = {
  segments: number;
  promoted: number;
  repointed: number;
  bytesBefore: number;
  bytesAfter: number;
  /** Segments that hold deleted records and cannot be written to. */
  readonly readOnly: string[];
};

export async function compactArchive(archive: ArchiveParts, options: CompactOptions = {}): Promise<CompactReport> {
  const report: CompactReport = { segments: 0, promoted: 0, repointed: 0, bytesBefore: 0, bytesAfter: 0, readOnly: [] };
  await archive.exclusive(() => finishExchanges(archive));
  await new Compaction(archive, options, report).run();
  return report;
}

/** Exchanges that failed half-way are finished, or given up, before new ones begin. */
async function finishExchanges(archive: ArchiveParts): Promise<void> {
  await finishAdoptions(archive);
  for (const volume of archive.volumes.writable()) {
    for (const { name } of await volume.list()) {
      if (!/\.warc(\.gz|\.zst)?$/.test(name) || archive.shelf.byName(name)) continue;
      const replacement = await replacementIn(volume, name);
      if (replacement && archive.shelf.byName(replacement.name))
        await discardRewritten(archive, { volume: volume.name, name });
    }
  }
}

/** What is wanted of an exchange. */
type Wish = {
  readonly drop?: Iterable<number>;
  readonly promote?: ReadonlyMap<number, BlockKey>;
  readonly repoint?: ReadonlyMap<number, Referent>;
  /** Whether other segments may still have revisits that point at what is dropped: then only what nothing points at goes. */
  readonly isEarly?: boolean;
};

class Compaction {
  readonly #archive: ArchiveParts;
  readonly #options: CompactOptions;
  readonly #report: CompactReport;
  /** Deleted records of segments that can be written to, as they were when this compaction began, by where they stand now. */
  readonly #dead = new Map<number, Set<number>>();
  /** Contents that deleted records had and that are still referred to: revisits may point at these records, also at those that lean on others. */
  readonly #touched = new Map<string, BlockKey>();
  /** Those of them that a deleted record holds. */
  readonly #orphans = new Map<string, Block>();
  readonly #referents = new Map<string, Referent>();

  constructor(archive: ArchiveParts, options: CompactOptions, report: CompactReport) {
    this.#archive = archive;
    this.#options = options;
    this.#report = report;
  }

  async run(): Promise<void> {
    await this.#findDead();
    await this.#findOrphans();
    await this.#promote();
    await this.#repoint();
    await this.#sweep();
  }

  #isWritable(segment: Segment): boolean {
    return this.#archive.volumes.available().some((volume) => volume.name === segment.volume && volume.writable);
  }

  async #findDead(): Promise<void> {
    for (const segment of this.#archive.shelf.all()) {
      if (segment.deadBytes === 0) continue;
      const tombstones = await this.#archive.tombstones.listApplied(segment);
      if (tombstones.length === 0) continue;
      if (!this.#isWritable(segment)) {
        this.#report.readOnly.push(segment.name);
        continue;
      }
      this.#dead.set(segment.number, new Set(tombstones.map(({ offset }) => offset)));
      for (const { block } of tombstones) if (block) this.#touched.set(blockId(block), block);
    }
  }

  async #findOrphans(): Promise<void> {
    const touched = [...this.#touched];
    const blocks = await this.#archive.catalog.getBlocks(touched.map(([, key]) => key));
    for (const [index, block] of blocks.entries()) {
      const [id] = touched[index]!;
      if (!block) this.#touched.delete(id);
      else if (this.#dead.get(block.holder.segment)?.has(block.holder.offset)) this.#orphans.set(id, block);
    }
  }

  /** Captures that have one of the contents that deleted records had. */
  async *#leaning(): AsyncGenerator<{ capture: Capture; id: string }> {
    if (this.#touched.size === 0) return;
    for await (const page of this.#archive.catalog.captures({})) {
      for (const capture of page) {
        const id = capture.block && blockId(capture.block);
        if (id && this.#touched.has(id)) yield { capture, id };
      }
    }
  }

  async #promote(): Promise<void> {
    if (this.#orphans.size === 0) return;
    const chosen = new Map<string, Capture>();
    for await (const { capture, id } of this.#leaning()) {
      if (!this.#orphans.has(id)) continue;
      const segment = this.#archive.shelf.find(capture.place.segment);
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
      const [found] = await this.#archive.catalog.findCaptures([wanted]);
      const capture = found!.find(({ hash, collection }) => hash === wanted.hash && collection === wanted.collection);
      if (!capture?.block || blockId(capture.block) !== id) return;
      const draft = this.#archive.newDraft();
      await draft.load([capture.block.digest]);
      draft.moveHolder(capture.block, capture.place);
      await this.#archive.catalog.write(draft.batch());
    });
  }

  async #repoint(): Promise<void> {
    const repoints = new Map<number, Map<number, Referent>>();
    for await (const { capture, id } of this.#leaning()) {
      const segment = this.#archive.shelf.find(capture.place.segment);
      if (capture.kind !== 'revisit' || !segment || !this.#isWritable(segment)) continue;
      const referent = await this.#referentOf(id);
      if (!referent || (!this.#orphans.has(id) && (await this.#pointsAt(capture, referent)))) continue;
      const list = repoints.get(segment.number) ?? new Map<number, Referent>();
      list.set(capture.place.offset, referent);
      repoints.set(segment.number, list);
    }
    for (const [number, repoint] of repoints)
      await this.#exchange(number, { repoint, drop: this.#dead.get(number) ?? [], isEarly: true });
  }

  /** Whether revisits may point at a deleted record as long as not all of them have been pointed anew. */
  #mayBePointedAt({ block }: Tombstone): boolean {
    return block !== undefined && this.#touched.has(blockId(block));
  }

  /** What a revisit of this content has to say: the record that holds it, when that is to stay. */
  async #referentOf(id: string): Promise<Referent | undefined> {
    const known = this.#referents.get(id);
    if (known) return known;
    const [block] = await this.#archive.catalog.getBlocks([this.#touched.get(id)!]);
    if (!block || this.#dead.get(block.holder.segment)?.has(block.holder.offset)) return undefined;
    const { head } = await this.#archive.access.open(block.holder);
    const { recordId: refersTo, targetUri: refersToTargetUri, date: refersToDate } = head;
    const referent = { refersTo, refersToTargetUri, refersToDate, content: id };
    this.#referents.set(id, referent);
    return referent;
  }

  async #pointsAt(capture: Capture, referent: Referent): Promise<boolean> {
    const { head } = await this.#archive.access.open(capture.place);
    return (
      head.get('warc-refers-to-target-uri') === referent.refersToTargetUri &&
      head.get('warc-refers-to-date') === referent.refersToDate
    );
  }

  async #sweep(): Promise<void> {
    for (const [number, drop] of [...this.#dead]) await this.#exchange(number, { drop });
  }

  /** Writes a segment anew as wished, as far as the wish still holds, and puts the new one into its place. */
  async #exchange(number: number, wish: Wish): Promise<void> {
    this.#options.signal?.throwIfAborted();
    await this.#archive.exclusive(async () => {
      const { shelf, catalog } = this.#archive;
      const open = shelf.openSegments().find(({ segment }) => segment.number === number);
      if (open) {
        await shelf.retire(open);
        await catalog.write({ putSegments: [open.segment] });
      }
      const old = shelf.find(number);
      const plan = old && (await this.#planFor(old, wish));
      if (!old || !plan) return;
      const { segment, promoted, keptDead } = await rewriteSegment(this.#archive, old, plan);
      const adopted = await this.#adopt(segment, old);
      for (const [id, referent] of promoted) this.#referents.set(id, referent);
      await this.#follow(number, adopted, keptDead);
      this.#report.segments++;
      this.#report.promoted += plan.promote.size;
      this.#report.repointed += plan.repoint.size;
      this.#report.bytesBefore += old.bytes;
      this.#report.bytesAfter += adopted.bytes;
      this.#options.onProgress?.({ segment: old.name, bytesBefore: old.bytes, bytesAfter: adopted.bytes });
    });
  }

  async #adopt(segment: Segment, old: Segment): Promise<Segment> {
    try {
      return await adoptSegment(this.#archive, segment, old);
    } catch (error) {
      // Before the catalog has heard of it, it can be given up; after, the exchange is finished before the next change.
      if (!this.#archive.shelf.find(segment.number)) await discardRewritten(this.#archive, segment).catch(() => {});
      throw error;
    }
  }

  /** What of a wish still holds; undefined when nothing is left to do. */
  async #planFor(segment: Segment, wish: Wish): Promise<RewritePlan | undefined> {
    const tombstones = new Map<number, Tombstone>();
    for (const tombstone of await this.#archive.tombstones.listApplied(segment))
      tombstones.set(tombstone.offset, tombstone);
    const held = await this.#heldIn(segment.number);
    const drop = new Set<number>();
    for (const offset of wish.drop ?? []) {
      const tombstone = tombstones.get(offset);
      if (!tombstone || held.has(offset) || (wish.isEarly && this.#mayBePointedAt(tombstone))) continue;
      drop.add(offset);
    }
    const isLive = ([offset]: [number, unknown]) => !tombstones.has(offset);
    const promote = new Map([...(wish.promote ?? [])].filter(isLive));
    const repoint = new Map([...(wish.repoint ?? [])].filter(isLive));
    if (drop.size + promote.size + repoint.size === 0) return undefined;
    const keepDead = new Map([...tombstones].filter(([offset]) => !drop.has(offset)));
    return { drop, keepDead, promote, repoint };
  }

  /** Offsets in a segment of deleted records that hold contents at this moment. */
  async #heldIn(number: number): Promise<Set<number>> {
    const here = [...this.#orphans.values()].filter(({ holder }) => holder.segment === number);
    const blocks = await this.#archive.catalog.getBlocks(here.map(({ key }) => key));
    return new Set(blocks.flatMap((block) => (block?.holder.segment === number ? [block.holder.offset] : [])));
  }

  /** What was planned for a segment by number and offset goes on for the one that took its place. */
  async #follow(number: number, adopted: Segment, keptDead: ReadonlyMap<number, number>): Promise<void> {
    const dead = this.#dead.get(number);
    if (!dead) return;
    this.#dead.delete(number);
    const stayed = [...dead].flatMap((offset) => keptDead.get(offset) ?? []);
    if (stayed.length > 0) this.#dead.set(adopted.number, new Set(stayed));
    const orphans = [...this.#orphans].filter(([, block]) => block.holder.segment === number);
    const blocks = await this.#archive.catalog.getBlocks(orphans.map(([, block]) => block.key));
    for (const [index, [id]] of orphans.entries()) if (blocks[index]) this.#orphans.set(id, blocks[index]);
  }
}

/** Full records before revisits, and of these the ones that carry a head of their own before those that only say "not modified". */
function rank(capture: Capture): number {
  if (capture.kind !== 'revisit') return 0;
  return capture.status === 304 ? 2 : 1;
}
