/** The checks of a commit, in the order of CommitGroup, on a catalog that nothing else changes meanwhile. */
import { equal } from '../../base/index.ts';
import type {
  CaptureQuestion,
  CatalogView,
  CommitGroup,
  CommitOutcome,
  Lease,
  NewCapture,
  Segment,
} from '../catalog.ts';
import { ADOPTION_LEASE } from '../catalog.ts';
import { isAsExpected, isDestructive } from '../commit-group.ts';
import type { DatabaseState } from './level-database.ts';

/** The first of the checks that need neither captures nor blocks. */
export function refusalOfWriter(
  group: CommitGroup,
  { counters }: DatabaseState,
  isLiving: (lease: Lease) => boolean,
  segment: (number: number) => Segment | undefined,
): CommitOutcome | undefined {
  const { lease, id, segments = [] } = group;
  if (lease && !isLiving(lease)) return { kind: 'fenced', why: 'lease' };
  if (id !== undefined && segments.some(({ number }) => segment(number)?.lastCommit === id))
    return { kind: 'committed', lost: [], freed: 0 };
  if (counters.isAdopting && isDestructive(group) && lease?.name !== ADOPTION_LEASE)
    return { kind: 'fenced', why: 'adopting' };
  if (!segments.every((change) => isAsExpected(segment(change.number), change, lease)))
    return { kind: 'fenced', why: 'segment' };
  return undefined;
}

/** Whether power loss must not undo the group (R2): it removes, seals, swaps or bars. */
export function isDurable(group: CommitGroup): boolean {
  const { durable, deletedMarks = [], segments = [] } = group;
  const isSealing = segments.some(({ to }) => to?.state === 'sealing' || to?.state === 'sealed');
  return durable === true || isSealing || deletedMarks.length > 0 || isDestructive(group);
}

/**
 * Refuses captures that the archive has or has deleted (C5), and those that are barred (D3). `isSeen`: the caller knows
 * that the archive does not have them.
 */
export async function refusalOfCaptures(
  captures: readonly NewCapture[],
  { hasDeleted, hasBars }: DatabaseState,
  isSeen: boolean,
  view: CatalogView,
): Promise<CommitOutcome | undefined> {
  // Marks are computed when they are read, so they are read only when they are needed.
  const isUnknown = ({ mayRepeat }: NewCapture) => !isSeen && !mayRepeat;
  const marked = captures.flatMap((entry, index) => ((hasDeleted || isUnknown(entry)) && entry.marks ? [index] : []));
  if (marked.length > 0) {
    const unknown = marked.filter((index) => isUnknown(captures[index]!));
    const known = await knownAmong(unknown, captures, view);
    const deleted = hasDeleted ? await deletedAmong(marked, captures, view) : [];
    if (known.length + deleted.length > 0) return { kind: 'known', captures: known, deleted };
  }
  if (!hasBars) return undefined;
  const isBarred = await view.findBarred(captures.map(({ capture }) => capture));
  const barred = captures.flatMap((_, index) => (isBarred[index] ? [index] : []));
  return barred.length > 0 ? { kind: 'barred', captures: barred } : undefined;
}

async function knownAmong(
  indexes: readonly number[],
  captures: readonly NewCapture[],
  view: CatalogView,
): Promise<number[]> {
  const questions = indexes.map((index): CaptureQuestion => {
    const { urlKey, time, hash } = captures[index]!.capture;
    return { urlKey, time, ofHash: hash };
  });
  const found = await view.findCaptures(questions);
  return indexes.filter((index, at) => {
    const { collection, block } = captures[index]!.capture;
    // A content that was unknown may have been found since. Marks do not tell contents apart that have one digest.
    return found[at]!.some(
      (known) => known.collection === collection && (!known.block || !block || equal(known.block.digest, block.digest)),
    );
  });
}

async function deletedAmong(
  indexes: readonly number[],
  captures: readonly NewCapture[],
  view: CatalogView,
): Promise<number[]> {
  const marks = indexes.flatMap((index) => captures[index]!.marks!.map((mark) => ({ mark, index })));
  const isDeleted = await view.findDeleted(marks.map(({ mark }) => mark));
  return [...new Set(marks.flatMap(({ index }, at) => (isDeleted[at] ? [index] : [])))];
}
