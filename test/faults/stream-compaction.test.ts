/**
 * A compaction fails at its n-th change, for every n, between two halves of a stream, and the archive is rebuilt before
 * and after the next compaction. The archive is as small as
 * possible: three segments that share contents, and a cursor in the middle of a segment. So there are about forty
 * changes, and each can fail in turn.
 */
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
const CAPTURES = 9;
const CONTENTS = 4;
const COUNT_BEFORE = 4;
/** Deletions and a compaction of three segments make at least this many changes. */
const CHANGES_MIN = 30;

const urlOf = (n: number) => `http://a.test/${String(n).padStart(3, '0')}`;

/** URLs of the captures in a stream, from a cursor on. */
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

type Half = {
  readonly order: StreamOrder;
  readonly expected: Set<string>;
  readonly urls: string[];
  readonly cursor: string;
};

/** Reads the first half of a stream, and lists the captures of the whole stream. */
async function begin(archive: Archive, order: StreamOrder): Promise<Half> {
  const expected = new Set((await urls(archive, order)).urls);
  return { order, expected, ...(await urls(archive, order, undefined, COUNT_BEFORE)) };
}

/**
 * Streams one half, runs a compaction whose n-th change fails, and streams the rest in the same process or in the next
 * one. False when the compaction made fewer changes.
 */
async function interrupted(directory: string, effect: Effect, nth: number): Promise<boolean> {
  const random = seededRandom(nth);
  const inner = openMemoryVolume('main');
  const catalog = new MemoryCatalog({ clock: () => 0 });
  // One clock for all three processes, so that time does not go back and no segment name occurs twice.
  let now = NOON;
  const clock = () => (now += 1000);
  const open = (volume: FaultyVolume, seed: number) =>
    openArchive(
      directory,
      trialOptions({ volumes: VolumeSet.of([{ setting: SETTING, volume }]), catalog, seed, clock }),
    );
  const first = await open(new FaultyVolume(inner, random), nth);
  for (let n = 0; n < CAPTURES; n++)
    await first.store(page(urlOf(n), NOON + n, contentOf(`content ${n % CONTENTS}`, 1200)));
  const halves = [await begin(first, 'storage'), await begin(first, 'url')];
  await first.close();
  const faulty = new FaultyVolume(inner, random, [{ nth, on: CHANGES, effect }]);
  const archive = await open(faulty, nth + 1000);
  for (let n = 0; n < CAPTURES; n += 3) {
    const url = urlOf(n);
    const isDeleted = await archive.delete({ url }).then(
      () => true,
      () => false,
    );
    // It is not known whether a failed deletion has taken effect. Both outcomes are right.
    for (const { expected } of halves) expected.delete(url);
    if (!isDeleted) break;
  }
  await archive.compact().catch((error: unknown) => assert.ok(error instanceof PinakesError, String(error)));
  const hasFired = faulty.fired.length > 0;
  if (effect === 'power-loss' && hasFired) await faulty.crash();
  else await check(archive, halves);
  await archive.close();
  const again = await open(new FaultyVolume(inner, random), nth + 2000);
  await check(again, halves);
  await again.rebuild();
  await check(again, halves);
  await again.compact();
  await check(again, halves);
  await again.rebuild();
  await check(again, halves);
  await again.close();
  return hasFired;
}

async function check(archive: Archive, halves: readonly Half[]): Promise<void> {
  for (const { order, expected, urls: before, cursor } of halves) {
    const delivered = [...before, ...(await urls(archive, order, cursor)).urls];
    assert.equal(new Set(delivered).size, delivered.length, `in the order of ${order} a capture delivered twice`);
    for (const url of expected) assert.ok(delivered.includes(url), `in the order of ${order} ${url} did not come`);
  }
}

describe('I8: a cursor stays valid when a compaction fails at any change', () => {
  for (const effect of ['io-error', 'io-error-after', 'power-loss'] as const) {
    test(`in the order of storage and of URLs, with ${effect}`, async (t) => {
      const directory = await mkdtemp(join(tmpdir(), 'pinakes-stream-'));
      // Hooks that run later close archives in this directory, and may still write to it.
      t.after(() => rm(directory, { recursive: true, force: true, maxRetries: 10 }));
      await createArchive(directory, { policies: { segmentBytesMax: 3000 } });
      let nth = 1;
      for (; ; nth++) {
        try {
          if (!(await interrupted(directory, effect, nth))) break;
        } catch (error) {
          throw new Error(`the change number ${nth}`, { cause: error });
        }
      }
      t.diagnostic(`${nth - 1} changes failed`);
      assert.ok(nth > CHANGES_MIN, `${nth - 1} changes failed`);
    });
  }
});
