/** Heals what a writer, deleter or healer left, with the code of the ledger. */
import { type HealedSegment, type HealingOptions, healLease, LEASE_LIFE_MS } from '../../src/ledger/index.ts';
import { COLLECTION, storesOf, type VolumeKind } from './ledger-machine.ts';
import { isGivenUp } from './ledger-writer.ts';
import type { Machine, Work } from './machine.ts';

const TRIES = 6;
const PAUSE_MS = 10_000;

export function healingOf(machine: Machine, volume?: VolumeKind): Omit<HealingOptions, 'lease'> {
  const { catalog, clock } = machine;
  const stores = storesOf(machine, volume);
  return { catalog, clock, stores, graceMs: 0, collectionName: () => COLLECTION };
}

export function heal(machine: Machine, whom: string, volume?: VolumeKind): Promise<HealedSegment[] | undefined> {
  const options = { ...healingOf(machine, volume), lifeMs: LEASE_LIFE_MS };
  return healLease(options, whom, machine.name);
}

/** Waits until the lease has ended and been taken once, then heals what it has. */
export function ledgerHealer(whom: string, volume?: VolumeKind): Work {
  return async (machine) => {
    try {
      for (let tried = 0; tried < TRIES; tried++) {
        const isThere = (await machine.catalog.leases()).some(({ name }) => name === whom);
        if (isThere && (await heal(machine, whom, volume))) return;
        await machine.sleep(PAUSE_MS);
      }
    } catch (error) {
      if (!isGivenUp(error)) throw error;
    }
  };
}
