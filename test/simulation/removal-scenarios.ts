/**
 * Scenarios of deleting, takedowns, compaction and streams. Their letters are those of the model of the protocol from
 * which the rules were drawn.
 */

import { compactionLease } from '../../src/ledger/index.ts';
import { MemoryPartVolume, openMemoryVolume } from '../../src/volume/index.ts';
import { objectsOf } from './found-record.ts';
import { judgeCatalog, judgeDeliveries, judgeObjects } from './judge.ts';
import { ledgerCompactor } from './ledger-compactor.ts';
import { ledgerDeleter } from './ledger-deleter.ts';
import { finishOn } from './ledger-judge.ts';
import type { VolumeKind } from './ledger-machine.ts';
import { ledgerReader } from './ledger-reader.ts';
import { ledgerStream } from './ledger-stream.ts';
import { ledgerWriter } from './ledger-writer.ts';
import { runAlone, runTogether, type Trace } from './machine.ts';
import type { Scenario } from './scenario.ts';
import { VOLUME, type World } from './world.ts';

export const capture = (id: string, content: string, isForced = false) => ({ id, content, isForced });
/** One sealed segment with one capture. */
export const oneSealed = (world: World) => runAlone(world, 'P', ledgerWriter([[capture('p1', 'x')]]));
export const twoSealed = (world: World) =>
  runAlone(world, 'P', ledgerWriter([[capture('p1', 'x'), capture('p2', 'y')]]));
/** Two captures, of which one was deleted. */
export const oneDeleted = async (world: World) => {
  await twoSealed(world);
  await runAlone(world, 'Z', ledgerDeleter({ capture: 'p2' }));
};
/** Two full records of one content, since two writers stored it at the same moment (I12). */
export const race = (world: World) =>
  runTogether(world, { A: ledgerWriter([[capture('a1', 'x')]]), B: ledgerWriter([[capture('b1', 'x')]]) });

export const COMPACTION = compactionLease(VOLUME);

/** After everything else: compacts, and judges what is left in the volume. */
export function finishRemoval(kind: VolumeKind = 'bucket'): (world: World, trace?: Trace) => Promise<string[]> {
  const finish = finishOn(kind);
  return async (world, trace) => {
    const before = [...(await finish(world, trace)), ...judgeDeliveries(world.book)];
    if (before.length > 0) return before;
    for (const name of world.catalog.livingLeases()) world.catalog.expireLease(name);
    await runAlone(
      world,
      'the last compactor',
      ledgerCompactor({ rounds: 20, merges: true, relocates: true, volume: kind }),
      trace,
    );
    const objects = await objectsOf(
      kind === 'bucket' ? new MemoryPartVolume(VOLUME, world.bucket) : openMemoryVolume(VOLUME, world.disk),
    );
    // What nothing speaks of is the collector's, such as the object of a PUT that arrived late.
    const segments = await world.catalog.segments();
    const named = new Set(segments.flatMap(({ name, parts = [] }) => [name, ...parts.map((part) => part.name)]));
    const listed = new Map([...objects].filter(([name]) => named.has(name)));
    return [
      ...(await judgeCatalog(world.catalog, objects, world.book)),
      ...(await judgeObjects(world.catalog, listed, world.book)),
    ].map((breach) => `after compaction: ${breach}`);
  };
}
const finish = finishRemoval();

export const REMOVAL_SCENARIOS: readonly Scenario[] = [
  {
    name: 'L a takedown beside a store of the same content',
    setup: oneSealed,
    processes: { W: ledgerWriter([[capture('w1', 'x')]]), D: ledgerDeleter({ takedown: 'x' }) },
    hasFaults: false,
    finish,
  },
  {
    name: 'O a surplus record becomes a revisit while its holder is deleted and others store the content',
    setup: race,
    processes: {
      K: ledgerCompactor({ rounds: 2 }),
      D: ledgerDeleter({ capture: 'a1' }),
      W: ledgerWriter([[capture('w1', 'x')]]),
    },
    hasFaults: false,
    finish,
  },
  {
    name: 'J a deletion beside a compaction',
    setup: oneDeleted,
    processes: { K: { work: ledgerCompactor({ rounds: 2 }), mayDie: true }, D: ledgerDeleter({ capture: 'p1' }) },
    finish,
  },
  {
    name: 'K2 two compactors, of which the first pauses for longer than its lease',
    setup: async (world) => {
      await race(world);
      await oneDeleted(world);
    },
    processes: { K1: ledgerCompactor({ rounds: 2 }), K2: ledgerCompactor({ rounds: 2 }) },
    leasesEnd: [COMPACTION],
    finish,
  },
  {
    name: 'R a stream while compaction goes on',
    setup: async (world) => {
      await oneDeleted(world);
      await runAlone(world, 'A', ledgerWriter([[capture('a1', 'x'), capture('a2', 'q')]]));
    },
    processes: { S: ledgerStream(), K: ledgerCompactor({ rounds: 2 }), W: ledgerWriter([[capture('w1', 'v')]]) },
    hasFaults: false,
    finish,
  },
  {
    name: 'T a reader while a segment is compacted',
    setup: oneDeleted,
    processes: { R: ledgerReader('p1', 2), K: ledgerCompactor() },
    hasFaults: false,
    finish,
  },
  {
    name: 'X two owners of one content delete it, and compaction removes it',
    setup: (world) => runAlone(world, 'P', ledgerWriter([[capture('p1', 'x'), capture('p2', 'x')]])),
    processes: {
      D1: ledgerDeleter({ capture: 'p1' }),
      D2: ledgerDeleter({ capture: 'p2' }),
      K: ledgerCompactor({ rounds: 2 }),
    },
    hasFaults: false,
    finish,
  },
];
