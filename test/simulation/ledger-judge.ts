/** What is done and judged when all processes of a ledger scenario have stopped. */
import { AppendingStore, PartStore } from '../../src/ledger/index.ts';
import { MemoryPartVolume, openMemoryVolume } from '../../src/volume/index.ts';
import { objectsOf } from './found-record.ts';
import { judgeCatalog } from './judge.ts';
import type { VolumeKind } from './ledger-machine.ts';
import type { Trace } from './machine.ts';
import { VOLUME, type World } from './world.ts';

export function finishOn(_volume: VolumeKind): (world: World, trace?: Trace) => Promise<string[]> {
  return async (world) => {
    const objects = await objectsOf(
      _volume === 'bucket' ? new MemoryPartVolume(VOLUME, world.bucket) : openMemoryVolume(VOLUME, world.disk),
    );
    void AppendingStore;
    void PartStore;
    return judgeCatalog(world.catalog, objects, world.book);
  };
}
