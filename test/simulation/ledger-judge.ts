/** What is done and judged when all processes of a ledger scenario have stopped. */
import { leasesToHeal, pendingRemovals, pendingSwaps } from '../../src/ledger/index.ts';
import { MemoryPartVolume, openMemoryVolume } from '../../src/volume/index.ts';
import { type Objects, objectsOf } from './found-record.ts';
import { judgeCatalog, judgeRebuilt } from './judge.ts';
import { ledgerAdopter, ledgerRebuild } from './ledger-adopter.ts';
import { ledgerCollector } from './ledger-collector.ts';
import { ledgerCompactor } from './ledger-compactor.ts';
import { heal } from './ledger-healer.ts';
import type { VolumeKind } from './ledger-machine.ts';
import { runAlone, type Trace } from './machine.ts';
import { VOLUME, World } from './world.ts';

const DAY_MS = 24 * 3600 * 1000;

/**
 * Judges the catalog as the processes left it. Then all leases end, what was left is adopted or healed, late PUTs
 * arrive, and it is judged again. A catalog that is made again from the volume keeps all promises, and is the same when
 * nothing is left over.
 */
export function finishOn(kind: VolumeKind): (world: World, trace?: Trace) => Promise<string[]> {
  return async (world, trace) => {
    const judge = async (of: World, when: string) =>
      (await judgeCatalog(of.catalog, await objectsIn(of, kind), of.book)).map((breach) => `${when}: ${breach}`);
    endLeases(world);
    if (world.onlyFor !== undefined) await runAlone(world, 'the next rebuild', ledgerRebuild(kind), trace);
    await runAlone(world, 'the last adopter', ledgerAdopter(kind), trace);
    if (await world.catalog.isAdopting()) return ['R2 the adoption does not come to an end'];
    const atOnce = await judge(world, 'at once');
    if (atOnce.length > 0) return atOnce;
    endLeases(world);
    await healAll(world, kind, trace);
    for (const put of [...world.late]) world.land(put);
    const healed = await judge(world, 'after healing');
    if (healed.length > 0) return healed;
    const early = await rebuiltFrom(world, kind, trace);
    const lost = (await judge(early, 'rebuilt')).filter((breach) => /acknowledged|I6/.test(breach));
    if (lost.length > 0) return lost;
    const left = [...world.bucket.keys()].join();
    // Without the note about a swap, the replaced segment counts in a rebuild (R1). A successor writes it.
    if (await hasReplaced(world))
      await runAlone(world, 'the next compactor', ledgerCompactor({ rounds: 0, relocates: true, volume: kind }), trace);
    await runAlone(world, 'the last collector', ledgerCollector, trace);
    world.now += DAY_MS;
    await runAlone(world, 'the very last collector', ledgerCollector, trace);
    const rebuilt = [...world.bucket.keys()].join() === left ? early : await rebuiltFrom(world, kind, trace);
    return [
      ...(await judge(world, 'after collection')),
      ...(await judge(rebuilt, 'rebuilt after collection')),
      ...(await judgeRebuilt(world.catalog, rebuilt.catalog, world.book)),
    ];
  };
}

async function hasReplaced({ catalog }: World): Promise<boolean> {
  return (await pendingSwaps(catalog)).size + (await pendingRemovals(catalog)).size > 0;
}

/** The world with a catalog that was made again from the volume. */
export async function rebuiltFrom(world: World, kind: VolumeKind, trace?: Trace): Promise<World> {
  const rebuilt = new World({ without: world.without }, world);
  rebuilt.loseCatalog();
  await runAlone(rebuilt, 'the last rebuild', ledgerRebuild(kind), trace);
  return rebuilt;
}

export function objectsIn(world: World, kind: VolumeKind): Promise<Objects> {
  return objectsOf(
    kind === 'bucket' ? new MemoryPartVolume(VOLUME, world.bucket) : openMemoryVolume(VOLUME, world.disk),
  );
}

export function endLeases({ catalog }: World): void {
  for (const name of catalog.livingLeases()) catalog.expireLease(name);
}

async function healAll(world: World, kind: VolumeKind, trace?: Trace): Promise<void> {
  await runAlone(
    world,
    'the last healer',
    async (machine) => {
      for (const name of await leasesToHeal(machine.catalog)) await heal(machine, name, kind);
    },
    trace,
  );
}
