/**
 * The next owner of an embedded catalog: heals what the owners before left, goes on with their open segments, and
 * stores (P1). The lock of the catalog is its lease, so nobody else writes.
 */
import type { BlockKey, Segment } from '../../src/catalog/index.ts';
import {
  adoptContents,
  begunName,
  DELETION_FOLDER,
  type HealedSegment,
  healSegment,
  isReplaced,
  isSegmentName,
  parsePartName,
  planHealing,
  readOrigin,
  type SegmentOriginRecord,
  type SegmentStore,
  sealedBytes,
  sealSegment,
} from '../../src/ledger/index.ts';
import type { TestCapture } from './book.ts';
import { compact } from './ledger-compactor.ts';
import { healingOf } from './ledger-healer.ts';
import { CONTENTS, DELETIONS, storesOf, type VolumeKind, writerOf } from './ledger-machine.ts';
import { isGivenUp, storeGroups } from './ledger-writer.ts';
import type { Machine, Work } from './machine.ts';
import { VOLUME } from './world.ts';

export type LedgerOwnerOptions = {
  readonly volume?: VolumeKind;
  /** The number in the owner object, above those of all owners before. */
  readonly number: number;
};

export function ledgerOwner(
  groups: readonly (readonly TestCapture[])[],
  { volume = 'disk', number }: LedgerOwnerOptions,
): Work {
  return async (machine) => {
    try {
      await compact(machine, { rounds: 0, volume });
      const open = await healAll(machine, volume);
      const writer = writerOf(machine, { owner: number, volume });
      const { catalog, clock } = machine;
      const sealing = { catalog, store: storesOf(machine, volume).get(VOLUME), lease: undefined, clock, graceMs: 0 };
      for (const [index, row] of open.entries()) {
        // One segment of each kind is gone on with.
        const isLast = !open.slice(index + 1).some(({ collection }) => collection === row.collection);
        if (isLast) writer.resume(row, row.collection === 0 ? DELETIONS : CONTENTS);
        else await sealSegment(sealing, row);
      }
      await storeGroups(machine, writer, groups);
      for (const segment of writer.openSegments()) if (segment.segment.bytes > 0) await writer.seal(segment);
    } catch (error) {
      if (!isGivenUp(error)) throw error;
    }
  };
}

/** Heals all segments: the contents of full records first, deletions last. Returns those that are gone on with. */
async function healAll(machine: Machine, volume: VolumeKind): Promise<Segment[]> {
  const { catalog } = machine;
  const store = storesOf(machine, volume).get(VOLUME);
  await listFound(machine, store);
  const rows = (await catalog.segments()).filter(({ state }) => state !== 'sealed').sort(byNameDeletionsLast);
  // A record may be refused that was committed before the power cut, so what is after it may have been acknowledged.
  const options = {
    ...healingOf(machine, volume),
    lease: undefined,
    refusedAre: 'bury',
    keepsUnreferenced: true,
  } as const;
  for (const row of rows) {
    const plan = planHealing(row, await store.find(row.name), {
      hasParts: store.hasParts,
      isWritable: store.isWritable,
      isShared: false,
    });
    if (plan.kind === 'adopt') await adoptContents(options, store, row, plan.content);
  }
  const healed: HealedSegment[] = [];
  for (const row of rows) healed.push(await healSegment(options, row));
  await sweep(machine);
  return healed.flatMap(({ kind, row }) => (kind === 'open' && row ? [row] : []));
}

/** A power cut may have taken the rows of segments, but no replacement that was swapped in: swaps are synced (R2). */
async function listFound({ catalog }: Machine, store: SegmentStore): Promise<void> {
  const known = new Set((await catalog.segments()).map(({ name }) => begunName(name)));
  const names = new Set<string>();
  for await (const page of store.list())
    for (const { name } of page) {
      const segment = parsePartName(name)?.segment ?? name;
      if (isSegmentName(segment) && !known.has(begunName(segment))) names.add(segment);
    }
  for (const name of [...names].sort()) {
    const origin = await originOf(store, name);
    // A part of a replaced segment may arrive when all its other objects are gone. Its name is not used again (P2).
    if (!origin || origin.replaces?.length || (await isReplaced(store, name))) {
      const { object, parts } = await store.find(name);
      await store.remove([...(object ? [name] : []), ...parts.map((part) => part.name)]);
      continue;
    }
    const collection = name.startsWith(DELETION_FOLDER) ? 0 : 1;
    await catalog.listSegment({ volume: VOLUME, name, collection, sequence: origin.sequence });
  }
}

/** Undefined: the segment has no whole record. */
async function originOf(store: SegmentStore, name: string): Promise<SegmentOriginRecord | undefined> {
  const { object, parts } = await store.find(name);
  const [first] = parts.filter(({ offset }) => offset === 0).sort((a, b) => b.attempt - a.attempt);
  const bytes = object?.bytes ?? first?.bytes ?? 0;
  const parts0 = first ? [first] : [];
  const content = object ? sealedBytes(name, bytes) : ({ name, state: 'open', bytes, parts: parts0 } as const);
  return readOrigin(store, content, bytes);
}

async function sweep({ catalog }: Machine): Promise<void> {
  const unreferenced: BlockKey[] = [];
  for await (const page of catalog.blocks())
    unreferenced.push(...page.flatMap(({ key, references }) => (references === 0 ? [key] : [])));
  if (unreferenced.length > 0) await catalog.commit({ sweep: unreferenced });
}

function byNameDeletionsLast(one: Segment, other: Segment): number {
  return Number(one.collection === 0) - Number(other.collection === 0) || (one.name < other.name ? -1 : 1);
}
