import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Database, sqlLiteral } from './database.ts';

async function open(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-database-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const interrupt = new AbortController();
  const database = await Database.open(directory, interrupt.signal);
  t.after(() => database[Symbol.dispose]());
  return { database, interrupt, directory };
}

test('an interrupt ends a long statement, and the statements after it', async (t) => {
  const { database, interrupt } = await open(t);
  const hours = '(SELECT sum(a.i * b.i % 7) AS n FROM range(10000000) AS a(i), range(10000000) AS b(i))';
  const ends = assert.rejects(database.run(`CREATE TEMP TABLE t AS SELECT * FROM ${hours}`), { name: 'AbortError' });
  setTimeout(() => interrupt.abort(), 100);
  await ends;
  await assert.rejects(database.first(['n'], hours), { name: 'AbortError' });
});

test('an interrupted query fails instead of ending as if it were complete', async (t) => {
  const { database, interrupt } = await open(t);
  const read = async () => {
    for await (const _ of database.rows(['i'], 'range(300000000000) AS t(i) WHERE i < 100000 OR i = 299999999999'));
  };
  setTimeout(() => interrupt.abort(), 500);
  await assert.rejects(read(), { name: 'AbortError' });
});

test('a query that the engine cannot finish fails instead of ending as if it were complete', async (t) => {
  const { database } = await open(t);
  const read = async () => {
    for await (const _ of database.rows(["CASE WHEN i = 900000 THEN error('broken') END"], 'range(1000000) AS t(i)'));
  };
  await assert.rejects(read(), { code: 'ENGINE_FAILED' });
});

test('many rows with long URIs are sorted within the memory limit of the engine', async (t) => {
  const { database } = await open(t);
  const file = (number: string) => `'/data/crawls/crawl-' || (hash(${number}) % 997) || '.warc.gz'`;
  const uri = (number: string) => `substr(repeat(md5((${number})::VARCHAR), 20), 1, 400)`;
  const rows = `(SELECT hash(i) AS record_offset, ${file('i')} AS file, ${uri('i')} AS uri, ${file('i + 9')} AS original_file,
    hash(i + 5) AS original_offset, ${uri('i + 7')} AS original_uri FROM range(200000) AS t(i))`;
  const columns = ['file', 'record_offset', 'uri', 'original_file', 'original_offset', 'original_uri'];
  let [count, last] = [0, ''];
  const order = 'ORDER BY original_file, original_offset, file, record_offset';
  for await (const row of database.rows(columns, `${rows} ${order}`)) {
    assert.ok(row[3]! >= last);
    last = row[3]!;
    count++;
  }
  assert.equal(count, 200_000);
});

test('rows are returned in order with any content, and leave no files', async (t) => {
  const { database, directory } = await open(t);
  const values = ['', 'a \'quoted\' "word"', ' back\\slash, ', 'two\nlines', 'old line\r', '漢字'];
  const list = values.map((value, index) => `(${index}, ${sqlLiteral(value)})`);
  const rows: string[][] = [];
  for await (const row of database.rows(['v', 'i', 'NULL'], `(VALUES ${list.join(', ')}) AS t(i, v) ORDER BY i DESC`))
    rows.push(row);
  assert.deepEqual(rows, values.map((value, index) => [value, String(index), '']).toReversed());
  assert.deepEqual(await database.first(['v'], `(VALUES ${list.join(', ')}) AS t(i, v) ORDER BY i DESC`), ['漢字']);
  assert.deepEqual(await database.first(['1'], 'range(0)'), []);
  for await (const _ of database.rows(['i'], 'range(5) AS t(i)')) break;
  for await (const _ of database.rows(['i'], 'range(0) AS t(i)')) assert.fail('there is none');
  assert.deepEqual(readdirSync(directory), []);
});
