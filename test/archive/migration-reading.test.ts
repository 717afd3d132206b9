/** Reading continues while segments move to another volume. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Archive } from '../../src/archive/index.ts';
import { readRecords } from '../../src/warc/index.ts';
import { bytesOf, contentOf, makeArchive, NOON, page } from './trial-archive.ts';

const CAPTURES = 60;

async function filled(archive: Archive): Promise<void> {
  for (let n = 0; n < CAPTURES; n++)
    await archive.store(page(`http://a.example/${n}`, NOON + n, contentOf(`n ${n % 40}`, 1500 + n)));
  await archive.addVolume({ name: 'second', path: join(archive.directory, 'second') });
}

for (const order of ['storage', 'url', 'time'] as const) {
  test(`I8: a stream in the order of ${order} continues while its segments move to another volume`, async (t) => {
    const archive = await makeArchive(t, { policies: { segmentBytesMax: 9000 } });
    await filled(archive);
    const selection = { types: ['response', 'revisit'] };
    const delivered: string[] = [];
    let migration: Promise<unknown> | undefined;
    for await (const record of await archive.stream({ order, selection })) {
      delivered.push(record.head.targetUri!);
      if (delivered.length === 5) migration = archive.migrate('main', 'second');
      if (delivered.length === 20) await migration;
    }
    assert.equal(new Set(delivered).size, CAPTURES);
    assert.equal(delivered.length, CAPTURES);
    assert.deepEqual([...new Set((await archive.segments()).map(({ volume }) => volume))], ['second']);
  });
}

test('an export and payloads are read to their end while their segments move to another volume', async (t) => {
  const archive = await makeArchive(t, { policies: { segmentBytesMax: 9000 } });
  await archive.store(page('http://a.example/large', NOON, contentOf('large', 4_000_000)));
  await filled(archive);
  const { payload } = await archive.get('http://a.example/large');
  const pieces = payload[Symbol.asyncIterator]();
  const first = Buffer.from((await pieces.next()).value!);
  const file = join(archive.directory, 'all.warc.gz');
  let begun = () => {};
  const isBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const exporting = archive.exportWarc({}, file, { software: 'test', selfContained: true, onProgress: begun });
  await isBegun;
  await archive.migrate('main', 'second');
  const rest = await bytesOf({ [Symbol.asyncIterator]: () => pieces });
  assert.ok(Buffer.concat([first, rest]).equals(contentOf('large', 4_000_000)));
  assert.equal((await exporting).captures, CAPTURES + 1);
  const urls = new Set<string>();
  for await (const { head } of readRecords(file)) if (head.targetUri) urls.add(head.targetUri);
  assert.equal(urls.size, CAPTURES + 1);
});
