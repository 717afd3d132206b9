/** Work that reads a whole archive can take long, so it reports its progress and can be aborted. */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Archive, dropCatalog, openArchive, writeParquet } from '../../src/archive/index.ts';
import { contentOf, makeArchive, NOON, page, trialOptions } from './trial-archive.ts';

const CAPTURES = 12;

async function filledArchive(t: TestContext): Promise<Archive> {
  const archive = await makeArchive(t);
  for (let n = 0; n < CAPTURES; n++) await archive.store(page(`http://a.test/${n}`, NOON, contentOf(`${n % 5}`)));
  return archive;
}

async function linesOf(lines: AsyncIterable<string>): Promise<number> {
  let count = 0;
  for await (const _ of lines) count++;
  return count;
}

test('statistics, deletions and index lines report their progress', async (t) => {
  const archive = await filledArchive(t);
  const reported: number[] = [];
  const onProgress = (now: number) => void reported.push(now);
  const last = () => reported.splice(0).at(-1);
  await archive.stats({ onProgress });
  assert.equal(last(), 1);
  assert.equal(await linesOf(archive.exportCdxj({}, undefined, { onProgress })), CAPTURES);
  assert.equal(last(), CAPTURES);
  await archive.previewDelete({ prefix: 'http://a.test/1' }, { onProgress });
  assert.equal(last(), 3);
  await archive.delete({ prefix: 'http://a.test/1' }, { onProgress });
  assert.equal(last(), 3);
});

test('opening and adding a volume report their progress while they read segments that the catalog does not know', async (t) => {
  const archive = await filledArchive(t);
  const segments = (await archive.segments()).map(({ name, bytes }) => ({ name, bytes }));
  await archive.close();
  const reported: { name: string; bytes: number }[] = [];
  const tell = ({ name, bytes }: { name: string; bytes: number }) => void reported.push({ name, bytes });
  const known = await openArchive(archive.directory, { ...trialOptions(), onOpening: tell });
  await known.close();
  assert.deepEqual(reported.splice(0), []);
  await dropCatalog(archive.directory);
  const unknown = await openArchive(archive.directory, { ...trialOptions(), onOpening: tell });
  await unknown.close();
  assert.deepEqual(reported.splice(0), segments);
  const other = await makeArchive(t);
  const path = join(archive.directory, 'volumes', 'main');
  await other.addVolume({ name: 'theirs', path, isReadOnly: true }, { onProgress: tell });
  assert.deepEqual(reported, segments);
});

test('statistics, previews of deletions and index lines stop when they are aborted', async (t) => {
  const archive = await filledArchive(t);
  const signal = AbortSignal.abort();
  const isAbort = { name: 'AbortError' };
  await assert.rejects(archive.stats({ signal }), isAbort);
  await assert.rejects(archive.previewDelete({ prefix: 'http://a.test/1' }, { signal }), isAbort);
  await assert.rejects(linesOf(archive.exportCdxj({}, undefined, { signal })), isAbort);
});

test('writing a table whose rows arrive without a pause can be aborted, and leaves no file behind', async (t) => {
  const { directory } = await makeArchive(t);
  const stop = new AbortController();
  function* rows() {
    setImmediate(() => stop.abort());
    for (let n = 0; n < 200_000; n++) yield [n];
  }
  const columns = [{ name: 'n', type: 'BIGINT' }] as const;
  const before = await readdir(directory);
  await assert.rejects(writeParquet(join(directory, 'n.parquet'), columns, rows(), { signal: stop.signal }), {
    name: 'AbortError',
  });
  assert.deepEqual(await readdir(directory), before);
});
