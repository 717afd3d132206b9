/**
 * Scenarios in which the catalog is lost, and made again from the volume beside processes that go on. Their letters are
 * those of the model of the protocol from which the rules were drawn.
 */
import assert from 'node:assert/strict';
import { parseReplacedName } from '../../src/ledger/index.ts';
import type { PartVolume } from '../../src/volume/index.ts';
import { ledgerRebuild } from './ledger-adopter.ts';
import { ledgerCollector } from './ledger-collector.ts';
import { ledgerCompactor } from './ledger-compactor.ts';
import { ledgerDeleter } from './ledger-deleter.ts';
import { ledgerStream } from './ledger-stream.ts';
import { ledgerWriter } from './ledger-writer.ts';
import { type Machine, runAlone, runTogether, type Work } from './machine.ts';
import { COMPACTION, capture, finishRemoval, oneDeleted, race, twoSealed } from './removal-scenarios.ts';
import type { Scenario } from './scenario.ts';
import type { World } from './world.ts';

const finish = finishRemoval();
/** Begins when the catalog is lost. */
const Z = { work: ledgerRebuild(), startsWhen: ({ isLost }: World) => isLost };

/** Compacts when the catalog was lost and has been made again. */
const later = (work: Work) => ({
  work: async (machine: Machine) => {
    while (await machine.catalog.isAdopting()) await machine.sleep(1000);
    await work(machine);
  },
  startsWhen: ({ isLost, onlyFor }: World) => isLost && onlyFor === undefined,
});
/**
 * Two full records of one content, of which a compactor made a revisit of the first by name, and died before it wrote
 * its note. A catalog that is made again has the other one as the surplus record.
 */
const sharedWithoutNote = async (world: World) => {
  await runTogether(world, { B: ledgerWriter([[capture('b1', 'x')]]), A: ledgerWriter([[capture('a1', 'x')]]) });
  const dying: Work = (machine) => ledgerCompactor()({ ...machine, bucket: withoutNotes(machine.bucket) });
  await assert.rejects(runAlone(world, 'K', dying), /the process dies/);
  for (const name of world.catalog.livingLeases()) world.catalog.expireLease(name);
};
/** A volume to which the process dies before it writes a note. */
const withoutNotes = (bucket: PartVolume): PartVolume =>
  withCall(bucket, 'put', (name, bytes) => {
    if (parseReplacedName(name)) throw new TypeError('the process dies');
    return bucket.put(name, bytes);
  });

/**
 * A writer stores a capture that another has stored, so its second part is never committed. It dies while it seals the
 * segment without that part, and its PUT is in flight.
 */
const sealedLate = async (world: World) => {
  await runAlone(world, 'A', ledgerWriter([[capture('w2', 'y')]]));
  const store = ledgerWriter([[capture('w1', 'x')], [capture('w2', 'y')]]);
  const dying: Work = (machine) => {
    const { bucket } = machine;
    const join: PartVolume['join'] = async (name, ranges) => {
      const bytes = Uint8Array.from(Buffer.concat(await bucket.read(ranges)));
      world.checkName(name, bytes);
      world.late.push({ name, bytes });
      throw new TypeError('the process dies');
    };
    return store({ ...machine, bucket: withCall(bucket, 'join', join) });
  };
  await assert.rejects(runAlone(world, 'W', dying), /the process dies/);
};

/** The volume with another call in the place of one. */
function withCall<Name extends keyof PartVolume>(bucket: PartVolume, name: Name, call: PartVolume[Name]): PartVolume {
  const get = (target: PartVolume, asked: keyof PartVolume) => {
    const own: unknown = asked === name ? call : target[asked];
    return typeof own === 'function' ? own.bind(target) : own;
  };
  return new Proxy(bucket, { get });
}

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
    name: 'I3 two compactors of two lives make revisits of one another',
    setup: sharedWithoutNote,
    processes: { K1: ledgerCompactor(), Z, K2: later(ledgerCompactor()) },
    isLossy: true,
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
    name: 'P2 the catalog is lost, and the object of a segment arrives late',
    setup: sealedLate,
    processes: { Z, V: later(ledgerWriter([[capture('v1', 'x')]])) },
    isLossy: true,
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
