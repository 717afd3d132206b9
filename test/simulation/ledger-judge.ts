/** What is done and judged when all processes of a ledger scenario have stopped. */
import { leasesToHeal } from '../../src/ledger/index.ts';
import { MemoryPartVolume, openMemoryVolume } from '../../src/volume/index.ts';
import { type Objects, objectsOf } from './found-record.ts';
import { judgeCatalog } from './judge.ts';
import { heal } from './ledger-healer.ts';
import type { VolumeKind } from './ledger-machine.ts';
import { runAlone, type Trace } from './machine.ts';
import { VOLUME, type World } from './world.ts';

/**
 * Judges the catalog as the processes left it. Then all leases end, what was left is healed, late PUTs arrive, and it
 * is judged again.
 */
export function finishOn(kind: VolumeKind): (world: World, trace?: Trace) => Promise<string[]> {
  return async (world, trace) => {
    const judge = async () => judgeCatalog(world.catalog, await objectsIn(world, kind), world.book);
    const atOnce = await judge();
    if (atOnce.length > 0) return atOnce;
    endLeases(world);
    await healAll(world, kind, trace);
    for (const put of [...world.late]) world.land(put);
    return (await judge()).map((breach) => `after healing: ${breach}`);
  };
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
