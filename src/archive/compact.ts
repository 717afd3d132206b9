/**
 * Compaction: takes the bytes of what was deleted out of the segments, without breaking what stays (I5, I6).
 *
 * ```
 *   plan      which deleted records still hold contents that others refer to; for each of these contents a survivor is chosen
 *   promote   segments with chosen survivors are written anew, the survivor now holding the content itself
 *   sweep     segments with deleted records, or with revisits that point at a holder that is leaving, are written anew
 * ```
 * Promotion comes first and whole: a deleted holder leaves only when every content it held stands elsewhere, durably. Each segment is exchanged on
 * its own; reading and storing go on in between.
 */
import type { Block, Capture, Segment } from '../catalog/index.ts';
import { adoptSegment } from './adopt.ts';
import type { ArchiveParts } from './archive-parts.ts';
import { blockId } from './catalog-draft.ts';
import { type Referent, type RewritePlan, rewriteSegment } from './segment-rewrite.ts';

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
  await archive.exclusive(() => sealWithDead(archive));
  const compaction = new Compaction(archive, options, report);
  await compaction.run();
  return report;
}

/** What is to be compacted must not grow meanwhile. */
async function sealWithDead(archive: ArchiveParts): Promise<void> {
  for (const open of archive.shelf.openSegments()) {
    await archive.shelf.retire(open);
    await archive.catalog.write({ putSegments: [open.segment] });
  }
}

