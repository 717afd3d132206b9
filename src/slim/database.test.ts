import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Database } from './database.ts';

test('a statement that would take hours ends when it is interrupted, and so does what comes after it', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-database-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const interrupt = new AbortController();
  const database = await Database.open(directory, interrupt.signal);
  t.after(() => database.close());
  const hours = '(SELECT sum(a.i * b.i % 7) AS n FROM range(10000000) AS a(i), range(10000000) AS b(i))';
  const ends = assert.rejects(database.run(`CREATE TEMP TABLE t AS SELECT * FROM ${hours}`), { name: 'AbortError' });
  setTimeout(() => interrupt.abort(), 100);
  await ends;
  await assert.rejects(database.first(['n'], hours), { name: 'AbortError' });
});

test('rows that are interrupted while the engine looks for the next ones do not end as if they were all', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-database-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const interrupt = new AbortController();
  const database = await Database.open(directory, interrupt.signal);
  t.after(() => database.close());
  const read = async () => {
    for await (const _ of database.rows(['i'], 'range(300000000000) AS t(i) WHERE i < 100000 OR i = 299999999999'));
  };
  setTimeout(() => interrupt.abort(), 500);
  await assert.rejects(read(), { name: 'AbortError' });
});
