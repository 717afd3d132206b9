/**
 * A commit as one transaction of READ COMMITTED, in which each statement sees what other transactions have committed
 * before it. So whatever a check relies on is locked before it is read (C1 to C5):
 *
 * 1. the gate: shared by all commits; exclusive for groups that delete or bar, so that no commit with what they
 *    forbid is between its checks and its end (C5, D3)
 * 2. the lease, FOR SHARE (C1)
 * 3. the segments' rows (C2)
 * 4. the captures that the group removes or moves, in the order of their keys
 * 5. the blocks that the group refers to, adds, moves or may remove, in the order of their keys: FOR SHARE, or FOR
 *    UPDATE by a group that removes or moves. FOR KEY SHARE would keep a referent from being removed, but not from
 *    being given another holder (C3)
 *
 * All groups lock in this order, so they wait for one another without deadlocks. A block that another transaction
 * inserts after step 5 makes the transaction begin again, and step 5 then finds it.
 *
 * Two kinds of groups are made again in another way, because the totals must stay exact:
 *
 * - A group with a capture whose content is absent passes the gate alone. Otherwise another commit could add the
 *   content at the same moment, and neither would count the payload of the capture.
 * - A group that puts a capture in the place of another locks that one in step 4.
 *
 * A removal counts the references of a block in a statement after step 5. A commit that refers to the block has either
 * ended before, and its captures are counted, or waits in step 5 and will not find the block.
 */

import { type Column, type Query, rollBack, rowSet } from '../../database/index.ts';
import {
  ADOPTION_LEASE,
  type BlockKey,
  type Capture,
  type CommitGroup,
  type CommitOutcome,
  isOtherContent,
  type Lease,
  type Mark,
} from '../catalog.ts';
import { isAsExpected, isDestructive } from '../commit-group.ts';
import { CommitChanges } from './commit-changes.ts';
import { BAR_COLUMNS, isBarred } from './postgres-view.ts';
import {
  blockId,
  captureId,
  type LockedCapture,
  type LockedRows,
  lockBlocks,
  lockCaptures,
  lockSegments,
} from './row-lock.ts';
import { CAPTURE_IDENTITY, isSameKey, isSamePlace, number } from './rows.ts';
import { SERVER, type Tables } from './tables.ts';

/** How a group is committed: alone, or with the captures locked that it replaces. */
export type CommitWay = { readonly isAlone: boolean; readonly replaces: boolean };

export const USUAL_WAY: CommitWay = { isAlone: false, replaces: false };

/** The group has to be committed in another way. Nothing was changed. */
export type OtherWay = { readonly kind: 'other way'; readonly way: CommitWay };

/** Checks a group and makes its changes, in the transaction of the query. A refusal rolls the transaction back. */
export async function commitGroup(
  query: Query,
  tables: Tables,
  group: CommitGroup,
  way: CommitWay = USUAL_WAY,
): Promise<CommitOutcome | OtherWay> {
  const refuse = (outcome: CommitOutcome) => rollBack(outcome);
  const { lease, referents = [], deletions = [], blocks: added = [] } = group;
  await passGate(query, tables, way.isAlone || forbidsOthers(group));
  if (lease && !(await holdsLease(query, tables, lease))) refuse({ kind: 'fenced', why: 'lease' });
  const segments = await lockSegments(query, tables, group);
  const { id } = group;
  if (id !== undefined && [...segments.values()].some(({ lastCommit }) => lastCommit === id))
    refuse({ kind: 'committed', lost: [], freed: 0 });
  if (isDestructive(group) && lease?.name !== ADOPTION_LEASE && (await isAdopting(query, tables)))
    refuse({ kind: 'fenced', why: 'adopting' });
  if (!(group.segments ?? []).every((change) => isAsExpected(segments.get(change.number), change, lease)))
    refuse({ kind: 'fenced', why: 'segment' });
  const captures = await lockCaptures(query, tables, group, way.replaces);
  const blocks = await lockBlocks(query, tables, group, captures);
  const stale = referents.filter(({ key, holder }) => !isSamePlace(blocks.get(blockId(key))?.holder, holder));
  const other = added.filter((block) => isOtherContent(blocks.get(blockId(block.key)), block));
  if (stale.length + other.length > 0) refuse({ kind: 'stale', blocks: [...stale, ...other].map(({ key }) => key) });
  const moved = indexesOf(deletions, ({ capture }) => !isStillThere(captures.get(captureId(capture)), capture));
  if (moved.length > 0) refuse({ kind: 'moved', captures: moved });
  await checkCaptures(query, tables, group, refuse);
  if (!way.isAlone && namesAbsentContent(group, { captures, blocks }))
    return rollBack<OtherWay>({ kind: 'other way', way: { ...way, isAlone: true } });
  const changes = new CommitChanges(query, tables, group, { captures, blocks });
  return (await changes.make()) ?? rollBack<OtherWay>({ kind: 'other way', way: { ...way, replaces: true } });
}

/** The number of the gate's lock: of this catalog, and not the number that creating the catalog uses. */
function gateOf({ schema }: Tables): readonly [text: string, values: readonly unknown[]] {
  return [`(hashtextextended($1, 1))`, [schema]];
}

