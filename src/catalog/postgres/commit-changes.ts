/**
 * The changes of a group whose checks have passed, in the order of CommitGroup. What the changes depend on was locked
 * before (commit.ts). Groups of the usual kind, stores, need four statements: blocks, captures, the segment's row, the
 * totals.
 */
import { EMPTY, utf8 } from '../../base/index.ts';
import { type Column, Conflict, namesOf, type Query, rowSet } from '../../database/index.ts';
import type {
  Alias,
  Bar,
  Block,
  BlockKey,
  Capture,
  CommitGroup,
  CommitOutcome,
  DeadRecord,
  Mark,
  NewBlock,
  Place,
  SegmentChange,
  SurplusRecord,
} from '../catalog.ts';
import { collectionAfterNotes } from '../commit-group.ts';
import { declaredStart } from '../declared-digest.ts';
import { sortableKey } from '../key-order.ts';
import { selectBlocks } from './postgres-view.ts';
import { blockId, captureId, distinctKeys, type LockedRows } from './row-lock.ts';
import {
  BLOCK_COLUMNS,
  BLOCK_KEY,
  blockOf,
  CAPTURE_ID,
  isSamePlace,
  MARKED_CAPTURE_COLUMNS,
  type MarkedCapture,
  number,
  PLACE_COLUMNS,
} from './rows.ts';
import { addToTotals } from './running-totals.ts';
import { REFERS_TO, type Tables } from './tables.ts';

type Buried = DeadRecord & { readonly segment: number };
type Surplus = SurplusRecord & { readonly segment: number };
type RecordPlace = Pick<Place, 'segment' | 'offset'>;
type HolderMove = NonNullable<CommitGroup['holderMoves']>[number];

const RECORD_PLACE: readonly Column<RecordPlace>[] = [
  { name: 'segment', type: 'bigint', of: ({ segment }) => segment },
  { name: 'record_offset', type: 'bigint', of: ({ offset }) => offset },
];
const CONTENT: readonly Column<{ readonly block: BlockKey | undefined }>[] = [
  { name: 'digest', type: 'bytea', of: ({ block }) => block?.digest ?? EMPTY },
  { name: 'overflow', type: 'bigint', of: ({ block }) => block?.overflow ?? 0 },
];
export const SURPLUS_COLUMNS: readonly Column<Surplus>[] = [...RECORD_PLACE, ...CONTENT];
export const DEAD_COLUMNS: readonly Column<Buried>[] = [
  ...RECORD_PLACE,
  { name: 'record_length', type: 'bigint', of: ({ length }) => length },
  ...CONTENT,
];
export const MARK: readonly Column<Mark>[] = [{ name: 'mark', type: 'bytea', of: (mark) => mark }];
export const BAR: readonly Column<Bar>[] = [
  { name: 'kind', type: 'text', of: ({ kind }) => kind },
  { name: 'id', type: 'bytea', of: (bar) => (bar.kind === 'content' ? bar.digest : sortableKey(bar.urlKey)) },
  { name: 'value', type: 'bytea', of: (bar) => (bar.kind === 'content' ? bar.digest : utf8(bar.urlKey)) },
];
export const ALIAS: readonly Column<Alias>[] = [
  { name: 'declared', type: 'bytea', of: ({ declared }) => declaredStart(declared) },
  { name: 'digest', type: 'bytea', of: ({ block }) => block.digest },
  { name: 'overflow', type: 'bigint', of: ({ block }) => block.overflow },
];
export const NOTE: readonly Column<readonly [name: string, text: string]>[] = [
  { name: 'name', type: 'bytea', of: ([name]) => utf8(name) },
  { name: 'text', type: 'bytea', of: ([, text]) => utf8(text) },
];
const HOLDER_MOVE: readonly Column<HolderMove>[] = [
  { name: 'digest', type: 'bytea', of: ({ key }) => key.digest },
  { name: 'overflow', type: 'bigint', of: ({ key }) => key.overflow },
  { name: 'from_segment', type: 'bigint', of: ({ from }) => from.segment },
  { name: 'from_offset', type: 'bigint', of: ({ from }) => from.offset },
  ...PLACE_COLUMNS.map(({ name, type, of }) => ({
    name: `to_${name}`,
    type,
    of: ({ to }: HolderMove, index: number) => of(to, index),
  })),
];

export class CommitChanges {
  readonly #query: Query;
  readonly #tables: Tables;
  readonly #group: CommitGroup;
  readonly #locked: LockedRows;
  /** Blocks that may have lost their last reference. */
  readonly #touched: (BlockKey | undefined)[] = [];
  readonly #dead: Buried[] = [];
  readonly #surplus: Surplus[] = [];
  /** The captures that the group removes or moves away. */
  readonly #removed = new Set<string>();
  /** The blocks of the captures that the group puts. */
  readonly #referred = new Set<string>();
  readonly #change = { captures: 0, blocks: 0, revisits: 0, payloadBytes: 0, uniquePayloadBytes: 0 };

