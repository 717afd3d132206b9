/** Locks the rows that a commit depends on, each table's rows in the order of their keys (see commit.ts). */
import { toHex } from '../../base/index.ts';
import { namesOf, type Query, rowSet } from '../../database/index.ts';
import { compareBlockKeys } from '../block-order.ts';
import type { Block, BlockKey, Capture, CommitGroup, Mark, Segment } from '../catalog.ts';
import { BLOCK_COLUMNS, BLOCK_KEY, blockKeyOf, blockOf, bytes, CAPTURE_ID, kindOf, number, segmentOf } from './rows.ts';
import type { Tables } from './tables.ts';

/** What a commit needs to know of a capture that it removes, moves or replaces. */
export type LockedCapture = Pick<Capture, 'hash' | 'collection' | 'block' | 'kind'> & { readonly mark: Mark };

/** The rows that a commit has locked. */
export type LockedRows = {
  readonly captures: ReadonlyMap<string, LockedCapture>;
  readonly blocks: Map<string, Block>;
};

/** Locks the rows of the segments that the group changes. */
export async function lockSegments(
  query: Query,
  tables: Tables,
  group: CommitGroup,
): Promise<ReadonlyMap<number, Segment>> {
  if (!group.segments?.length) return new Map();
  const rows = rowSet('r', group.segments, [{ name: 'number', type: 'bigint', of: (change) => change.number }], 1);
  const found = await query(
    `select s.*, 0 as dead_bytes from ${tables.segments} s join ${rows.table} using (number)
     order by s.number for update of s`,
    rows.values,
  );
  return new Map(found.map(segmentOf).map((segment) => [segment.number, segment]));
}

/**
 * Locks the captures that the group removes or moves, and those in whose place it moves others; with `withReplaced`
 * also those in whose place it puts others.
 */
export async function lockCaptures(
  query: Query,
  tables: Tables,
  { deletions = [], removeCaptures = [], moves = [], captures = [] }: CommitGroup,
  withReplaced: boolean,
): Promise<ReadonlyMap<string, LockedCapture>> {
  const wanted = [...deletions.map(({ capture }) => capture), ...removeCaptures];
  wanted.push(...moves.flatMap(({ from, to }) => [from, to]));
  if (withReplaced) wanted.push(...captures.map(({ capture }) => capture));
  if (wanted.length === 0) return new Map();
  const rows = rowSet('r', wanted, CAPTURE_ID, 1);
  const found = await query(
    `select r.n, c.hash, c.collection, c.digest, c.overflow, c.mark, c.kind
     from ${tables.captures} c join ${rows.table} using (${namesOf(CAPTURE_ID)})
     order by ${namesOf(CAPTURE_ID, 'c')} for update of c`,
    rows.values,
  );
  return new Map(
    found.map((row) => [
      captureId(wanted[number(row.n) - 1]!),
      {
        hash: number(row.hash) >>> 0,
        collection: number(row.collection),
        block: blockKeyOf(row),
        kind: kindOf(row),
        mark: bytes(row.mark),
      },
    ]),
  );
}

/** Locks the blocks that the group names: against changes or, if it removes or moves any, also against references. */
export async function lockBlocks(
  query: Query,
  tables: Tables,
  group: CommitGroup,
  captures: ReadonlyMap<string, LockedCapture>,
): Promise<Map<string, Block>> {
  const { deletions = [], removeCaptures = [], moves = [], holderMoves = [], sweep = [] } = group;
  const named: (BlockKey | undefined)[] = [...(group.referents ?? []), ...(group.blocks ?? [])].map(({ key }) => key);
  for (const { capture } of group.captures ?? []) named.push(capture.block);
  for (const capture of [...deletions.map((deletion) => deletion.capture), ...removeCaptures])
    named.push(capture.block);
  for (const { to } of moves) named.push(to.block);
  for (const { block } of captures.values()) named.push(block);
  named.push(...holderMoves.map(({ key }) => key), ...sweep);
  const keys = distinctKeys(named);
  if (keys.length === 0) return new Map();
  const removes = [deletions, removeCaptures, moves, holderMoves, sweep].some((list) => list.length > 0);
  const rows = rowSet('r', keys, BLOCK_KEY, 1);
  const found = await query(
    `select ${namesOf(BLOCK_COLUMNS, 'b')}, 0 as reference_count
     from ${tables.blocks} b join ${rows.table} using (${namesOf(BLOCK_KEY)})
     order by b.digest, b.overflow for ${removes ? 'update' : 'share'} of b`,
    rows.values,
  );
  return new Map(found.map(blockOf).map((block) => [blockId(block.key), block]));
}

/** The keys without repetitions, in their order. */
export function distinctKeys(keys: readonly (BlockKey | undefined)[]): BlockKey[] {
  const distinct = new Map<string, BlockKey>();
  for (const key of keys) if (key) distinct.set(blockId(key), key);
  return [...distinct.values()].sort(compareBlockKeys);
}

export function captureId({ urlKey, time, place }: Capture): string {
  return `${time} ${place.segment} ${place.offset} ${urlKey}`;
}

export function blockId(key: BlockKey): string {
  return `${toHex(key.digest)}~${key.overflow}`;
}
