import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Archive, VolumeSet } from '../../src/archive/index.ts';
import { PinakesError, seededRandom } from '../../src/base/index.ts';
import { MemoryCatalog } from '../../src/catalog/index.ts';
import { CHANGES, type Effect, FaultyVolume, MemoryVolume, type Operation } from '../../src/volume/index.ts';
import { lostDays, openSample, problemsOf, samplePages, scratch, timeOf, writePages } from '../archive/shelf-sample.ts';

const PAGES = samplePages(9);
const SEED = 20240301;
const OPERATIONS: readonly Operation[] = [...CHANGES, 'stat', 'read', 'stream'];

type Disk = { readonly main: MemoryVolume; readonly second: MemoryVolume };

async function openOn(
  directory: string,
  disk: { main: MemoryVolume | FaultyVolume; second: MemoryVolume | FaultyVolume },
) {
  const setting = (name: string) => ({ name, kind: 'directory', path: name, writable: true }) as const;
  const volumes = VolumeSet.of([
    { setting: setting('main'), volume: disk.main },
    { setting: setting('second'), volume: disk.second },
  ]);
  return openSample(directory, { volumes, catalog: new MemoryCatalog() });
}

/** Two volumes, the pages in the first, one of them deleted. */
async function fill(directory: string): Promise<Disk> {
  const disk = { main: new MemoryVolume('main'), second: new MemoryVolume('second') };
  const archive = await openOn(directory, disk);
  await archive.add([join(directory, '../pages.warc.gz')], { volume: 'main' });
  await archive.delete({ url: PAGES[0]!.url, from: timeOf(PAGES[0]!), to: timeOf(PAGES[0]!) });
  await archive.close();
  return disk;
}

/** Everything is there but the page that was deleted, and nothing is wrong. */
async function assertWhole(archive: Archive, context: string): Promise<void> {
  assert.deepEqual(await lostDays(archive, PAGES), [0], context);
  assert.equal((await archive.catalog.totals()).captures, PAGES.length - 1, context);
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
        const disk = await fill(directory);
        const on = effect === 'disk-full' ? CHANGES : OPERATIONS;
        const faulty = new FaultyVolume(disk[side], seededRandom(SEED + nth), [{ nth, on, effect }]);
        const failing = await openOn(directory, { ...disk, [side]: faulty }).catch(refusal);
        const outcome = failing && (await failing.migrate('main', 'second').catch(refusal));
        await failing?.close().catch(refusal);
        if (faulty.fired.length === 0) {
          assert.deepEqual(outcome && [outcome.segments, outcome.failures], [1, []]);
          break;
        }
        fired++;
        if (effect === 'power-loss') await faulty.crash();
        const context = `seed ${SEED}, operation ${nth}: ${JSON.stringify(faulty.fired[0])}`;
        const healed = await openOn(directory, disk);
        await assertWhole(healed, context);
        await healed.migrate('main', 'second');
        await assertWhole(healed, context);
        assert.deepEqual(await disk.main.list(), [], context);
        await healed.close();
      }
      assert.ok(fired >= 4, `only ${fired} operations failed`);
    });
  }
}

function refusal(error: unknown): undefined {
  assert.ok(error instanceof PinakesError, String(error));
}
