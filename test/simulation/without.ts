/**
 * Rules of the protocol that can be taken away from the real code, by dropping a part of what it asks of the catalog or
 * of a volume. A rule whose loss no scenario finds is either not needed or not tested.
 */
import type { CommitGroup, SegmentChange, SharedCatalog } from '../../src/catalog/index.ts';

export const RULES = {
  lease: 'C1 a commit checks the lease',
  length: 'C2 a commit checks the state and the length of the segment',
  referents: 'C3 a commit checks the contents that revisits refer to',
  id: 'C4 a commit that is asked again gives the first outcome',
  marks: 'C5 a capture is entered once, deleted ones included',
  bars: 'D3 what is barred stays out',
  notes: 'R1 a note says what a segment was replaced by',
  manifest: 'R2 the newest list says what counts',
} as const;

export type RuleName = keyof typeof RULES;
export type Without = { readonly [Rule in RuleName]?: boolean };

/** The group as a catalog without these rules gets it. */
export async function weakened(
  group: CommitGroup,
  without: Without,
  catalog: Pick<SharedCatalog, 'segment'>,
): Promise<CommitGroup> {
  const { id, referents, captures, bars, segments, ...rest } = group;
  return {
    ...rest,
    ...(segments && { segments: without.length ? await asTheyAre(segments, catalog) : segments }),
    ...(id !== undefined && !without.id && { id }),
    ...(referents && !without.referents && { referents }),
    ...(captures && { captures: without.marks ? captures.map(({ capture }) => ({ capture })) : captures }),
    ...(bars && !without.bars && { bars }),
  };
}

async function asTheyAre(
  changes: readonly SegmentChange[],
  catalog: Pick<SharedCatalog, 'segment'>,
): Promise<SegmentChange[]> {
  const now = await Promise.all(changes.map(({ number }) => catalog.segment(number)));
  return changes.map((change, index) => ({ ...change, from: now[index] ?? change.from }));
}
