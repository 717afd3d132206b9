import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { type Archive, createArchive, openArchive, type StreamOrder, VolumeSet } from '../../src/archive/index.ts';
import { PinakesError, seededRandom } from '../../src/base/index.ts';
import { MemoryCatalog } from '../../src/catalog/index.ts';
import { CHANGES, type Effect, FaultyVolume, openMemoryVolume } from '../../src/volume/index.ts';
import { contentOf, NOON, page, trialOptions } from '../archive/trial-archive.ts';

const SETTING = { name: 'main', kind: 'directory', path: 'volumes/main', writable: true } as const;
const CAPTURES = 40;
const COUNT_BEFORE = 15;

/** URLs of the captures that a stream gives, from a cursor on. */
async function urls(
  archive: Archive,
  order: StreamOrder,
  cursor?: string,
  count = Number.POSITIVE_INFINITY,
): Promise<{ urls: string[]; cursor: string }> {
  const stream = await archive.stream({ order, cursor, selection: { types: ['response', 'revisit'] } });
  const found: string[] = [];
  for await (const { head } of stream) {
    found.push(head.targetUri!);
    if (found.length >= count) break;
  }
  return { urls: found, cursor: stream.cursor() };
}

/** Streams some, compacts with the n-th change failing, and streams the rest: in the same process, or in the next. False when nothing failed. */
async function interrupted(directory: string, order: StreamOrder, effect: Effect, nth: number): Promise<boolean> {
  const random = seededRandom(nth);
  const inner = openMemoryVolume('main');
  const catalog = new MemoryCatalog();
  const open = (volume: FaultyVolume, seed: number) =>
    openArchive(directory, trialOptions({ volumes: VolumeSet.of([{ setting: SETTING, volume }]), catalog, seed }));
  const first = await open(new FaultyVolume(inner, random), nth);
  for (let n = 0; n < CAPTURES; n++)
    await first.store(
      page(`http://a.test/${String(n).padStart(3, '0')}`, NOON + n, contentOf(`content ${n % 13}`, 1200)),
    );
  const before = await urls(first, order, undefined, COUNT_BEFORE);
  const expected = new Set((await urls(first, order)).urls);
  await first.close();
  const faulty = new FaultyVolume(inner, random, [{ nth, on: CHANGES, effect }]);
  const archive = await open(faulty, nth + 1000);
  for (let n = 0; n < CAPTURES; n += 3) {
    const url = `http://a.test/${String(n).padStart(3, '0')}`;
    const isDeleted = await archive.delete({ url }).then(
      () => true,
      () => false,
    );
    // Whether a deletion that failed has happened is not known; either is right.
    expected.delete(url);
    if (!isDeleted) break;
  }
  await archive.compact().catch((error: unknown) => assert.ok(error instanceof PinakesError, String(error)));
  const hasFired = faulty.fired.length > 0;
  if (effect === 'power-loss' && hasFired) await faulty.crash();
  else check(expected, before.urls, (await urls(archive, order, before.cursor)).urls);
  await archive.close();
  const again = await open(new FaultyVolume(inner, random), nth + 2000);
  check(expected, before.urls, (await urls(again, order, before.cursor)).urls);
  await again.compact();
  check(expected, before.urls, (await urls(again, order, before.cursor)).urls);
  await again.close();
  return hasFired;
}

function check(expected: ReadonlySet<string>, before: readonly string[], after: readonly string[]): void {
  const came = [...before, ...after];
  assert.equal(new Set(came).size, came.length, 'a capture came twice');
  for (const url of expected) assert.ok(came.includes(url), `${url} did not come`);
}

describe('I8: a cursor outlives a compaction that fails at any change', () => {
  for (const order of ['storage', 'url'] as const) {
    for (const effect of ['io-error', 'io-error-after', 'power-loss'] as const) {
      test(`in the order of ${order}, with ${effect}`, async (t) => {
        const directory = await mkdtemp(join(tmpdir(), 'pinakes-stream-'));
        t.after(() => rm(directory, { recursive: true, force: true }));
        await createArchive(directory, { policies: { segmentBytesMax: 4000 } });
        let fired = 0;
        for (let nth = order === 'url' ? 5 : 1; ; nth += 10, fired++) {
          try {
            if (!(await interrupted(directory, order, effect, nth))) break;
          } catch (error) {
            throw new Error(`the change number ${nth}`, { cause: error });
          }
        }
        t.diagnostic(`${fired} changes failed`);
        assert.ok(fired > 5, `${fired} changes failed`);
      });
    }
  }
});