class Compaction {
  readonly #archive: ArchiveParts;
  readonly #options: CompactOptions;
  readonly #report: CompactReport;
  readonly #dead = new Map<number, Set<number>>();
  /** Contents whose holder was deleted. */
  readonly #orphans = new Map<string, Block>();
  /** Deleted holders that must stay: only read-only segments lean on them. */
  readonly #bound = new Set<string>();
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
    await this.#sweep();
  }

  #isWritable(segment: Segment): boolean {
    return this.#archive.volumes.available().some((volume) => volume.name === segment.volume && volume.writable);
  }

  async #findDead(): Promise<void> {
    for (const segment of this.#archive.shelf.all()) {
      if (segment.deadBytes === 0) continue;
      const offsets = await this.#archive.tombstones.read(segment);
      if (offsets.size === 0) continue;
      if (this.#isWritable(segment)) this.#dead.set(segment.number, offsets);
      else this.#report.readOnly.push(segment.name);
    }
  }

  async #findOrphans(): Promise<void> {
    if (this.#dead.size === 0) return;
    for await (const page of this.#archive.catalog.blocks()) {
      for (const block of page) {
        if (this.#dead.get(block.holder.segment)?.has(block.holder.offset))
          this.#orphans.set(blockId(block.key), block);
      }
    }
  }

  /** Captures that have one of the orphaned contents. */
  async *#leaning(): AsyncGenerator<{ capture: Capture; id: string }> {
    if (this.#orphans.size === 0) return;
    for await (const page of this.#archive.catalog.captures({})) {
      for (const capture of page) {
        const id = capture.block && blockId(capture.block);
        if (id && this.#orphans.has(id)) yield { capture, id };
      }
    }
  }

  async #promote(): Promise<void> {
    const chosen = new Map<string, Capture>();
    for await (const { capture, id } of this.#leaning()) {
      const segment = this.#archive.shelf.find(capture.place.segment);
      if (!segment || (capture.kind === 'revisit' && !this.#isWritable(segment))) continue;
      const rival = chosen.get(id);
      if (!rival || rank(capture) < rank(rival) || (rank(capture) === rank(rival) && capture.time < rival.time))
        chosen.set(id, capture);
    }
    const bySegment = new Map<number, Map<number, Capture>>();
    for (const id of this.#orphans.keys()) {
      const capture = chosen.get(id);
      if (!capture) {
        this.#bound.add(id);
        continue;
      }
      if (capture.kind !== 'revisit') {
        await this.#appoint(id, capture);
        continue;
      }
      const promotions = bySegment.get(capture.place.segment) ?? new Map<number, Capture>();
      promotions.set(capture.place.offset, capture);
      bySegment.set(capture.place.segment, promotions);
    }
    for (const [number, promotions] of bySegment) {
      const promote = new Map([...promotions].map(([offset, capture]) => [offset, capture.block!]));
      const keepDead = this.#dead.get(number) ?? new Set<number>();
      await this.#exchange(number, { drop: new Set(), keepDead, promote, repoint: new Map() });
      this.#report.promoted += promotions.size;
    }
  }

  /** A survivor that has the payload in its own record needs only to be named the holder. */
  async #appoint(id: string, capture: Capture): Promise<void> {
    const { head } = await this.#archive.access.open(capture.place);
    await this.#archive.exclusive(async () => {
      const draft = this.#archive.newDraft();
      await draft.load([capture.block!.digest]);
      draft.moveHolder(capture.block!, capture.place);
      await this.#archive.catalog.write(draft.batch());
    });
    this.#referents.set(id, { refersTo: head.recordId, refersToTargetUri: head.targetUri, refersToDate: head.date });
  }

  async #sweep(): Promise<void> {
    const repoints = new Map<number, Map<number, Referent>>();
    for await (const { capture, id } of this.#leaning()) {
      const referent = this.#referents.get(id);
      if (!referent || capture.kind !== 'revisit') continue;
      const segment = this.#archive.shelf.find(capture.place.segment);
      if (!segment || !this.#isWritable(segment)) continue;
      const list = repoints.get(segment.number) ?? new Map<number, Referent>();
      list.set(capture.place.offset, referent);
      repoints.set(segment.number, list);
      this.#report.repointed++;
    }
    // Revisits are pointed anew before the holders they pointed at leave: first the segments that only have revisits, then the others.
    const numbers = [...new Set([...repoints.keys(), ...this.#dead.keys()])].sort((a, b) => a - b);
    const isDead = (number: number) => (this.#dead.get(number)?.size ?? 0) > 0;
    for (const number of [...numbers.filter((number) => !isDead(number)), ...numbers.filter(isDead)]) {
      const dead = this.#dead.get(number) ?? new Set<number>();
      const keepDead = this.#boundIn(number);
      const drop = new Set([...dead].filter((offset) => !keepDead.has(offset)));
      const repoint = repoints.get(number) ?? new Map<number, Referent>();
      if (drop.size === 0 && repoint.size === 0) continue;
      await this.#exchange(number, { drop, keepDead, promote: new Map(), repoint });
    }
  }

  #boundIn(number: number): Set<number> {
    const offsets = new Set<number>();
    for (const id of this.#bound) {
      const holder = this.#orphans.get(id)!.holder;
      if (holder.segment === number) offsets.add(holder.offset);
    }
    return offsets;
  }

  async #exchange(number: number, plan: RewritePlan): Promise<void> {
    this.#options.signal?.throwIfAborted();
    const old = this.#archive.shelf.get(number);
    await this.#archive.exclusive(async () => {
      const { segment, promoted } = await rewriteSegment(this.#archive, old, plan);
      const adopted = await adoptSegment(this.#archive, segment, old);
      for (const [id, referent] of promoted) this.#referents.set(id, referent);
      await this.#followTo(number, adopted, plan);
      this.#report.segments++;
      this.#report.bytesBefore += old.bytes;
      this.#report.bytesAfter += adopted.bytes;
      this.#options.onProgress?.({ segment: old.name, bytesBefore: old.bytes, bytesAfter: adopted.bytes });
    });
  }

  /** What was planned for a segment by number and offset goes on for the one that took its place. */
  async #followTo(number: number, adopted: Segment, plan: RewritePlan): Promise<void> {
    if (!this.#dead.delete(number) || plan.keepDead.size === 0) return;
    this.#dead.set(adopted.number, await this.#archive.tombstones.read(adopted));
    const orphans = [...this.#orphans].filter(([, block]) => block.holder.segment === number);
    const blocks = await this.#archive.catalog.getBlocks(orphans.map(([, block]) => block.key));
    for (const [index, [id]] of orphans.entries()) if (blocks[index]) this.#orphans.set(id, blocks[index]);
  }
}

/** Full records before revisits. */
function rank(capture: Capture): number {
  return capture.kind === 'revisit' ? 1 : 0;
}
