/** A query selects the same captures in exports, in streams of every order, and in deletions. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Archive, selectCaptures } from '../../src/archive/index.ts';
import { readRecords } from '../../src/warc/index.ts';
import { allCaptures, contentOf, makeArchive, NOON, page } from './trial-archive.ts';

const DAY = 86_400_000;

async function filled(archive: Archive): Promise<void> {
  for (let n = 0; n < 40; n++) {
    const host = ['www.cs.one.edu', 'two.edu', 'three.org'][n % 3]!;
    const input = page(`http://${host}/${n}`, NOON + n * DAY, contentOf(`content ${n % 10}`, 1100 + (n % 10) * 400));
    const head = n % 5 === 0 ? 'HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\n\r\n' : undefined;
    await archive.store(head === undefined ? input : { ...input, responseHead: Buffer.from(head) }, {
      collection: n % 2 ? 'odd' : 'even',
    });
  }
}

const QUERIES = [
  'status:200 type:text/html site:.edu from:2026-01-05 size>2000',
  '-site:edu',
  'site:one.edu collection:odd',
  'kind:revisit size<=3000',
  '-kind:revisit -status:404',
  'size>1500 -size>2500',
  'url:three.org/2* to:2026-01-31',
  'status:5xx',
];

test('a query selects the same captures in every order of stream, in exports and in deletions', async (t) => {
  const archive = await makeArchive(t, { policies: { segmentBytesMax: 20_000 } });
  await filled(archive);
  const sizes = new Map<string, number>();
  for await (const blocks of archive.blocks())
    for (const { key, size } of blocks) sizes.set(Buffer.from(key.digest).toString('hex'), size);
  const captures = await allCaptures(archive);
  const seen = new Set<number>();
  for (const text of QUERIES) {
    const query = await archive.query(text);
    const selection = { query };
    const expected = captures
      .filter((capture) =>
        query.isMet({ ...capture, size: sizes.get(Buffer.from(capture.block!.digest).toString('hex')) }),
      )
      .map(({ url }) => url)
      .sort();
    seen.add(expected.length);
    const chosen: string[] = [];
    for await (const part of selectCaptures(archive, selection)) chosen.push(...part.map(({ url }) => url));
    assert.deepEqual(chosen.sort(), expected, `selected: ${text}`);
    for (const order of ['storage', 'url', 'time'] as const) {
      const streamed: string[] = [];
      for await (const { head } of await archive.stream({ selection, order })) streamed.push(head.targetUri!);
      assert.deepEqual(streamed.sort(), expected, `streamed by ${order}: ${text}`);
    }
    const file = join(archive.directory, 'slice.warc.gz');
    await archive.exportWarc(selection, file, { software: 'test', force: true, concurrentRecords: false });
    const exported: string[] = [];
    for await (const { head } of readRecords(file)) if (head.targetUri) exported.push(head.targetUri);
    assert.deepEqual(exported.sort(), expected, `exported: ${text}`);
    assert.equal((await archive.previewDelete(selection)).captures, expected.length, `to be deleted: ${text}`);
  }
  assert.ok(seen.size > 4, 'the queries select different captures');
  const { captures: deleted } = await archive.delete({ query: await archive.query('site:.edu status:404') });
  assert.equal(deleted, captures.filter(({ url, status }) => url.includes('.edu') && status === 404).length);
  assert.equal((await allCaptures(archive)).length, captures.length - deleted);
});

test('a cursor continues only a stream of the same query', async (t) => {
  const archive = await makeArchive(t);
  await filled(archive);
  const stream = await archive.stream({ selection: { query: await archive.query('status:200') } });
  const delivered: string[] = [];
  for await (const { head } of stream) {
    delivered.push(head.targetUri!);
    if (delivered.length === 5) break;
  }
  const cursor = stream.cursor();
  for (const selection of [{}, { query: await archive.query('status:404') }])
    await assert.rejects(archive.stream({ selection, cursor }), { code: 'BAD_ARGUMENT' });
  const again = await archive.stream({ selection: { query: await archive.query('status:200') }, cursor });
  for await (const { head } of again) delivered.push(head.targetUri!);
  assert.equal(new Set(delivered).size, 32);
  assert.equal(delivered.length, 32);
});
