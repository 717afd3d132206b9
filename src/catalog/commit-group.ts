/** What every catalog asks of a group before it makes the group's changes. */
import { assertBlockKey } from './block-codec.ts';
import { assertCapture } from './capture-codec.ts';
import { ADOPTION_LEASE, type CommitGroup, type Lease, type Segment, type SegmentChange } from './catalog.ts';
import { declaredStart } from './declared-digest.ts';

/** Every value of the group is checked before anything is changed. */
export function assertGroup(group: CommitGroup): void {
  const { captures = [], deletions = [], removeCaptures = [], moves = [], blocks = [] } = group;
  const all = [...captures.map(({ capture }) => capture), ...deletions.map(({ capture }) => capture)];
  for (const capture of [...all, ...removeCaptures, ...moves.flatMap(({ from, to }) => [from, to])]) {
    assertCapture(capture);
    if (capture.block) assertBlockKey(capture.block);
  }
  for (const { key } of blocks) assertBlockKey(key);
  for (const { block } of [...(group.dead ?? []), ...(group.surplus ?? [])]) if (block) assertBlockKey(block);
  for (const { declared, block } of [...(group.aliases ?? []), ...(group.removeAliases ?? [])]) {
    declaredStart(declared);
    assertBlockKey(block);
  }
}

/** Whether a group may not be committed while the catalog is being adopted (R2). */
export function isDestructive(group: CommitGroup): boolean {
  const { deletions = [], bars = [], moves = [], holderMoves = [], segments = [] } = group;
  return deletions.length + bars.length + moves.length + holderMoves.length > 0 || segments.some(({ to }) => !to);
}

/** An open segment is changed only by the writer whose lease it has, or by who took that lease over (P1). */
export function isAsExpected(row: Segment | undefined, { from }: SegmentChange, lease: Lease | undefined): boolean {
  if (!row || row.state !== from.state || row.bytes !== from.bytes || row.volume !== from.volume) return false;
  if (row.state === 'sealed' || row.lease === undefined) return true;
  return row.lease.name === lease?.name || lease?.name === ADOPTION_LEASE;
}

/** A note `collection:<name>` has the number of the collection. */
export const COLLECTION_NOTE = 'collection:';

/** The first number above those that these notes give to collections. */
export function collectionAfterNotes(notes: CommitGroup['putNotes'] = {}): number {
  let after = 1;
  for (const [name, text] of Object.entries(notes))
    if (name.startsWith(COLLECTION_NOTE)) after = Math.max(after, Number(text) + 1);
  return after;
}

export function isSameLease(one: Lease | undefined, other: Lease | undefined): boolean {
  return one?.name === other?.name && one?.epoch === other?.epoch && one?.incarnation === other?.incarnation;
}
