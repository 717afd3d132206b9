/**
 * Rules of the protocol that can be taken away from the real code, by dropping a part of what it asks of the catalog or
 * of a volume. A rule whose loss no scenario finds is either not needed or not tested.
 */
import type { Catalog, CommitGroup, SegmentChange } from '../../src/catalog/index.ts';
import { RUNS_NOTE } from '../../src/ledger/index.ts';

export const RULES = {
  names: 'P2 the simulation itself reports other bytes under a name',
  attempt: 'P2 other bytes at an offset get another name',
  length: 'C2 a commit checks the state and the length of the segment',
  referents: 'C3 a commit checks the contents that revisits refer to',
  id: 'C4 a commit that is asked again gives the first outcome',
  marks: 'C5 a capture is entered once, deleted ones included',
  bars: 'D3 what is barred stays out',
  runs: 'K1 a replacement says where its records were first written to',
  notes: 'R1 a note says what a segment was replaced by',
  recheck: 'R1, H4 the lease is checked again before anything is removed',
  manifest: 'R2 the newest list says what counts',
  gate: 'R2 nothing is healed by itself, compacted or collected before an adoption ends',
  roots: 'R4 the catalog knows the root places of records',
} as const;

export type RuleName = keyof typeof RULES;
export type Without = { readonly [Rule in RuleName]?: boolean };

/** The group as a catalog without these rules gets it. */
export async function weakened(
  group: CommitGroup,
  without: Without,
  catalog: Pick<Catalog, 'segment'>,
): Promise<CommitGroup> {
  const { id, referents, captures, bars, segments: given, ...rest } = group;
  const moved = given && without.length ? await asTheyAre(given, catalog) : given;
  const segments = without.roots ? moved?.map(rootless) : moved;
  return {
    ...rest,
    ...(without.runs && rest.putNotes && { putNotes: withoutRuns(rest.putNotes) }),
    ...(segments && { segments }),
    ...(id !== undefined && !without.id && { id }),
    ...(referents && !without.referents && { referents }),
    ...(captures && { captures: without.marks ? captures.map(({ capture }) => ({ capture })) : captures }),
    ...(bars && !without.bars && { bars }),
  };
}

function rootless({ to, ...change }: SegmentChange): SegmentChange {
  if (!to) return { ...change, to };
  const { roots: _roots, ...rest } = to;
  return { ...change, to: rest };
}

function withoutRuns(notes: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(notes).filter(([name]) => !name.startsWith(RUNS_NOTE)));
}

/** Whether a group does nothing but check the lease. */
export function isRecheck({ lease, ...rest }: CommitGroup): boolean {
  return lease !== undefined && Object.values(rest).every((part) => part === undefined);
}

async function asTheyAre(
  changes: readonly SegmentChange[],
  catalog: Pick<Catalog, 'segment'>,
): Promise<SegmentChange[]> {
  const now = await Promise.all(changes.map(({ number }) => catalog.segment(number)));
  return changes.map((change, index) => ({ ...change, from: now[index] ?? change.from }));
}