/** Whether the group deletes or bars what other commits may be about to add. */
function forbidsOthers({ deletions = [], deletedMarks = [], bars = [] }: CommitGroup): boolean {
  return deletions.length + deletedMarks.length + bars.length > 0;
}

/** Whether the group puts, removes or replaces a capture whose content neither the catalog nor the group has. */
function namesAbsentContent(group: CommitGroup, { captures, blocks }: LockedRows): boolean {
  const added = new Set((group.blocks ?? []).map(({ key }) => blockId(key)));
  const isAbsent = (key: BlockKey | undefined) => key && !blocks.has(blockId(key)) && !added.has(blockId(key));
  return (
    [...captures.values()].some(({ block }) => isAbsent(block)) ||
    (group.moves ?? []).some(({ to }) => isAbsent(to.block)) ||
    (group.captures ?? []).some(({ capture }) => isAbsent(capture.block))
  );
}

/**
 * For the rest of the transaction, rows are found by indexes. For a few hundred keys the planner would rather read a
 * whole table, whose size a commit must not depend on.
 */
const ONLY_INDEXES = ['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin']
  .map((setting) => `set_config('${setting}', 'off', true)`)
  .join(', ');

export async function passGate(query: Query, tables: Tables, isExclusive: boolean): Promise<void> {
  const [key, values] = gateOf(tables);
  const lock = isExclusive ? 'pg_advisory_xact_lock' : 'pg_advisory_xact_lock_shared';
  await query(`select ${lock}${key}, ${ONLY_INDEXES}`, values);
}

/** Whether a lease is living; it stays so until the end of the transaction. */
export async function holdsLease(query: Query, { leases }: Tables, lease: Lease): Promise<boolean> {
  const [row] = await query(
    `select expires > clock_timestamp() and server = ${SERVER} as is_living from ${leases}
     where name = $1 and epoch = $2 and incarnation = $3 for share`,
    [lease.name, lease.epoch, lease.incarnation],
  );
  return row?.is_living === true;
}

async function isAdopting(query: Query, { state }: Tables): Promise<boolean> {
  const [row] = await query(`select is_adopting from ${state} for share`);
  return row!.is_adopting === true;
}

type NumberedMark = { readonly mark: Mark; readonly index: number };

const MARK_COLUMNS: readonly Column<NumberedMark>[] = [
  { name: 'mark', type: 'bytea', of: ({ mark }) => mark },
  { name: 'capture', type: 'bigint', of: ({ index }) => index },
];

const NUMBERED_IDENTITY: readonly Column<{ readonly capture: Capture; readonly index: number }>[] = [
  ...CAPTURE_IDENTITY.map(({ name, type, of }) => ({
    name,
    type,
    of: ({ capture }: { readonly capture: Capture }, index: number) => of(capture, index),
  })),
  { name: 'capture', type: 'bigint', of: ({ index }) => index },
];

/** Refuses captures that the archive has or has deleted (C5), and those that are barred (D3). */
async function checkCaptures(
  query: Query,
  tables: Tables,
  { captures = [] }: CommitGroup,
  refuse: (outcome: CommitOutcome) => never,
): Promise<void> {
  if (captures.length === 0) return;
  const marks = captures.flatMap(({ marks: own = [] }, index) => own.map((mark) => ({ mark, index })));
  if (marks.length > 0) {
    const unknown = captures.flatMap(({ capture, marks: own, mayRepeat }, index) =>
      own && !mayRepeat ? [{ capture, index }] : [],
    );
    const rows = rowSet('r', unknown, NUMBERED_IDENTITY, 1);
    const known = await query(
      `select r.capture from ${rows.table} where exists (
         select from ${tables.captures} c
         where c.key = r.key and c.time = r.time and c.collection = r.collection and c.hash = r.hash
         and (c.digest = '' or r.digest = '' or c.digest = r.digest)
       ) order by r.capture`,
      rows.values,
    );
    const markRows = rowSet('m', marks, MARK_COLUMNS, 1);
    const deleted = await query(
      `select distinct m.capture from ${markRows.table} join ${tables.deleted} using (mark) order by m.capture`,
      markRows.values,
    );
    if (known.length + deleted.length > 0) {
      const indexes = [known, deleted].map((found) => found.map((row) => number(row.capture)));
      refuse({ kind: 'known', captures: indexes[0]!, deleted: indexes[1]! });
    }
  }
  const rows = rowSet(
    'r',
    captures.map(({ capture }) => capture),
    BAR_COLUMNS,
    1,
  );
  const barred = await query(
    `select r.n from ${rows.table}
     where exists (select from ${tables.bars}) and (${isBarred(tables, 'r')}) order by r.n`,
    rows.values,
  );
  if (barred.length > 0) refuse({ kind: 'barred', captures: barred.map((row) => number(row.n) - 1) });
}

/** A content that was unknown may have been found since. */
function isStillThere(now: LockedCapture | undefined, capture: Capture): boolean {
  if (now?.hash !== capture.hash || now.collection !== capture.collection) return false;
  return !now.block || !capture.block || isSameKey(now.block, capture.block);
}

function indexesOf<Item>(items: readonly Item[], test: (item: Item) => boolean): number[] {
  return items.flatMap((item, index) => (test(item) ? [index] : []));
}
