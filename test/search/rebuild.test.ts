/**
 * Rebuilding the index. The old index serves searches until the new one is complete. Then open searches switch to the
 * new one. A crash leaves either the old or the new index.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openArchive } from '../../src/archive/index.ts';
import { Indexer, openSearch, SEARCH_FILE } from '../../src/search/index.ts';
import { makeArchive, trialOptions } from '../archive/trial-archive.ts';
import { indexed, pageWith, storePages } from './trial-pages.ts';

async function indexFiles(directory: string): Promise<string[]> {
  return (await readdir(directory)).filter((name) => name.startsWith('search') && !/-(wal|shm)$/.test(name));
}

test('the old index serves searches and is kept up to date during a rebuild, and open searches then switch to the new index', async (t) => {
  const archive = await makeArchive(t);
  await storePages(archive, [pageWith('one', 'zebra'), pageWith('two', 'zebra')]);
  await indexed(archive);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  const totals = async () => [(await search.search('zebra')).total, (await search.search('okapi')).total];
  assert.deepEqual(await totals(), [2, 0]);
  const anew = await Indexer.open(archive, { isRebuild: true });
  assert.deepEqual(await totals(), [2, 0]);
  assert.equal((await anew.catchUp()).documents, 2);
  assert.deepEqual(await totals(), [2, 0]);
  // Another indexer adds this page to the old index. The new index must have the page too.
  await storePages(archive, [pageWith('three', 'okapi')]);
  await archive.delete({ url: 'http://two.example/' });
  await indexed(archive);
  assert.deepEqual(await totals(), [1, 1]);
  const { batch } = search.status();
  await anew.close();
  assert.deepEqual(await totals(), [1, 1]);
  assert.ok(search.status().batch > batch, 'the index was replaced');
  assert.deepEqual(await indexFiles(archive.directory), [SEARCH_FILE]);
  assert.equal((await indexed(archive)).documents, 0);
});

test('an aborted rebuild leaves the old index, and removes the new one', async (t) => {
  const archive = await makeArchive(t);
  await storePages(archive, [pageWith('one', 'zebra')]);
  await indexed(archive);
  const anew = await Indexer.open(archive, { isRebuild: true });
  await assert.rejects(anew.catchUp({ signal: AbortSignal.abort() }));
  await anew.close();
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  assert.equal((await search.search('zebra')).total, 1);
  assert.deepEqual(await indexFiles(archive.directory), [SEARCH_FILE]);
});

test('a rebuild replaces an index that cannot be read', async (t) => {
  const archive = await makeArchive(t);
  await storePages(archive, [pageWith('one', 'zebra')]);
  await writeFile(join(archive.directory, SEARCH_FILE), 'not a database '.repeat(1000));
  const anew = await Indexer.open(archive, { isRebuild: true });
  await anew.catchUp();
  await anew.close();
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  assert.equal((await search.search('zebra')).total, 1);
});

test('a kill at any moment of a rebuild leaves a usable index', async (t) => {
  const first = await makeArchive(t);
  const { directory } = first;
  await storePages(
    first,
    Array.from({ length: 12 }, (_, at) => pageWith(`page${at}`, 'zebra')),
  );
  await indexed(first);
  await first.close();
  const child = fileURLToPath(new URL('./rebuilding-child.ts', import.meta.url));
  for (let steps = 1; ; steps++) {
    const running = spawn(process.execPath, [child, directory, String(steps)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(running, 'exit');
    let isDone = false;
    running.stdout.on('data', (output: Buffer) => {
      isDone = output.toString().includes('done');
      running.kill('SIGKILL');
    });
    await ended;
    const search = openSearch(directory);
    assert.equal((await search.search('zebra')).total, 12, `killed at ${steps}`);
    search.close();
    if (isDone) break;
  }
  const archive = await openArchive(directory, trialOptions({ seed: 77 }));
  t.after(() => archive.close());
  await indexed(archive);
  assert.deepEqual(await indexFiles(directory), [SEARCH_FILE]);
});
