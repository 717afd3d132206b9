/**
 * Seals a segment whose records are all in the catalog (H1).
 *
 * On a volume with parts, a first transaction sets `sealing` and fixes the list of parts and the length, so that every
 * sealer writes the same bytes; then the object is joined of them; then a second transaction sets `sealed`. Readers
 * read the parts until then. The parts go after the grace: at once where it is 0, else the collector removes them by
 * the note that says when the segment was sealed.
 *
 * On a volume with real append the object is sealed in place, and one transaction sets `sealed`.
 *
 * The holder of the lease under which the segment is written may seal it, and goes on with what another began.
 */
import { assert, type Clock, PinakesError } from '../base/index.ts';
import type { Catalog, CommitOutcome, Lease, RootSegment, Segment, SegmentChange } from '../catalog/index.ts';
import { type AskAgain, askAgain } from './ask-again.ts';
import { commitCounted, countersOf } from './counters.ts';
import { type FreshSeal, freshName } from './segment-name.ts';
import { isMissing } from './segment-reader.ts';
import type { SegmentStore } from './segment-store.ts';

/** Notes of sealed segments whose parts are not removed yet: when they were sealed. */
export const SEALED_NOTE = 'sealed:';

export type Sealing = {
  readonly catalog: Catalog;
  readonly store: SegmentStore;
  readonly lease: Lease | undefined;
  readonly clock: Clock;
  readonly graceMs: number;
  /** The incarnation that seals what an earlier one left open, under a name of its own (R3). */
  readonly freshFor?: FreshSeal | undefined;
  readonly again?: AskAgain | undefined;
};

/** The row of the sealed segment. Undefined: the lease or the segment belongs to others now. */
export async function sealSegment(sealing: Sealing, row: Segment): Promise<Segment | undefined> {
  if (row.state === 'sealed') return row;
  if (!sealing.store.hasParts) return sealInPlace(sealing, row);
  const fixed = row.state === 'sealing' ? row : await fixList(sealing, row);
  return fixed && joinFixed(sealing, fixed);
}

async function sealInPlace({ catalog, store, lease, again }: Sealing, row: Segment): Promise<Segment | undefined> {
  await store.seal(row);
  return changeRow(catalog, lease, row, { state: 'sealed' }, { again });
}

function fixList({ catalog, lease, freshFor, again }: Sealing, row: Segment): Promise<Segment | undefined> {
  assert(row.parts !== undefined && row.bytes > 0, 'a segment that is sealed has parts');
  const fresh = freshFor === undefined ? {} : { name: freshName(row.name, freshFor), roots: rootsOf(row) };
  return changeRow(catalog, lease, row, { state: 'sealing', ...fresh }, { again });
}

function rootsOf({ name, roots, sequence, number }: Segment): readonly RootSegment[] {
  return roots ?? [{ name, sequence: sequence ?? number }];
}

/** Joins the fixed list and sets `sealed`. */
export async function joinFixed(sealing: Sealing, row: Segment): Promise<Segment | undefined> {
  const { catalog, store, lease, clock, graceMs, again } = sealing;
  assert(row.state === 'sealing', 'the list is fixed before it is joined');
  const { parts = [] } = row;
  const isJoined = parts.length === 1 && parts[0]!.name === row.name;
  if (!isJoined) {
    try {
      await store.seal(row);
    } catch (error) {
      // Another sealer is done, and has removed the parts.
      if (isMissing(error)) return undefined;
      throw error;
    }
  }
  const putNotes = isJoined || graceMs === 0 ? {} : { [SEALED_NOTE + row.name]: String(clock()) };
  const sealed = await changeRow(catalog, lease, row, { state: 'sealed', parts: [] }, { again, putNotes });
  if (sealed && graceMs === 0 && !isJoined) await removeParts(store, row);
  return sealed;
}

/** What is not removed here is removed by the collector. */
async function removeParts(store: SegmentStore, { name, parts = [] }: Segment): Promise<void> {
  try {
    const found = await store.find(name);
    await store.remove(
      [...new Set([...parts, ...found.parts].map((part) => part.name))].filter((part) => part !== name),
    );
  } catch (error) {
    if (!(error instanceof PinakesError)) throw error;
  }
}

type ChangeOptions = {
  readonly again?: AskAgain | undefined;
  readonly putNotes?: Readonly<Record<string, string>>;
};

/** Changes only the row of a segment. A change that is asked for again is recognised by its id (C4). */
async function changeRow(
  catalog: Catalog,
  lease: Lease | undefined,
  row: Segment,
  to: NonNullable<SegmentChange['to']>,
  { again, putNotes = {} }: ChangeOptions,
): Promise<Segment | undefined> {
  const { number, state, bytes, volume, name } = row;
  const id = `${name} ${to.state}`;
  const outcome: CommitOutcome = await askAgain(
    () => commitCounted(catalog, { id, lease, segments: [{ number, from: { state, bytes, volume }, to }], putNotes }),
    again,
  );
  if (outcome.kind !== 'committed') return undefined;
  if (to.state === 'sealed') countersOf(catalog).note('sealedSegments', name);
  return { ...row, ...to, lastCommit: id };
}
