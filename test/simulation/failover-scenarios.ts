/**
 * Scenarios in which the catalog goes back by up to three commits beside processes that go on, and what is in the
 * volume is adopted (R2). Their letters are those of the model of the protocol from which the rules were drawn.
 */
import { ledgerAdopter, ledgerRebuild } from './ledger-adopter.ts';
import { ledgerCollector } from './ledger-collector.ts';
import { ledgerCompactor } from './ledger-compactor.ts';
import { ledgerDeleter } from './ledger-deleter.ts';
import { ledgerHealer } from './ledger-healer.ts';
import { finishOn } from './ledger-judge.ts';
import { ledgerRelocator } from './ledger-relocator.ts';
import { ledgerStream } from './ledger-stream.ts';
import { ledgerWriter } from './ledger-writer.ts';
import { capture, finishRemoval, oneDeleted, oneSealed, race, twoSealed } from './removal-scenarios.ts';
import type { Scenario } from './scenario.ts';
import type { World } from './world.ts';

const finish = finishOn('bucket');
const finishCompacted = finishRemoval();
/** Begins when the catalog has gone back. */
const adopter = { work: ledgerAdopter(), startsWhen: ({ setbacks }: World) => setbacks > 0 };

export const FAILOVER_SCENARIOS: readonly Scenario[] = [
  {
    name: 'Ba failover: a writer, and a deleter of the record that holds the content',
    setup: oneSealed,
    processes: { W: ledgerWriter([[capture('w1', 'x')]]), D: ledgerDeleter({ capture: 'p1' }), A: adopter },
    goesBack: 'failover',
    finish,
  },
  {
    name: "Bb failover: one writer's revisit refers to another's record",
    processes: {
      W: ledgerWriter([[capture('w1', 'x')]], { staysOpen: true }),
      V: ledgerWriter([[capture('v1', 'x')]]),
      A: adopter,
    },
    goesBack: 'failover',
    finish,
  },
  {
    name: 'Bf failover: a takedown, and a store of the same content',
    setup: oneSealed,
    processes: { W: ledgerWriter([[capture('w1', 'x', true)]]), D: ledgerDeleter({ takedown: 'x' }), A: adopter },
    goesBack: 'failover',
    finish,
  },
  {
    name: 'Bg failover: a healer, and two that adopt',
    processes: {
      W: ledgerWriter([[capture('w1', 'x')], [capture('w2', 'y')]]),
      H: ledgerHealer('W'),
      A1: { ...adopter, mayDie: true },
      A2: adopter,
    },
    goesBack: 'failover',
    leasesEnd: ['W', 'adoption'],
    finish,
  },
  {
    name: 'Bh failover twice',
    processes: { W: ledgerWriter([[capture('w1', 'x')], [capture('w2', 'x')]]), A1: adopter, A2: adopter },
    goesBack: 'failover',
    setbacksMax: 2,
    leasesEnd: ['adoption'],
    finish,
  },
  {
    name: 'Bj failover: a client stores again with another writer',
    processes: {
      W: { work: ledgerWriter([[capture('w1', 'x')]]), mayDie: true },
      A: adopter,
      V: ledgerWriter([[capture('w1', 'x'), capture('v2', 'x')]]),
    },
    goesBack: 'failover',
    finish,
  },
  {
    name: 'Bc failover: a compactor',
    setup: oneDeleted,
    processes: { K: ledgerCompactor(), A: adopter, G: ledgerCollector },
    goesBack: 'failover',
    finish: finishCompacted,
  },
  {
    name: 'Bd failover: a deleter, then a compactor',
    setup: twoSealed,
    processes: { D: ledgerDeleter({ capture: 'p2' }), K: ledgerCompactor(), A: adopter },
    goesBack: 'failover',
    finish: finishCompacted,
  },
  {
    name: 'Be failover: a surplus record becomes a revisit, and its holder is deleted',
    setup: race,
    processes: { K: ledgerCompactor({ rounds: 2 }), D: ledgerDeleter({ capture: 'a1' }), A: adopter },
    goesBack: 'failover',
    hasFaults: false,
    finish: finishCompacted,
  },
  {
    name: 'Bi failover, then the catalog is lost',
    setup: oneSealed,
    processes: {
      W: ledgerWriter([[capture('w1', 'x')]]),
      D: ledgerDeleter({ capture: 'p1' }),
      A: adopter,
      Z: { work: ledgerRebuild(), startsWhen: ({ isLost }) => isLost },
    },
    goesBack: 'failover',
    isLossy: true,
    hasFaults: false,
    finish,
  },
  {
    name: 'Bl failover: a record is relocated, and its old segment written anew',
    setup: twoSealed,
    processes: { K: ledgerRelocator({ capture: 'p1' }), A: adopter },
    goesBack: 'failover',
    commitsBackMax: 12,
    hasFaults: false,
    finish: finishCompacted,
  },
  {
    name: 'Bk failover: a stream, and a writer whose segment is sealed by the adoption',
    setup: oneSealed,
    processes: { S: ledgerStream(), W: ledgerWriter([[capture('w1', 'x')], [capture('w2', 'y')]]), A: adopter },
    goesBack: 'failover',
    hasFaults: false,
    finish: finishCompacted,
  },
];
