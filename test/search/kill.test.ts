import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openArchive } from '../../src/archive/index.ts';
import { seededRandom } from '../../src/base/index.ts';
import { dropIndex, openSearch } from '../../src/search/index.ts';
import { makeArchive, trialOptions } from '../archive/trial-archive.ts';
import { indexed, storePages, trialPages } from './trial-pages.ts';

const SEED = 5;

/** All results of searches, as one text. */
async function seen(directory: string): Promise<string> {
  const search = openSearch(directory);
  try {
    const lines: string[] = [];
    let after: string | undefined;
    do {
      const page = await search.search('', { group: 'capture', limit: 500, after });
      for (const { url, time, digest, captures, language } of page.items)
        lines.push(JSON.stringify([url, time, digest, captures, language]));
      after = page.next;
    } while (after !== undefined);
    for (const query of ['archive', '图书馆', 'links-to:http://a.example.org/page/1'])
      lines.push(`${query} ${(await search.search(query)).total}`);
    const { documents, urls, captures } = search.status();
    return [...lines.sort(), JSON.stringify([documents, urls, captures])].join('\n');
  } finally {
    search.close();
  }
}

test('after a kill at any moment the indexer continues after the last complete batch, with the same final index', async (t) => {
  t.diagnostic(`seed ${SEED}`);
  const random = seededRandom(SEED);
  const archive = await makeArchive(t);
  const { directory } = archive;
  await storePages(archive, trialPages(SEED, 40));
  await archive.close();
  const child = fileURLToPath(new URL('./indexing-child.ts', import.meta.url));
  let kills = 0;
  for (let round = 1; ; round++) {
    assert.ok(round < 60, 'the indexer makes progress');
    const running = spawn(process.execPath, [child, directory, String(round)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(running, 'exit');
    let lines = 0;
    const linesMax = 1 + Math.floor(random() * 3);
    for await (const line of createInterface({ input: running.stdout })) {
      if (line === 'done') break;
      // Sometimes directly after a batch, sometimes during the next batch.
      if (++lines >= linesMax) {
        if (random() < 0.5) await new Promise((resolve) => setImmediate(resolve));
        running.kill('SIGKILL');
        break;
      }
    }
    const [code, signal] = await ended;
    if (signal === 'SIGKILL') kills++;
    else {
      assert.equal(code, 0);
      break;
    }
  }
  assert.ok(kills >= 2, `${kills} kills`);
  t.diagnostic(`${kills} kills`);
  const survived = await seen(directory);
  await dropIndex(directory);
  const again = await openArchive(directory, trialOptions({ seed: 99 }));
  t.after(() => again.close());
  await indexed(again);
  assert.equal(survived, await seen(directory));
});
