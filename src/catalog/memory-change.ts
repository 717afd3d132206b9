/** Makes the changes of a commit in a catalog in memory. */
import { copyOf, toHex } from '../base/index.ts';
import type { Block, BlockKey, Capture, CommitGroup, DeadRecord, Mark, Place } from './catalog.ts';
import { collectionAfterNotes } from './commit-group.ts';
import { aliasId, barId, blockId, captureId, type MemoryContents, ownKey } from './memory-view.ts';

/** Makes the changes of a group whose checks have passed. */
export class MemoryChange {
  readonly lost: Block[] = [];
  freed = 0;
  readonly #contents: MemoryContents;
  readonly #group: CommitGroup;
  /** Blocks that may have lost their last reference. */
  readonly #touched = new Map<string, BlockKey>();

  constructor(contents: MemoryContents, group: CommitGroup) {
    this.#contents = contents;
    this.#group = group;
  }

  make(): void {
    const { captures, aliases, notes } = this.#contents;
    const group = this.#group;
    for (const { capture, mark } of group.deletions ?? []) this.#delete(capture, mark);
    for (const mark of group.deletedMarks ?? []) this.#contents.deletedMarks.add(toHex(mark));
    for (const bar of group.bars ?? []) this.#contents.bars.set(barId(bar), bar);
    for (const capture of group.removeCaptures ?? []) this.#remove(capture);
    for (const { from, to } of group.moves ?? []) this.#move(from, to);
    for (const { key, from, to } of group.holderMoves ?? []) this.#moveHolder(key, from, to);
    for (const block of group.blocks ?? []) this.#addBlock(block);
    for (const { capture } of group.captures ?? [])
      captures.set(captureId(capture), { ...capture, block: capture.block && ownKey(capture.block) });
    for (const { segment, ...record } of group.dead ?? []) this.#bury(segment, record);
    for (const { segment, ...record } of group.surplus ?? [])
      rowsOf(this.#contents.surplus, segment).set(record.offset, record);
    for (const { segment, offset } of group.removeSurplus ?? []) this.#contents.surplus.get(segment)?.delete(offset);
    for (const alias of group.removeAliases ?? []) aliases.delete(aliasId(alias));
    for (const alias of group.aliases ?? [])
      aliases.set(aliasId(alias), { declared: copyOf(alias.declared), block: ownKey(alias.block) });
    for (const name of group.removeNotes ?? []) notes.delete(name);
    for (const [name, text] of Object.entries(group.putNotes ?? {})) notes.set(name, text);
    this.#contents.nextCollection = Math.max(this.#contents.nextCollection, collectionAfterNotes(group.putNotes));
    for (const change of group.segments ?? []) this.#changeSegment(change);
    for (const key of group.sweep ?? []) this.#touch(key);
    this.#free();
  }

  #delete(capture: Capture, mark: Mark): void {
    const { segment, offset, length } = capture.place;
    this.#remove(capture);
    this.#contents.deletedMarks.add(toHex(mark));
    this.#bury(segment, { offset, length, block: capture.block });
  }

  #remove(capture: Capture): void {
    const { captures } = this.#contents;
    this.#touch(capture.block);
    // A content that was unknown may have been found since.
    this.#touch(captures.get(captureId(capture))?.block);
    captures.delete(captureId(capture));
  }

  #bury(number: number, record: DeadRecord): void {
    const rows = rowsOf(this.#contents.dead, number);
    if (rows.has(record.offset)) return;
    rows.set(record.offset, record);
    this.#contents.surplus.get(number)?.delete(record.offset);
    const segment = this.#contents.segments.get(number);
    if (segment) this.#contents.segments.set(number, { ...segment, deadBytes: segment.deadBytes + record.length });
  }

  #move(from: Capture, to: Capture): void {
    const { captures } = this.#contents;
    const now = captures.get(captureId(from));
    if (now) {
      captures.delete(captureId(from));
      captures.set(captureId(to), { ...to, block: to.block && ownKey(to.block) });
      this.#touch(now.block);
    } else if (!captures.has(captureId(to))) {
      const { segment, offset, length } = to.place;
      this.#bury(segment, { offset, length, block: to.block });
    }
  }

  #moveHolder(key: BlockKey, from: Place, to: Place): void {
    const block = this.#contents.blocks.get(blockId(key));
    if (block && isSamePlace(block.holder, from)) this.#contents.blocks.set(blockId(key), { ...block, holder: to });
  }

  #addBlock({ key, size, holder, isSpare }: NonNullable<CommitGroup['blocks']>[number]): void {
    const held = this.#contents.blocks.get(blockId(key));
    if (!held) {
      this.#contents.blocks.set(blockId(key), { key: ownKey(key), size, holder, references: 0 });
      this.#touch(key);
    } else if (!isSamePlace(held.holder, holder) && !isSpare) {
      this.lost.push(held);
      rowsOf(this.#contents.surplus, holder.segment).set(holder.offset, { offset: holder.offset, block: ownKey(key) });
    }
  }

  #changeSegment({ number, to }: NonNullable<CommitGroup['segments']>[number]): void {
    const { segments, dead, surplus } = this.#contents;
    if (to) {
      const { id } = this.#group;
      segments.set(number, { ...segments.get(number)!, ...to, ...(id !== undefined && { lastCommit: id }) });
    } else {
      segments.delete(number);
      dead.delete(number);
      surplus.delete(number);
    }
  }

  #touch(key: BlockKey | undefined): void {
    if (key) this.#touched.set(blockId(key), key);
  }

  #free(): void {
    if (this.#group.keepsUnreferenced) return;
    const referred = new Set<string>();
    for (const { block } of this.#contents.captures.values()) if (block) referred.add(blockId(block));
    for (const id of this.#touched.keys()) if (!referred.has(id) && this.#contents.blocks.delete(id)) this.freed++;
  }
}

export function isSamePlace(one: Place | undefined, other: Place): boolean {
  return one?.segment === other.segment && one.offset === other.offset;
}

function rowsOf<Row>(table: Map<number, Map<number, Row>>, segment: number): Map<number, Row> {
  const rows = table.get(segment) ?? new Map<number, Row>();
  table.set(segment, rows);
  return rows;
}
