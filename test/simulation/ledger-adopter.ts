/** Adopts what is in the volumes, after the catalog went back, or makes the catalog again from them. */
import { type AdoptionOptions, adoptAll, LEASE_LIFE_MS, rebuildCatalog } from '../../src/ledger/index.ts';
import { healingOf } from './ledger-healer.ts';
import { storesOf, type VolumeKind } from './ledger-machine.ts';
import { isGivenUp } from './ledger-writer.ts';
import type { Machine, Work } from './machine.ts';

const TRIES = 6;
const PAUSE_MS = 10_000;

function adoptionOf(machine: Machine, kind: VolumeKind): AdoptionOptions {
  return { ...healingOf(machine, kind), stores: storesOf(machine, kind), lifeMs: LEASE_LIFE_MS };
}

/** Adopts until nothing is to be adopted any more. */
export function ledgerAdopter(kind: VolumeKind = 'bucket'): Work {
  return givingUp((machine) => adoptToTheEnd(machine, kind));
}

async function adoptToTheEnd(machine: Machine, kind: VolumeKind): Promise<void> {
  for (let tried = 0; tried < TRIES && (await machine.catalog.isAdopting()); tried++)
    if (!(await adoptAll(adoptionOf(machine, kind), `${machine.name} ${tried}`))) await machine.sleep(PAUSE_MS);
}

export function ledgerRebuild(kind: VolumeKind = 'bucket'): Work {
  return givingUp(async (machine) => {
    machine.world.onlyFor = machine.name;
    await rebuildCatalog(adoptionOf(machine, kind), machine.name);
    await adoptToTheEnd(machine, kind);
  });
}

function givingUp(work: Work): Work {
  return async (machine) => {
    try {
      await work(machine);
    } catch (error) {
      if (!isGivenUp(error)) throw error;
    }
  };
}
