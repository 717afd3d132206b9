import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Archive, VolumeSet } from '../../src/archive/index.ts';
import { PinakesError, seededRandom } from '../../src/base/index.ts';
import { type Catalog, MemoryCatalog } from '../../src/catalog/index.ts';
import {
  CHANGES,
  type Effect,
  FaultyVolume,
  MemoryDisk,
  type Operation,
  openMemoryVolume,
  type Volume,
} from '../../src/volume/index.ts';
import {
  lostDays,
  openSample,
  problemsOf,
  samplePages,
  scratch,
  timeOf,
  writePages,
} from '../archive/archive-sample.ts';

const PAGES = samplePages(9);
const SEED = 20240301;
const OPERATIONS: readonly Operation[] = [...CHANGES, 'stat', 'read', 'stream'];

type Disks = { readonly main: MemoryDisk; readonly second: MemoryDisk };
type Volumes = { readonly main: Volume; readonly second: Volume };

function volumesOn(disks: Disks): Volumes {
  return { main: openMemoryVolume('main', disks.main), second: openMemoryVolume('second', disks.second) };
}

async function openOn(directory: string, { main, second }: Volumes, catalog: Catalog): Promise<Archive> {
  const setting = (name: string) => ({ name, kind: 'directory', path: name, writable: true }) as const;
  const volumes = VolumeSet.of([
    { setting: setting('main'), volume: main },
    { setting: setting('second'), volume: second },
  ]);
  return openSample(directory, { volumes, catalog });
}

/** Two disks, with the pages on the first. One page is deleted. */
async function fill(directory: string, catalog: Catalog): Promise<Disks> {
  const disks = { main: new MemoryDisk(), second: new MemoryDisk() };
  const archive = await openOn(directory, volumesOn(disks), catalog);
  await archive.add([join(directory, '../pages.warc.gz')], { volume: 'main', workers: 0 });
  await archive.delete({ url: PAGES[0]!.url, from: timeOf(PAGES[0]!), to: timeOf(PAGES[0]!) });
  await archive.close();
  return disks;
}

/** Checks that all pages except the deleted one are there, and that verification finds no problem. */
async function assertWhole(archive: Archive, context: string): Promise<void> {
  assert.deepEqual(await lostDays(archive, PAGES), [0], context);
  assert.equal((await archive.totals()).captures, PAGES.length - 1, context);
  const problems = await problemsOf(archive);
  assert.deepEqual(problems, [], context);
}

for (const side of ['main', 'second'] as const) {
  for (const effect of ['io-error', 'io-error-after', 'disk-full', 'power-loss'] as const satisfies readonly Effect[]) {
    test(`I3 I6 a migration whose n-th operation on ${side} fails by ${effect} loses nothing, and finishes when it is run again`, async (t) => {
      t.diagnostic(`seed ${SEED}`);
      const root = scratch(t);
      await writePages(join(root, 'pages.warc.gz'), PAGES);
      let fired = 0;
      for (let nth = 1; ; nth++) {
        const directory = join(root, `archive-${nth}`);
        const catalog = new MemoryCatalog({ clock: () => 0 });
        const disks = await fill(directory, catalog);
        const volumes = volumesOn(disks);
        const on = effect === 'disk-full' ? CHANGES : OPERATIONS;
        const faulty = new FaultyVolume(volumes[side], seededRandom(SEED + nth), [{ nth, on, effect }]);
        const failing = await openOn(directory, { ...volumes, [side]: faulty }, catalog).catch(refusal);
        const outcome = failing && (await failing.migrate('main', 'second').catch(refusal));
        await failing?.close().catch(refusal);
        if (faulty.fired.length === 0) {
          assert.deepEqual(outcome && [outcome.segments, outcome.failures], [2, []]);
          break;
        }
        fired++;
        if (effect === 'power-loss') await faulty.crash();
        const context = `seed ${SEED}, operation ${nth}: ${JSON.stringify(faulty.fired[0])}`;
        // In every second round, the catalog is lost as well.
        const kept = nth % 2 === 0 ? catalog : new MemoryCatalog({ clock: () => 0 });
        const healed = await openOn(directory, volumesOn(disks), kept);
        await assertWhole(healed, context);
        await healed.migrate('main', 'second');
        await assertWhole(healed, context);
        const left = [...disks.main.objects.keys()].filter((name) => !name.startsWith('_pinakes/'));
        assert.deepEqual(left, [], context);
        await healed.close();
      }
      assert.ok(fired >= 2, `only ${fired} operations failed`);
    });
  }
}

function refusal(error: unknown): undefined {
  assert.ok(error instanceof PinakesError, String(error));
}
