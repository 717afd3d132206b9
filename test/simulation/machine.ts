/**
 * What one process of a simulation runs on: its handles of the catalog and the volume, the clock, the record ids. The
 * real code gets nothing else.
 */
import type { Clock, IdSource } from '../../src/base/index.ts';
import type { Catalog } from '../../src/catalog/index.ts';
import type { PartVolume, Volume } from '../../src/volume/index.ts';
import type { Book } from './book.ts';
import { heard } from './heard.ts';
import { type Process, Scheduler } from './scheduler.ts';
import { SimulatedCatalog } from './simulated-catalog.ts';
import { SimulatedDisk } from './simulated-disk.ts';
import { SimulatedVolume } from './simulated-volume.ts';
import type { World } from './world.ts';

export type Machine = {
  readonly name: string;
  readonly world: World;
  readonly process: Process;
  readonly catalog: Catalog;
  /** A bucket, or a disk: an archive uses one of the two. */
  readonly bucket: PartVolume;
  readonly disk: Volume;
  readonly book: Book;
  readonly clock: Clock;
  readonly sleep: (ms: number) => Promise<void>;
  readonly ids: IdSource;
};

/** What a process does. */
export type Work = (machine: Machine) => Promise<void>;

export function machineFor(process: Process, world: World): Machine {
  const viewState = () => world.catalogState();
  const isHeard = process.isHeard;
  const heardBy = <Handle extends object>(handle: Handle) => (isHeard ? heard(handle, process, viewState) : handle);
  return {
    name: process.name,
    world,
    process,
    catalog: heardBy<Catalog>(new SimulatedCatalog(world, process)),
    bucket: heardBy<PartVolume>(new SimulatedVolume(world, process)),
    disk: heardBy<Volume>(new SimulatedDisk(world, process)),
    book: world.book,
    clock: () => {
      process.saw(world.now);
      return world.now;
    },
    sleep: (ms) => process.sleep(ms),
    ids: world.ids(process.name),
  };
}

export type Trace = (line: string) => void;

/** Runs one process to its end, without faults and without others. */
export function runAlone(world: World, name: string, work: Work, trace?: Trace): Promise<void> {
  return runTogether(world, { [name]: work }, trace);
}

/** Runs processes to their ends without faults. They take turns at every gate. */
export async function runTogether(world: World, works: Readonly<Record<string, Work>>, trace?: Trace): Promise<void> {
  const { hasFaults } = world;
  world.hasFaults = false;
  const scheduler = new Scheduler({
    choose: (alternatives) =>
      Math.max(
        0,
        alternatives.findIndex(({ kind }) => kind === 'switch'),
      ),
    time: world,
    isReal: world.twin !== undefined,
    trace,
  });
  for (const [name, work] of Object.entries(works)) scheduler.add(name, (process) => work(machineFor(process, world)));
  await scheduler.run();
  world.hasFaults = hasFaults;
}
