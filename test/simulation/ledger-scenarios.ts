/**
 * Scenarios of writers, healing and collection. Their letters are those of the model of the protocol from
 * which the rules were drawn.
 */
import { ledgerCollector } from './ledger-collector.ts';
import { ledgerDeleter } from './ledger-deleter.ts';
import { ledgerHealer } from './ledger-healer.ts';
import { finishOn } from './ledger-judge.ts';
import { ledgerReader } from './ledger-reader.ts';
import { ledgerWriter } from './ledger-writer.ts';
import { runAlone } from './machine.ts';
import { capture, oneSealed } from './removal-scenarios.ts';
import type { Scenario } from './scenario.ts';

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
    name: 'B a lease ends while its holder commits, and another heals',
    processes: { W: ledgerWriter([[capture('w1', 'x')]]), H: ledgerHealer('W') },
    leasesEnd: ['W'],
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
    name: 'E a part arrives late while two heal',
    processes: {
      W: { work: ledgerWriter([[capture('w1', 'x')], [capture('w2', 'y')]]), mayDie: true },
      H1: { work: ledgerHealer('W'), mayDie: true },
      H2: ledgerHealer('W'),
    },
    leasesEnd: ['W'],
    finish,
  },
  {
    name: 'F a part arrives after the sealing',
    processes: {
      W: { work: ledgerWriter([[capture('w1', 'x')], [capture('w2', 'y')]]), mayDie: true },
      H: ledgerHealer('W'),
    },
    leasesEnd: ['W'],
    finish,
  },
  {
    name: 'G a healed revisit refers to a content that was deleted',
    setup: oneSealed,
    processes: {
      W: { work: ledgerWriter([[capture('w1', 'x')]]), mayDie: true },
      D: ledgerDeleter({ capture: 'p1' }),
      H: ledgerHealer('W'),
    },
    leasesEnd: ['W'],
    hasFaults: false,
    finish,
  },
  {
    name: 'H a deleter dies after the PUT of its record',
    setup: (world) => runAlone(world, 'P', ledgerWriter([[capture('p1', 'x'), capture('p2', 'x')]])),
    processes: {
      D: { work: ledgerDeleter({ capture: 'p1' }), mayDie: true },
      H: ledgerHealer('D'),
    },
    leasesEnd: ['D'],
    finish,
  },
  {
    name: 'K a collector beside a writer that has not committed',
    processes: { W: ledgerWriter([[capture('w1', 'x')]]), G: ledgerCollector },
    hasFaults: false,
    finish,
  },
  {
    name: 'M a takedown, and healing of what a writer left',
    setup: oneSealed,
    processes: {
      W: { work: ledgerWriter([[capture('w1', 'x', true)]]), mayDie: true },
      D: ledgerDeleter({ takedown: 'x' }),
      H: ledgerHealer('W'),
    },
    leasesEnd: ['W'],
    hasFaults: false,
    finish,
  },
  {
    name: 'N a client stores again with another writer, and the first is healed',
    processes: {
      W: { work: ledgerWriter([[capture('w1', 'x')]]), mayDie: true },
      V: ledgerWriter([[capture('w1', 'x')]]),
      H: ledgerHealer('W'),
    },
    leasesEnd: ['W'],
    hasFaults: false,
    finish,
  },
  {
    name: 'T2 a reader while a segment is sealed',
    processes: { R: ledgerReader('w1', 2), W: ledgerWriter([[capture('w1', 'x')]]) },
    finish,
  },
];
