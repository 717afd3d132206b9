/**
 * Scenarios of one machine with an embedded catalog: at a power cut the catalog loses its last batches that were not
 * synced, the disk what was not synced, and all processes die. Then the next owner heals, and goes on with the open
 * segments (P1). What one owner does at the same time are several processes here. The letters are those of the model of
 * the protocol from which the rules were drawn; those with a number are the same over a volume of immutable objects.
 */
import { judgeCatalog, judgeDeliveries, judgeRebuilt } from './judge.ts';
import { ledgerCollector } from './ledger-collector.ts';
import { ledgerCompactor } from './ledger-compactor.ts';
import { ledgerDeleter } from './ledger-deleter.ts';
import { endLeases, objectsIn, rebuiltFrom } from './ledger-judge.ts';
import type { VolumeKind } from './ledger-machine.ts';
import { ledgerOwner } from './ledger-owner.ts';
import { ledgerWriter } from './ledger-writer.ts';
import { runAlone, type Trace } from './machine.ts';
import { capture } from './removal-scenarios.ts';
import type { Scenario, ScenarioProcess } from './scenario.ts';
import type { World } from './world.ts';

const LAST_OWNER = 99;

/** The last owner heals and seals everything. Then the catalog is judged, and compared with one that is made again. */
export function finishEmbedded(kind: VolumeKind): (world: World, trace?: Trace) => Promise<string[]> {
  return async (world, trace) => {
    const judge = async (of: World, when: string) =>
      (await judgeCatalog(of.catalog, await objectsIn(of, kind), of.book)).map((breach) => `${when}: ${breach}`);
    if (judgeDeliveries(world.book).length > 0) return judgeDeliveries(world.book);
    endLeases(world);
    await runAlone(world, 'the last owner', ledgerOwner([], { volume: kind, number: LAST_OWNER }), trace);
    const healed = await judge(world, 'after healing');
    if (healed.length > 0) return healed;
    endLeases(world);
    await runAlone(world, 'the last compactor', ledgerCompactor({ rounds: 20, merges: true, volume: kind }), trace);
    const compacted = await judge(world, 'after compaction');
    if (compacted.length > 0) return compacted;
    if (kind === 'bucket') await runAlone(world, 'the last collector', ledgerCollector, trace);
    const rebuilt = await rebuiltFrom(world, kind, trace);
    return [...(await judge(rebuilt, 'rebuilt')), ...(await judgeRebuilt(world.catalog, rebuilt.catalog, world.book))];
  };
}

const FIRST = 1;

function scenariosOn(volume: VolumeKind, suffix: string, where: string): Scenario[] {
  const options = { volume, owner: FIRST };
  const store = (id: string, content: string, isForced = false) =>
    ledgerWriter([[capture(id, content, isForced)]], options);
  const oneSealed = (world: World) => runAlone(world, 'P', store('p1', 'x'));
  const twoSealed = (world: World) =>
    runAlone(world, 'P', ledgerWriter([[capture('p1', 'x'), capture('p2', 'y')]], options));
  const deletes = (id: string) => ledgerDeleter({ capture: id }, options);
  /** Begins after so many power cuts, never beside the owner of another life. */
  const owner = (cuts: number, ...captures: ReturnType<typeof capture>[]): ScenarioProcess => ({
    work: ledgerOwner(
      captures.map((one) => [one]),
      { volume, number: FIRST + cuts },
    ),
    startsWhen: ({ setbacks }) => setbacks === cuts,
  });
  const common = { goesBack: 'power cut', hasFaults: volume === 'bucket', finish: finishEmbedded(volume) } as const;
  return [
    {
      name: `Ea${suffix} power cut: a writer and a deleter${where}`,
      setup: oneSealed,
      processes: {
        W: ledgerWriter([[capture('w0', 'y')], [capture('w1', 'x')]], options),
        D: deletes('p1'),
        O: owner(1, capture('o1', 'x')),
      },
      ...common,
    },
    {
      name: `Eb${suffix} power cut: the next owner goes on${where}`,
      processes: {
        W: ledgerWriter([[capture('w1', 'x')], [capture('w2', 'y')]], options),
        O: owner(1, capture('o1', 'x'), capture('o2', 'z')),
      },
      ...common,
    },
    {
      name: `Ec${suffix} power cut: a compactor${where}`,
      setup: async (world) => {
        await twoSealed(world);
        await runAlone(world, 'Z', deletes('p2'));
      },
      processes: { W: store('w1', 'x'), K: ledgerCompactor({ volume }), O: owner(1, capture('o1', 'x')) },
      ...common,
    },
    {
      name: `Ed${suffix} power cut: a takedown${where}`,
      setup: oneSealed,
      processes: {
        W: store('w1', 'x', true),
        D: ledgerDeleter({ takedown: 'x' }, options),
        O: owner(1, capture('o1', 'z')),
      },
      ...common,
    },
    {
      name: `Ee${suffix} two power cuts${where}`,
      processes: { W: store('w1', 'x'), O1: owner(1, capture('o1', 'y')), O2: owner(2, capture('o2', 'x')) },
      setbacksMax: 2,
      ...common,
    },
    {
      name: `Ef${suffix} power cut: one segment refers to another${where}`,
      processes: { W: store('w1', 'x'), V: store('v1', 'x'), O: owner(1) },
      ...common,
    },
  ];
}

export const EMBEDDED_SCENARIOS: readonly Scenario[] = [
  ...scenariosOn('disk', '', ''),
  ...scenariosOn('bucket', '2', ', over objects'),
];
