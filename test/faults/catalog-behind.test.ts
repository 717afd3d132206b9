/**
 * The catalog is not made durable at every commit. After a power loss it may have lost the last commits, while the
 * segments and tombstones are complete. The catalog learns the lost commits again from these files (I3).
 *
 * There are two rounds on one archive. The second continues with the archive of the first, after a compaction.
 */
import assert from 'node:assert/strict';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Archive, createArchive, openArchive } from '../../src/archive/index.ts';
import { type Random, seededRandom } from '../../src/base/index.ts';
import { response, revisitOf, warcinfo, writeForeign } from '../archive/foreign-file.ts';
import { allCaptures, answers, audit, page, temporaryDirectory, trialOptions } from '../archive/trial-archive.ts';
import { bodyOf, trialOf } from './trial.ts';

async function storeSome(archive: Archive, from: number, count: number): Promise<void> {
  const trials = Array.from({ length: count }, (_, index) => trialOf(from + index));
  await Promise.all(
    trials.map((trial) =>
      archive.store(page(trial.url, trial.time, bodyOf(trial)), { collection: `c${trial.number % 2}` }),
    ),
  );
}

async function deleteSome(archive: Archive, random: Random): Promise<void> {
  for (const { url } of await allCaptures(archive)) if (random() < 0.25) await archive.delete({ url });
}

test('I3 Torn tails heal: a catalog that lost the last stores, additions and deletions learns them again', async (t) => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  t.diagnostic(`seed ${seed}`);
  const random = seededRandom(seed);
  const directory = await temporaryDirectory(t);
  const [catalog, kept] = [join(directory, 'catalog'), join(directory, 'catalog-kept')];
  await createArchive(directory, { policies: { segmentBytesMax: 30_000 } });
  for (let round = 0; round < 2; round++) {
    const open = (step: number) => openArchive(directory, trialOptions({ seed: seed + round * 10 + step }));
    const first = await open(0);
    await storeSome(first, round * 200, 50);
    await deleteSome(first, random);
    if (round % 2 === 1) await first.compact();
    await first.close();
    await rm(kept, { recursive: true, force: true });
    await cp(catalog, kept, { recursive: true });
    const second = await open(1);
    await storeSome(second, round * 200 + 50, 50);
    await deleteSome(second, random);
    const original = response(`http://f.example/${round}`, trialOf(round).time, bodyOf(trialOf(round * 200 + 1)));
    const revisit = revisitOf(original, `http://g.example/${round}`, trialOf(round).time);
    const file = await writeForeign(join(directory, `f${round}.warc.gz`), [warcinfo(), original, revisit]);
    await second.add([file], { workers: 1 });
    if (random() < 0.5) await second.delete({ url: `http://f.example/${round}` });
    await storeSome(second, round * 200 + 100, 20);
    const expected = await answers(second);
    await second.close();
    await rm(catalog, { recursive: true });
    await cp(kept, catalog, { recursive: true });
    const third = await open(2);
    try {
      assert.deepEqual(await answers(third), expected, `round ${round}`);
      assert.deepEqual(await audit(third), []);
      const again = await third.add([file], { workers: 1 });
      assert.ok(again.captures <= 1, 'only what was deleted since then may come back');
      await third.delete({ url: `http://f.example/${round}` });
      await third.compact();
      assert.deepEqual(await audit(third), []);
      assert.equal((await third.verify()).errors, 0);
    } finally {
      await third.close();
    }
  }
});
