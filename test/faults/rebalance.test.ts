/**
 * A rebalance whose n-th change of either volume or of the catalog fails, for every n. The archive is small: a few
 * contents in one volume, half of which belong to another one, and a cursor in the middle of a segment. After each
 * failure the archive is opened again, with its catalog or with none.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Archive, createArchive, openArchive, VolumeSet } from '../../src/archive/index.ts';
import { PinakesError, seededRandom } from '../../src/base/index.ts';
import { MemoryCatalog } from '../../src/catalog/index.ts';
import {
  CHANGES,
  type Effect,
  FaultyVolume,
  MemoryDisk,
  openMemoryVolume,
  type Volume,
} from '../../src/volume/index.ts';
import { bytesOf, contentOf, NOON, page, temporaryDirectory, trialOptions } from '../archive/trial-archive.ts';
import { problemsOf } from '../archive/two-volumes.ts';

const CAPTURES = 10;
const CONTENTS = 7;
const CHANGES_MIN = { main: 8, second: 5, catalog: 8 };
const SEED = 20261119;

const urlOf = (number: number) => `http://a.test/${number}`;
const bodyOf = (number: number) => contentOf(`content ${number % CONTENTS}`, 1200);

type Disks = { readonly main: MemoryDisk; readonly second: MemoryDisk };

async function streamed(archive: Archive, cursor?: string, count = Number.POSITIVE_INFINITY) {
  const stream = await archive.stream({ order: 'storage', cursor, selection: { types: ['response', 'revisit'] } });
  const found: string[] = [];
  for await (const { head } of stream) {
    found.push(head.targetUri!);
    if (found.length >= count) break;
  }
  return { found, cursor: stream.cursor() };
}

/** The catalog of a process that dies at its n-th commit, before or after that is made. */
function dyingAt(
  catalog: MemoryCatalog,
  nth: number,
  isAfter: boolean,
): { catalog: MemoryCatalog; fired: () => boolean } {
  let commits = 0;
  const died = () => new PinakesError('ARCHIVE_CLOSED', { detail: 'the process died' });
  const commit: MemoryCatalog['commit'] = async (group) => {
    commits++;
    if (commits > nth || (commits === nth && !isAfter)) throw died();
    const outcome = await catalog.commit(group);
    if (commits === nth) throw died();
    return outcome;
  };
  const get = (target: MemoryCatalog, name: string | symbol) => {
    if (name === 'commit') return commit;
    const value = Reflect.get(target, name, target);
    return typeof value === 'function' ? value.bind(target) : value;
  };
  return { catalog: new Proxy(catalog, { get }), fired: () => commits >= nth };
}

for (const side of ['main', 'second', 'catalog'] as const)
  for (const effect of ['io-error', 'io-error-after', 'power-loss'] as const satisfies readonly Effect[]) {
    if (side === 'catalog' && effect === 'power-loss') continue;
    test(`a rebalance whose n-th change of ${side} fails by ${effect} loses nothing and doubles nothing`, async (t) => {
      t.diagnostic(`seed ${SEED}`);
      const directory = await temporaryDirectory(t);
      await createArchive(directory, { policies: { distribution: 'hash' } });
      let fired = 0;
      for (let nth = 1; ; nth++) {
        const disks: Disks = { main: new MemoryDisk(), second: new MemoryDisk() };
        let catalog = new MemoryCatalog({ clock: () => 0 });
        let now = NOON;
        let opened = 0;
        const open = async (volumes: readonly Volume[], itsCatalog = catalog) => {
          const parts = volumes.map((volume) => ({
            setting: {
              name: volume.name,
              kind: 'directory',
              path: join(directory, volume.name),
              writable: true,
            } as const,
            volume,
          }));
          const seed = 1000 * nth + opened++;
          const options = { volumes: VolumeSet.of(parts), catalog: itsCatalog, seed, clock: () => (now += 1000) };
          return openArchive(directory, trialOptions(options));
        };
        const volumesOn = () =>
          [openMemoryVolume('main', disks.main), openMemoryVolume('second', disks.second)] as const;
        const first = await open([volumesOn()[0]]);
        for (let number = 0; number < CAPTURES; number++)
          await first.store(page(urlOf(number), NOON + number, bodyOf(number)));
        await first.delete({ url: urlOf(3) });
        const whole = (await streamed(first)).found;
        const half = await streamed(first, undefined, 4);
        await first.close();
        const volumes = volumesOn();
        const faults = side === 'catalog' ? [] : [{ nth, on: CHANGES, effect }];
        const faulty = new FaultyVolume(volumes[side === 'second' ? 1 : 0], seededRandom(SEED + nth), faults);
        const both = side === 'second' ? [volumes[0], faulty] : [faulty, volumes[1]];
        await (await open(volumesOn())).close();
        const dying = side === 'catalog' ? dyingAt(catalog, nth, effect === 'io-error-after') : undefined;
        const archive = await open(both, dying?.catalog);
        const check = async (one: Archive, context: string) => {
          assert.equal((await one.totals()).captures, CAPTURES - 1, context);
          for (let number = 0; number < CAPTURES; number++)
            if (number !== 3)
              assert.deepEqual(await bytesOf((await one.get(urlOf(number))).payload), Buffer.from(bodyOf(number)));
          assert.deepEqual([...half.found, ...(await streamed(one, half.cursor)).found], whole, context);
          assert.deepEqual(await problemsOf(one), [], context);
        };
        await archive.rebalance().catch((error: unknown) => assert.ok(error instanceof PinakesError, String(error)));
        const hasFired = dying?.fired() ?? faulty.fired.length > 0;
        if (effect === 'power-loss' && hasFired) await faulty.crash();
        await archive.close().catch(() => {});
        // Every other time, the catalog is lost with the process.
        if (nth % 2 === 0) catalog = new MemoryCatalog({ clock: () => 0 });
        const again = await open(volumesOn());
        await check(again, `after change ${nth}`);
        await again.rebalance();
        await check(again, `after change ${nth} and another rebalance`);
        await again.compact();
        assert.deepEqual((await again.rebalance()).moves, [], `after change ${nth}`);
        await again.rebuild();
        await check(again, `after change ${nth} and a rebuild`);
        const volumesOfUrls = new Set((await again.segments()).map(({ volume }) => volume));
        assert.deepEqual(volumesOfUrls, new Set(['main', 'second']));
        await again.close();
        if (!hasFired) break;
        fired = nth;
      }
      t.diagnostic(`${fired} changes failed`);
      assert.ok(fired >= CHANGES_MIN[side], `${fired} changes failed`);
    });
  }
