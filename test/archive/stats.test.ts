import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { contentOf, makeArchive, NOON, page } from './trial-archive.ts';

const DAY_MS = 24 * 3600 * 1000;

/** Three crawls: contents by letter, at URLs by number. */
const CRAWLS = [
  { name: 'spring', day: 0, pages: { 1: 'a', 2: 'a', 3: 'b', 4: 'c' } },
  { name: 'summer', day: 90, pages: { 1: 'a', 2: 'd', 5: 'e' } },
  { name: 'autumn', day: 180, pages: { 1: 'a', 2: 'd', 5: 'd', 6: 'b', 7: 'f' } },
];

describe('stats', () => {
  test('report duplication and persistence of each crawl against the previous crawl, as table 1 of the paper does', async (t) => {
    const archive = await makeArchive(t);
    // Stored out of order: the order of crawls is the order of their captures.
    for (const { name, day, pages } of [CRAWLS[1]!, CRAWLS[0]!, CRAWLS[2]!]) {
      for (const [url, content] of Object.entries(pages))
        await archive.store(page(`http://a.test/${url}`, NOON + day * DAY_MS, contentOf(content)), {
          collection: name,
        });
    }
    const { collections } = await archive.stats();
    assert.deepEqual(
      collections.map(({ firstTime: _, lastTime: __, ...rest }) => rest),
      [
        {
          collection: 'spring',
          captures: 4,
          urls: 4,
          contents: 4,
          duplicates: 1,
          duplicatesOfPrevious: undefined,
          persistentUrls: undefined,
        },
        {
          collection: 'summer',
          captures: 3,
          urls: 3,
          contents: 3,
          duplicates: 0,
          duplicatesOfPrevious: 1,
          persistentUrls: 2,
        },
        {
          collection: 'autumn',
          captures: 5,
          urls: 5,
          contents: 5,
          duplicates: 1,
          duplicatesOfPrevious: 3,
          persistentUrls: 3,
        },
      ],
    );
    assert.equal(collections[1]!.firstTime, NOON + 90 * DAY_MS);
  });

  test('report the bytes that are held, stored and saved', async (t) => {
    const archive = await makeArchive(t);
    const [large, other] = [contentOf('large', 50_000), contentOf('other', 20_000)];
    await archive.store(page('http://a.test/1', NOON, large));
    await archive.store(page('http://a.test/2', NOON, large));
    await archive.store(page('http://a.test/3', NOON, other));
    // Too small for a revisit, so they are stored twice.
    const small = contentOf('small', 100);
    await archive.store(page('http://a.test/4', NOON, small));
    await archive.store(page('http://a.test/5', NOON, small));
    const stats = await archive.stats();
    const { captures, blocks, revisits, payloadBytes, uniquePayloadBytes, storedPayloadBytes, storedBytes } = stats;
    assert.deepEqual({ captures, blocks, revisits }, { captures: 5, blocks: 3, revisits: 1 });
    assert.equal(payloadBytes, 120_200);
    assert.equal(uniquePayloadBytes, 70_100);
    assert.equal(storedPayloadBytes, 70_200);
    assert.equal(stats.savedByDeduplicationBytes, 50_000);
    assert.equal(
      storedBytes,
      (await archive.segments()).reduce((sum, { bytes }) => sum + bytes, 0),
    );
    assert.equal(stats.savedByCompressionBytes, 70_200 - storedBytes);
    assert.equal(stats.unresolvedRevisits, 0);
    assert.ok(stats.catalogBytes >= 0);
  });

  test('of an empty archive are all zero', async (t) => {
    const archive = await makeArchive(t);
    const stats = await archive.stats();
    assert.deepEqual([stats.captures, stats.storedBytes, stats.collections.length], [0, 0, 0]);
  });

  test('leave deleted captures out', async (t) => {
    const archive = await makeArchive(t);
    await archive.store(page('http://a.test/1', NOON, contentOf('a')), { collection: 'c' });
    await archive.store(page('http://a.test/2', NOON, contentOf('b')), { collection: 'c' });
    await archive.delete({ url: 'http://a.test/1' });
    const before = await archive.stats();
    assert.deepEqual([before.captures, before.blocks, before.collections[0]!.urls], [1, 1, 1]);
    assert.ok(before.deadBytes > 0);
    await archive.compact();
    assert.equal((await archive.stats()).deadBytes, 0);
  });
});
