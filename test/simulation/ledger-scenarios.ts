/**
 * Scenarios of writers, healing, adoption and collection. Their letters are those of the model of the protocol from
 * which the rules were drawn.
 */
import { ledgerDeleter } from './ledger-deleter.ts';
import { finishOn } from './ledger-judge.ts';
import { ledgerReader } from './ledger-reader.ts';
import { ledgerWriter } from './ledger-writer.ts';
import { runAlone } from './machine.ts';
import type { Scenario } from './scenario.ts';
import type { World } from './world.ts';

const capture = (id: string, content: string, isForced = false) => ({ id, content, isForced });
/** One sealed segment with one capture. */
const oneSealed = (world: World) => runAlone(world, 'P', ledgerWriter([[capture('p1', 'x')]]));
const finish = finishOn('bucket');

export const LEDGER_SCENARIOS: readonly Scenario[] = [
  {
    name: 'A a revisit is on its way while its last reference is deleted',
    setup: oneSealed,
    processes: { W: ledgerWriter([[capture('w1', 'x')]]), D: ledgerDeleter({ capture: 'p1' }) },
    hasFaults: false,
    finish,
  },
  {
    name: 'C answers to commits are lost',
    processes: { W: ledgerWriter([[capture('w1', 'x')], [capture('w2', 'x')]]) },
    finish,
  },
  {
    name: 'D answers to PUTs are lost, and the next group is at the same offset',
    processes: { W: ledgerWriter([[capture('w1', 'x')], [capture('w2', 'y')]]) },
    finish,
  },
  {
    name: 'T2 a reader while a segment is sealed',
    processes: { R: ledgerReader('w1', 2), W: ledgerWriter([[capture('w1', 'x')]]) },
    finish,
  },
];