  constructor(query: Query, tables: Tables, group: CommitGroup, locked: LockedRows) {
    this.#query = query;
    this.#tables = tables;
    this.#group = group;
    this.#locked = locked;
  }

  /** Undefined: the group puts captures in the place of others, which are not locked. */
  async make(): Promise<CommitOutcome | undefined> {
    const group = this.#group;
    const { deleted, bars, surplus, aliases, notes } = this.#tables;
    const captures = await this.#removeCaptures();
    const marks = [...(group.deletions ?? []).map(({ mark }) => mark), ...(group.deletedMarks ?? [])];
    await this.#insert(deleted, marks, MARK, 'on conflict do nothing');
    await this.#insert(bars, group.bars ?? [], BAR, 'on conflict do nothing');
    await this.#moveHolders();
    const lost = await this.#addBlocks();
    if (!(await this.#putCaptures(captures))) return undefined;
    await this.#bury(this.#dead);
    await this.#putSurplus(this.#surplus);
    await this.#bury(group.dead ?? []);
    await this.#putSurplus(group.surplus ?? []);
    await this.#delete(surplus, group.removeSurplus ?? [], RECORD_PLACE);
    await this.#delete(aliases, group.removeAliases ?? [], ALIAS);
    await this.#insert(aliases, group.aliases ?? [], ALIAS, 'on conflict do nothing');
    await this.#skipCollections();
    await this.#delete(
      notes,
      (group.removeNotes ?? []).map((name) => [name, ''] as const),
      NOTE.slice(0, 1),
    );
    const put = Object.entries(group.putNotes ?? {});
    await this.#insert(notes, put, NOTE, 'on conflict (name) do update set text = excluded.text');
    for (const change of group.segments ?? []) await this.#changeSegment(change);
    const outcome: CommitOutcome = { kind: 'committed', lost: await this.#counted(lost), freed: await this.#free() };
    await addToTotals(this.#query, this.#tables, this.#change);
    return outcome;
  }

  /** Numbers of collections in notes are not dealt again. The counter comes before the notes, as where it is dealt. */
  async #skipCollections(): Promise<void> {
    const next = collectionAfterNotes(this.#group.putNotes);
    if (next === 1) return;
    const { counters } = this.#tables;
    await this.#query(`update ${counters} set next = greatest(next, $1) where name = 'collection'`, [next]);
  }

  /** Removes what is deleted, removed or moved. Returns the captures to put: moved ones, then new ones. */
  async #removeCaptures(): Promise<ReadonlyMap<string, MarkedCapture>> {
    const { deletions = [], removeCaptures = [], moves = [] } = this.#group;
    const removed = new Map<string, Capture>();
    for (const { capture } of deletions) {
      const { segment, offset, length } = capture.place;
      this.#dead.push({ segment, offset, length, block: capture.block });
    }
    for (const capture of [...deletions.map((deletion) => deletion.capture), ...removeCaptures]) {
      const id = captureId(capture);
      removed.set(id, capture);
      // A content that was unknown may have been found since.
      this.#touched.push(capture.block, this.#locked.captures.get(id)?.block);
    }
    const put = new Map<string, MarkedCapture>();
    const isThere = (id: string) => put.has(id) || (this.#locked.captures.has(id) && !removed.has(id));
    for (const { from, to } of moves) {
      const [id, newId] = [captureId(from), captureId(to)];
      if (isThere(id)) {
        const before = put.get(id);
        const now = before ? { mark: before.mark, block: before.capture.block } : this.#locked.captures.get(id);
        this.#touched.push(now?.block);
        removed.set(id, from);
        put.delete(id);
        put.set(newId, { capture: to, mark: now?.mark ?? EMPTY });
      } else if (!isThere(newId)) {
        const { segment, offset, length } = to.place;
        this.#dead.push({ segment, offset, length, block: to.block });
      }
    }
    // One that was not locked came later, and is as if it had been added after this commit.
    const locked = [...removed].filter(([id]) => this.#locked.captures.has(id));
    await this.#delete(
      this.#tables.captures,
      locked.map(([, capture]) => capture),
      CAPTURE_ID,
    );
    for (const id of removed.keys()) {
      this.#count(this.#locked.captures.get(id), -1);
      this.#removed.add(id);
    }
    return put;
  }

  /** Counts a capture that is added or removed. */
  #count(capture: Pick<Capture, 'kind' | 'block'> | undefined, by: 1 | -1): void {
    if (!capture) return;
    this.#change.captures += by;
    if (capture.kind === 'revisit') this.#change.revisits += by;
    const held = capture.block && this.#locked.blocks.get(blockId(capture.block));
    if (held) this.#change.payloadBytes += by * held.size;
  }

  /** False when a capture has the place of another that is not locked. */
  async #putCaptures(moved: ReadonlyMap<string, MarkedCapture>): Promise<boolean> {
    const put = new Map(moved);
    const marks = new Set<string>();
    for (const { capture, marks: [own = EMPTY] = [], mayRepeat } of this.#group.captures ?? []) {
      const mark = mayRepeat ? EMPTY : own;
      const name = Buffer.from(mark).toString('latin1');
      // Of two equal captures in one group, as in a file that repeats a record, the first has the mark.
      put.set(captureId(capture), { capture, mark: marks.has(name) ? EMPTY : mark });
      marks.add(name);
    }
    for (const { capture } of put.values()) if (capture.block) this.#referred.add(blockId(capture.block));
    const inOrder = [...put].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, capture]) => capture);
    await this.#removeReplaced(put);
    const end = `on conflict (${namesOf(CAPTURE_ID)}) do nothing returning kind`;
    if ((await this.#insert(this.#tables.captures, inOrder, MARKED_CAPTURE_COLUMNS, end)) < put.size) return false;
    for (const { capture } of put.values()) this.#count(capture, 1);
    return true;
  }

  /** Removes the captures in whose place the group puts others, as far as they were locked. */
  async #removeReplaced(put: ReadonlyMap<string, MarkedCapture>): Promise<void> {
    const replaced = [...put].filter(([id]) => this.#locked.captures.has(id) && !this.#removed.has(id));
    await this.#delete(
      this.#tables.captures,
      replaced.map(([, { capture }]) => capture),
      CAPTURE_ID,
    );
    for (const [id] of replaced) this.#count(this.#locked.captures.get(id), -1);
  }

  async #moveHolders(): Promise<void> {
    const { holderMoves = [] } = this.#group;
    const { blocks } = this.#locked;
    const made = holderMoves.filter(({ key, from, to }) => {
      const block = blocks.get(blockId(key));
      if (!block || !isSamePlace(block.holder, from)) return false;
      blocks.set(blockId(key), { ...block, holder: to });
      return true;
    });
    if (made.length === 0) return;
    const rows = rowSet('r', made, HOLDER_MOVE, 1);
    const to = PLACE_COLUMNS.map(({ name }) => `${name} = r.to_${name}`).join(', ');
    await this.#query(
      `update ${this.#tables.blocks} b set ${to} from ${rows.table}
       where b.digest = r.digest and b.overflow = r.overflow
       and b.segment = r.from_segment and b.record_offset = r.from_offset`,
      rows.values,
    );
  }

  /** Adds the blocks that are absent, and returns those that other records hold. */
  async #addBlocks(): Promise<BlockKey[]> {
    const { blocks } = this.#locked;
    const absent: NewBlock[] = [];
    const lost: BlockKey[] = [];
    for (const added of this.#group.blocks ?? []) {
      const { key, holder, size, isSpare } = added;
      const held = blocks.get(blockId(key));
      if (!held) {
        absent.push(added);
        blocks.set(blockId(key), { key, size, holder, references: 0 });
        this.#touched.push(key);
      } else if (!isSamePlace(held.holder, holder) && !isSpare) {
        lost.push(key);
        this.#surplus.push({ segment: holder.segment, offset: holder.offset, block: key });
      }
    }
    absent.sort((a, b) => (blockId(a.key) < blockId(b.key) ? -1 : 1));
    await this.#insertBlocks(absent);
    return lost;
  }

  /** Captures may have waited for the content: their payload counts from now on. */
  async #insertBlocks(absent: readonly NewBlock[]): Promise<void> {
    if (absent.length === 0) return;
    const { blocks, captures } = this.#tables;
    const rows = rowSet('r', absent, BLOCK_COLUMNS, 1);
    const names = namesOf(BLOCK_COLUMNS);
    const [added] = await this.#query(
      `with b as (
         insert into ${blocks} (${names}) select ${names} from ${rows.table} order by n on conflict do nothing
         returning digest, overflow, size
       ) select count(*) as count,
         coalesce(sum(b.size * (select count(*) from ${captures} c where ${REFERS_TO})), 0)::bigint as waiting
       from b`,
      rows.values,
    );
    if (number(added!.count) < absent.length) throw new Conflict();
    this.#change.blocks += absent.length;
    this.#change.payloadBytes += number(added!.waiting);
    for (const { size } of absent) this.#change.uniquePayloadBytes += size;
  }

  /** Enters dead records. A record that is dead is not surplus too. */
  async #bury(records: readonly Buried[]): Promise<void> {
    if (records.length === 0) return;
    const { dead, surplus } = this.#tables;
    const rows = rowSet('r', records, DEAD_COLUMNS, 1);
    const names = namesOf(DEAD_COLUMNS);
    await this.#query(
      `with buried as (
         insert into ${dead} (${names}) select ${names} from ${rows.table} order by n
         on conflict do nothing returning segment, record_offset
       ) delete from ${surplus} s using buried b where s.segment = b.segment and s.record_offset = b.record_offset`,
      rows.values,
    );
  }

  async #putSurplus(records: readonly Surplus[]): Promise<void> {
    const latest = new Map(records.map((record) => [`${record.segment} ${record.offset}`, record]));
    const end =
      'on conflict (segment, record_offset) do update set digest = excluded.digest, overflow = excluded.overflow';
    await this.#insert(this.#tables.surplus, [...latest.values()], SURPLUS_COLUMNS, end);
  }

  async #changeSegment({ number, to }: SegmentChange): Promise<void> {
    const { segments, dead, surplus } = this.#tables;
    if (!to) {
      await this.#query(`delete from ${segments} where number = $1`, [number]);
      await this.#query(`delete from ${dead} where segment = $1`, [number]);
      await this.#query(`delete from ${surplus} where segment = $1`, [number]);
      return;
    }
    const { id } = this.#group;
    const changes: Record<string, unknown> = {
      ...to,
      ...(to.name !== undefined && { name: utf8(to.name) }),
      ...(id !== undefined && { last_commit: id }),
    };
    const names = Object.keys(changes);
    if (names.length === 0) return;
    const values = names.map((name) => (JSON_COLUMNS.has(name) ? JSON.stringify(changes[name]) : changes[name]));
    const sets = names.map((name, index) => `${name} = $${index + 2}`).join(', ');
    await this.#query(`update ${segments} set ${sets} where number = $1`, [number, ...values]);
  }

  /** Removes the touched blocks that no capture refers to, and returns how many. */
  async #free(): Promise<number> {
    if (this.#group.keepsUnreferenced) return 0;
    const touched = [...this.#touched, ...(this.#group.sweep ?? [])];
    // A block that another commit has added since is not locked: captures that refer to it may be on their way.
    const keys = distinctKeys(touched).filter((key) => {
      const id = blockId(key);
      return this.#locked.blocks.has(id) && !this.#referred.has(id);
    });
    if (keys.length === 0) return 0;
    const { blocks, captures } = this.#tables;
    const rows = rowSet('r', keys, BLOCK_KEY, 1);
    const freed = await this.#query(
      `delete from ${blocks} b using ${rows.table}
       where b.digest = r.digest and b.overflow = r.overflow and not exists (
         select from ${captures} c where ${REFERS_TO}
       ) returning b.size`,
      rows.values,
    );
    this.#change.blocks -= freed.length;
    for (const { size } of freed) this.#change.uniquePayloadBytes -= number(size);
    return freed.length;
  }

  /** The blocks as the catalog has them after the commit. */
  async #counted(lost: readonly BlockKey[]): Promise<Block[]> {
    if (lost.length === 0) return [];
    const rows = rowSet('r', lost, BLOCK_KEY, 1);
    const found = await this.#query(
      `${selectBlocks(this.#tables)} join ${rows.table} using (${namesOf(BLOCK_KEY)}) order by r.n`,
      rows.values,
    );
    return found.map(blockOf);
  }

  /** Inserts rows, and returns how many rows the statement returned. */
  async #insert<Item>(
    table: string,
    items: readonly Item[],
    columns: readonly Column<Item>[],
    end: string,
  ): Promise<number> {
    if (items.length === 0) return 0;
    const rows = rowSet('r', items, columns, 1);
    const names = namesOf(columns);
    const text = `insert into ${table} (${names}) select ${names} from ${rows.table} order by n ${end}`;
    return (await this.#query(text, rows.values)).length;
  }

  async #delete<Item>(table: string, items: readonly Item[], columns: readonly Column<Item>[]): Promise<void> {
    if (items.length === 0) return;
    const rows = rowSet('r', items, columns, 1);
    const same = columns.map(({ name }) => `t.${name} = r.${name}`).join(' and ');
    await this.#query(`delete from ${table} t using ${rows.table} where ${same}`, rows.values);
  }
}

const JSON_COLUMNS: ReadonlySet<string> = new Set(['roots', 'parts', 'lease']);
