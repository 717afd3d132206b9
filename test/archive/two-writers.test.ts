/**
 * Two archives on one catalog and one volume: each changes what the other has just looked up. Commits that are refused
 * are made again, and nothing is lost or entered twice (C3, C5, I12).
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { createArchive, readConnector, VolumeSet } from '../../src/archive/index.ts';
import { seededRandom } from '../../src/base/index.ts';
import { type CommitGroup, type CommitOutcome, MemoryCatalog } from '../../src/catalog/index.ts';
import { requestOf, response, warcinfo, writeForeign } from './foreign-file.ts';
import { openWithParts } from './opened-parts.ts';
import { allCaptures, contentOf, NOON, page, payloadAt, temporaryDirectory, trialOptions } from './trial-archive.ts';

const ROUNDS = 24;

/** A catalog whose commits take some milliseconds to arrive. */
class DistantCatalog extends MemoryCatalog {
  readonly refusals = new Set<string>();
  readonly #random = seededRandom(1);

  override async commit(group: CommitGroup): Promise<CommitOutcome> {
    await setTimeout(1 + this.#random() * 6);
    const outcome = await super.commit(group);
    if (outcome.kind !== 'committed') this.refusals.add(outcome.kind);
    else if (outcome.lost.length > 0) this.refusals.add('lost');
    return outcome;
  }
}

test('two writers store, add and delete the same contents at the same time', async (t) => {
  const [first, second, files] = await Promise.all([1, 2, 3].map(() => temporaryDirectory(t)));
  await createArchive(first!, {});
  await createArchive(second!, {});
  let now = NOON;
  const catalog = new DistantCatalog({ clock: () => 0, isShared: true });
  const volumes = await VolumeSet.open(first!, (await readConnector(first!)).volumes, {});
  const open = (directory: string, seed: number) =>
    openWithParts(directory, { ...trialOptions({ seed }), clock: () => (now += 1000), catalog, volumes });
  const [one, two] = [await open(first!, 1), await open(second!, 2)];
  t.after(() => Promise.allSettled([one.close(), two.close()]));
  const body = (round: number) => contentOf(`content ${round}`, 900);
  const stored = (round: number) => page(`http://stored.example/${round}`, NOON + round, body(round));
  for (let round = 0; round < ROUNDS; round++) await one.store(stored(round));
  for (let round = 0; round < ROUNDS; round++) {
    const records = [
      response(`http://added.example/${round}`, NOON + round * 1000, body(round)),
      response(`http://other.example/${round}`, NOON + round * 1000, contentOf(`other ${round}`, 900)),
    ];
    const file = join(files!, `${round}.warc.gz`);
    await writeForeign(file, [warcinfo(), ...records.flatMap((record) => [record, requestOf(record)])]);
    const again = page(`http://again.example/${round}`, NOON + round, body(round));
    const reports = await Promise.all([
      one.add([file], { workers: 0 }),
      two.add([file], { workers: 0 }),
      one.delete({ url: `http://stored.example/${round}` }),
      two.store(again),
    ]);
    assert.deepEqual(
      reports.flatMap((report) => ('failures' in report ? report.failures : [])),
      [],
    );
  }
  const urls = (await allCaptures(one)).map(({ url }) => url);
  const wanted = ['added', 'again', 'other'].flatMap((name) =>
    Array.from({ length: ROUNDS }, (_, round) => `http://${name}.example/${round}`),
  );
  assert.deepEqual(urls.sort(), wanted.sort());
  for (let round = 0; round < ROUNDS; round++)
    for (const name of ['added', 'again'])
      assert.deepEqual(await payloadAt(one, `http://${name}.example/${round}`), Buffer.from(body(round)));
  assert.deepEqual([...catalog.refusals].sort(), ['known', 'lost', 'stale']);
  const { errors, warnings, blocks } = await one.verify();
  assert.deepEqual([errors, warnings, blocks], [0, 0, 2 * ROUNDS]);
});
