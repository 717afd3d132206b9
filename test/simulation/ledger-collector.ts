/** Removes what is left over in the volume, with the code of the ledger. */
import { collectLeftovers, LEASE_LIFE_MS } from '../../src/ledger/index.ts';
import { storesOf } from './ledger-machine.ts';
import { isGivenUp } from './ledger-writer.ts';
import type { Machine, Work } from './machine.ts';

export const ledgerCollector: Work = async (machine: Machine) => {
  const { catalog, clock, name } = machine;
  try {
    await collectLeftovers({ catalog, clock, stores: storesOf(machine), graceMs: 0, lifeMs: LEASE_LIFE_MS }, name);
  } catch (error) {
    if (!isGivenUp(error)) throw error;
  }
};
