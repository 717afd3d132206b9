import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { PinakesError } from '../../../base/index.ts';
import { zeroCounts } from '../../report.ts';
import { CRAWL_DEFAULTS } from '../../settings.ts';
import type { FrontierBatch } from '../frontier.ts';
import type { Offer } from '../known-url.ts';
import { CrawlFile } from './crawl-file.ts';
import { SqliteState } from './sqlite-state.ts';

/** A batch that offers URLs and does nothing else. */
function batchOf(offers: readonly Offer[]): FrontierBatch {
  return {
    visits: [],
    urls: offers.map((offer) => ({ offer, orGone: false })),
    tries: [],
    facts: new Map(),
    cookies: [],
    movedSeeds: undefined,
    onlyNew: false,
    offersOf: () => [],
    counts: () => zeroCounts(),
  };
}

test('a file of an earlier version is upgraded with its queue; a file of a later version is refused', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-state-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const change = (sql: string) => {
    const database = new DatabaseSync(join(directory, 'crawl.sqlite'));
    database.exec(sql);
    database.close();
  };
  const settings = { ...CRAWL_DEFAULTS, urlsPerHostMax: 1000 };
  const state = new SqliteState(directory, () => 0);
  const run = await state.begin({ kind: 'first', seeds: [], movedSeeds: [], settings });
  const earlier = await state.frontier(run, false);
  for (const path of ['one', 'picture'])
    await earlier.write(batchOf([{ url: `http://a.test/${path}`, role: 'page', depth: 1, hops: 0 }]));
  await state.close();
  change('DROP TABLE need; ALTER TABLE url DROP COLUMN rank; PRAGMA user_version = 1');

  const taken = new SqliteState(directory, () => 0);
  const frontier = await taken.frontier(run, false);
  await frontier.write(batchOf([{ url: 'http://a.test/picture', role: 'embed', depth: 1, hops: 1 }]));
  const [{ id, queued } = { id: 0, queued: 0 }] = await frontier.hosts(-1, 1);
  assert.equal(queued, 2);
  const [urls] = await frontier.read([{ host: id, after: -1, count: 100 }]);
  assert.deepEqual(
    urls!.map(({ role, url }) => `${role} ${url}`),
    ['embed http://a.test/picture', 'page http://a.test/one'],
  );
  await taken.close();

  change('PRAGMA user_version = 1000');
  assert.throws(
    () => CrawlFile.open(directory),
    (error) => error instanceof PinakesError && error.code === 'CRAWL_STATE',
  );
});

test('a file that cannot be upgraded is closed unchanged', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-state-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  CrawlFile.open(directory).close();
  const database = new DatabaseSync(join(directory, 'crawl.sqlite'));
  t.after(() => database.close());
  database.exec('PRAGMA user_version = 1');
  assert.throws(
    () => CrawlFile.open(directory),
    (error) => error instanceof PinakesError && error.code === 'CRAWL_STATE',
  );
  assert.equal(database.prepare('PRAGMA user_version').get()!.user_version, 1);
  database.exec('BEGIN IMMEDIATE; ROLLBACK');
});
