/**
 * Scenarios in which the catalog is lost, and made again from the volume beside processes that go on. Their letters are
 * those of the model of the protocol from which the rules were drawn.
 */
import { ledgerRebuild } from './ledger-adopter.ts';
import { ledgerCollector } from './ledger-collector.ts';
import { ledgerCompactor } from './ledger-compactor.ts';
import { ledgerDeleter } from './ledger-deleter.ts';
import { ledgerStream } from './ledger-stream.ts';
import { ledgerWriter } from './ledger-writer.ts';
import { runAlone } from './machine.ts';
import { COMPACTION, capture, finishRemoval, oneDeleted, race, twoSealed } from './removal-scenarios.ts';
import type { Scenario } from './scenario.ts';
import type { World } from './world.ts';

const finish = finishRemoval();
/** Begins when the catalog is lost. */
const Z = { work: ledgerRebuild(), startsWhen: ({ isLost }: World) => isLost };

export const LOSS_SCENARIOS: readonly Scenario[] = [
  {
    name: 'I two compactors make revisits of one another, and the catalog is lost',
    setup: race,
    processes: { K1: ledgerCompactor(), K2: ledgerCompactor(), Z },
    isLossy: true,
    leasesEnd: [COMPACTION],
    hasFaults: false,
    finish,
  },
  {
    name: 'I2 the same, and PUTs of the first compactor arrive late',
    setup: race,
    processes: { K1: ledgerCompactor(), K2: ledgerCompactor(), Z },
    isLossy: true,
    leasesEnd: [COMPACTION],
    finish,
  },
  {
    name: 'J2 a deletion beside a compaction, and the catalog is lost before the old segment goes',
    setup: oneDeleted,
    processes: { K: { work: ledgerCompactor(), mayDie: true }, D: ledgerDeleter({ capture: 'p1' }), Z },
    isLossy: true,
    hasFaults: false,
    finish,
  },
  {
    name: 'P the catalog is lost under a writer, a deleter and a compactor',
    setup: twoSealed,
    processes: {
      W: { work: ledgerWriter([[capture('w1', 'x')], [capture('w2', 'z')]]), mayDie: true },
      D: { work: ledgerDeleter({ capture: 'p2' }), mayDie: true },
      K: { work: ledgerCompactor(), mayDie: true },
      Z,
    },
    isLossy: true,
    leasesEnd: ['W', COMPACTION],
    finish,
  },
  {
    name: 'Q a compactor that paused removes a segment after the catalog was lost',
    setup: oneDeleted,
    processes: { K: ledgerCompactor(), G: ledgerCollector, Z },
    isLossy: true,
    finish,
  },
  {
    name: 'R2 a stream while compaction goes on and the catalog is lost',
    setup: async (world) => {
      await oneDeleted(world);
      await runAlone(world, 'A', ledgerWriter([[capture('a1', 'x'), capture('a2', 'q')]]));
    },
    processes: { S: ledgerStream(), K: ledgerCompactor({ rounds: 2 }), Z },
    isLossy: true,
    hasFaults: false,
    finish,
  },
];
