/** Pages are found by their ids, whatever was stored or deleted after the last look-up. */
import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pageId } from '../../src/url/index.ts';
import { bytesOf, contentOf, makeArchive, NOON, page } from './trial-archive.ts';

const DAY = 86_400_000;
const missing = { code: 'CONTENT_MISSING' };

test('a page is found by its id: the latest capture, or the one nearest to a time', async (t) => {
  const archive = await makeArchive(t);
  const urls = [
    'http://a.example/one',
    'https://a.example/one',
    'http://www.a.example/one',
    'http://b.example/?q=%c3%a9',
  ];
  for (const [index, url] of urls.entries())
    for (const day of [1, 3, 4]) await archive.store(page(url, NOON + day * DAY, contentOf(`${index} ${day}`)));
  for (const [index, url] of urls.entries()) {
    const at = async (time?: number) => bytesOf((await archive.getPage(pageId(url), time)).payload);
    assert.deepEqual(await at(), Buffer.from(contentOf(`${index} 4`)), url);
    assert.deepEqual(await at(NOON), Buffer.from(contentOf(`${index} 1`)));
    assert.deepEqual(await at(NOON + 2 * DAY), Buffer.from(contentOf(`${index} 1`)), 'the earlier of two');
    assert.deepEqual(await at(NOON + 2.6 * DAY), Buffer.from(contentOf(`${index} 3`)));
  }
  assert.equal((await archive.getPage(pageId('HTTP://B.example:80/?q=%C3%A9#top'))).capture.url, urls[3]);
  await assert.rejects(archive.getPage(pageId('http://nowhere.example/')), missing);
});

test('a look-up by id finds pages that were stored after the first look-up, and no deleted ones', async (t) => {
  const archive = await makeArchive(t);
  await archive.store(page('http://a.example/1', NOON, contentOf('1')));
  await assert.rejects(archive.getPage(pageId('http://a.example/2')), missing);
  await archive.store(page('http://a.example/2', NOON, contentOf('2')));
  assert.deepEqual(
    await bytesOf((await archive.getPage(pageId('http://a.example/2'))).payload),
    Buffer.from(contentOf('2')),
  );
  await archive.delete({ url: 'http://a.example/1' });
  await assert.rejects(archive.getPage(pageId('http://a.example/1')), missing);
  await archive.compact();
  await archive.rebuild();
  const asked = Array.from({ length: 5 }, () => archive.getPage(pageId('http://a.example/2')));
  for (const { capture } of await Promise.all(asked)) assert.equal(capture.url, 'http://a.example/2');
  const file = join(archive.directory, 'pages.txt');
  assert.ok(existsSync(file));
  rmSync(file);
  assert.equal(
    (await archive.getPage(pageId('http://a.example/2'))).capture.url,
    'http://a.example/2',
    'the file is derived',
  );
});

test('each of a thousand pages is found by its id', async (t) => {
  const archive = await makeArchive(t);
  const url = (n: number) => `http://a.example/${'path/'.repeat(n % 7)}${n}`;
  for (let from = 0; from < 1000; from += 250)
    await Promise.all(
      Array.from({ length: 250 }, (_, index) =>
        archive.store(page(url(from + index), NOON, contentOf(`${(from + index) % 9}`))),
      ),
    );
  for (let n = 0; n < 1000; n += 13) assert.equal((await archive.getPage(pageId(url(n)))).capture.url, url(n));
});
