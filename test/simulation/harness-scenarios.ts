/** Scenarios of the small writer and deleter, with which the simulation itself is tried. */
import { MemoryPartVolume } from '../../src/volume/index.ts';
import { objectsOf } from './found-record.ts';
import { harnessDeleter, harnessWriter } from './harness-writer.ts';
import { judgeCatalog } from './judge.ts';
import { runAlone } from './machine.ts';
import type { Scenario } from './scenario.ts';
import { VOLUME, type World } from './world.ts';

async function judge(world: World): Promise<string[]> {
  const objects = await objectsOf(new MemoryPartVolume(VOLUME, world.bucket));
  return judgeCatalog(world.catalog, objects, world.book);
}

export const writersAndDeleter: Scenario = {
  name: 'two writers, and a deletion of the only capture that has a content',
  setup: (world) => runAlone(world, 'P', harnessWriter([[{ id: 'p1', content: 'x' }]])),
  processes: {
    W: harnessWriter([[{ id: 'w1', content: 'x' }], [{ id: 'w2', content: 'y' }]]),
    V: harnessWriter([[{ id: 'v1', content: 'y' }]]),
    D: harnessDeleter('p1'),
  },
  hasFaults: false,
  finish: judge,
};

export const faultyWriter: Scenario = {
  name: 'a writer whose answers are lost and which may be killed',
  processes: { W: { work: harnessWriter([[{ id: 'w1', content: 'x' }], [{ id: 'w2', content: 'x' }]]), mayDie: true } },
  leasesEnd: ['W'],
  finish: judge,
};

export const HARNESS_SCENARIOS: readonly Scenario[] = [writersAndDeleter, faultyWriter];
