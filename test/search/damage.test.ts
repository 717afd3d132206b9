import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { OutputDamage } from '../../src/archive/index.ts';
import { Indexer, openSearch, SEARCH_FILE } from '../../src/search/index.ts';
import { type DamageKind, damageRecord, placeOf } from '../archive/damage-sample.ts';
import { makeArchive } from '../archive/trial-archive.ts';
import { pinakes } from '../journeys/pinakes-runner.ts';
import { indexed, pageWith, storePages, trialPages } from './trial-pages.ts';

for (const how of ['sum', 'middle', 'start'] satisfies DamageKind[])
  test(`a record damaged at its ${how} is reported, and all records after it are indexed`, async (t) => {
    const archive = await makeArchive(t);
    await storePages(archive, [pageWith('one', 'zebra'), pageWith('two', 'walrus'), pageWith('three', 'beetle')]);
    const place = await placeOf(archive, 'http://two.example/');
    // The revisit refers to the record that will be damaged.
    await storePages(archive, [pageWith('two', 'walrus', { time: Date.UTC(2024, 1, 1) }), pageWith('four', 'giraffe')]);
    await damageRecord(archive, place, how);
    const indexer = await Indexer.open(archive);
    const reported: OutputDamage[] = [];
    const report = await indexer.catchUp({ onDamage: (damage) => reported.push(damage) });
    const again = await indexer.catchUp();
    await indexer.close();
    assert.deepEqual([report.damaged, again.damaged], [1, 0]);
    assert.deepEqual(
      reported.map(({ offset, comes }) => [offset, comes]),
      [[place.offset, { sum: 'all', middle: 'part', start: 'nothing' }[how]]],
    );
    const search = openSearch(archive.directory);
    t.after(() => search.close());
    for (const word of ['zebra', 'beetle', 'giraffe']) assert.equal((await search.search(word)).total, 1, word);
  });

test('`pinakes index` lists damaged records and exits with 1', async (t) => {
  const archive = await makeArchive(t);
  await storePages(archive, [pageWith('one', 'zebra'), pageWith('two', 'walrus')]);
  await damageRecord(archive, await placeOf(archive, 'http://one.example/'), 'sum');
  await archive.close();
  const first = await pinakes(archive.directory, 'index', '-a', archive.directory, '--json');
  assert.deepEqual([first.code, JSON.parse(first.out).damaged], [1, 1], first.err);
  assert.match(first.err, /damaged: volume main, .*http:\/\/one\.example\/.*index --rebuild/s);
  const second = await pinakes(archive.directory, 'index', '-a', archive.directory, '--json');
  assert.deepEqual([second.code, second.err], [0, '']);
});

test('searches that read a damaged page of the index fail with INDEX_DAMAGED', async (t) => {
  const archive = await makeArchive(t);
  await storePages(archive, trialPages(3, 60));
  await indexed(archive);
  const path = join(archive.directory, SEARCH_FILE);
  const sound = await readFile(path);
  const queryAll = async () => {
    const search = openSearch(archive.directory);
    try {
      for (const query of ['number', '-nothing', 'title:library links-to:http://a.example.org/page/1'])
        await search.search(query, { facets: true, limit: 100 });
      await search.links('http://a.example.org/page/1', { direction: 'in' });
      search.status();
    } finally {
      search.close();
    }
  };
  const pageBytes = 4096;
  let failures = 0;
  for (let at = 0; at < sound.length; at += pageBytes) {
    const bytes = Buffer.from(sound);
    bytes.fill(0xff, at, at + pageBytes);
    await writeFile(path, bytes);
    // These queries do not read every page of the index.
    await queryAll().catch((error: { code?: string }) => {
      failures++;
      assert.equal(error.code, 'INDEX_DAMAGED', `page ${at / pageBytes}: ${error}`);
    });
  }
  assert.ok(failures > 10);
  await writeFile(path, sound);
  const database = new DatabaseSync(path);
  database.exec("UPDATE texts SET body = x'28b52ffd00'");
  database.close();
  await assert.rejects(queryAll(), { code: 'INDEX_DAMAGED' });
});
