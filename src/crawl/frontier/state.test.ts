import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { PinakesError } from '../../base/index.ts';
import { beginRun } from '../run.ts';
import { CRAWL_DEFAULTS } from '../settings.ts';
import { Frontier } from './frontier.ts';
import { CrawlState } from './state.ts';

test('a file of an earlier version is upgraded with its queue; a file of a later version is refused', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-state-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const change = (sql: string) => {
    const database = new DatabaseSync(join(directory, 'crawl.sqlite'));
    database.exec(sql);
    database.close();
  };
  const state = CrawlState.open(directory);
  const { number } = beginRun(state, 'first', [], CRAWL_DEFAULTS, 0);
  const earlier = new Frontier(state, { collection: 'default', run: number, urlsPerHostMax: 1000 });
  earlier.transaction(() => {
    for (const path of ['one', 'picture'])
      earlier.offer({ url: `http://a.test/${path}`, role: 'page', depth: 1, hops: 0 }, false);
  });
  state.close();
  change('DROP TABLE need; ALTER TABLE url DROP COLUMN rank; PRAGMA user_version = 1');

  const taken = CrawlState.open(directory);
  const frontier = new Frontier(taken, { collection: 'default', run: number, urlsPerHostMax: 1000 });
  frontier.transaction(() => frontier.offer({ url: 'http://a.test/picture', role: 'embed', depth: 1, hops: 1 }, false));
  const { id, queued } = frontier.hostsWithQueue(-1, 1)[0]!;
  assert.equal(queued, 2);
  assert.deepEqual(
    frontier.peek(id, -1, 100).map(({ role, url }) => `${role} ${url}`),
    ['embed http://a.test/picture', 'page http://a.test/one'],
  );
  taken.close();

  change('PRAGMA user_version = 1000');
  assert.throws(
    () => CrawlState.open(directory),
    (error) => error instanceof PinakesError && error.code === 'CRAWL_STATE',
  );
});

test('a file that cannot be upgraded is closed unchanged', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-state-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  CrawlState.open(directory).close();
  const database = new DatabaseSync(join(directory, 'crawl.sqlite'));
  t.after(() => database.close());
  database.exec('PRAGMA user_version = 1');
  assert.throws(
    () => CrawlState.open(directory),
    (error) => error instanceof PinakesError && error.code === 'CRAWL_STATE',
  );
  assert.equal(database.prepare('PRAGMA user_version').get()!.user_version, 1);
  database.exec('BEGIN IMMEDIATE; ROLLBACK');
});
