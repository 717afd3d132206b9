/**
 * Contents whose fingerprints collide, which a fingerprint of 8 bits makes likely: the fake duplicates of the papers.
 * About 40 of 160 contents share their fingerprint with another.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../src/base/index.ts';
import { openWithParts } from './opened-parts.ts';
import { answers, audit, bytesOf, contentOf, makeArchive, NOON, page, trialOptions } from './trial-archive.ts';

/** Only the first byte of the digest. */
function weak(digest: Uint8Array): Uint8Array {
  const print = new Uint8Array(32);
  print[0] = digest[0]!;
  return print;
}

const COUNT = 240;
const DISTINCT = 160;

for (const mode of ['compare', 'regular'] as const) {
  test(`I7 Never a false duplicate: with colliding fingerprints, ${mode} keeps ${mode === 'compare' ? 'every content apart' : 'contents of different size apart'}, also after compaction and a rebuild`, async (t) => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    t.diagnostic(`seed ${seed}`);
    const random = seededRandom(seed);
    let archive = await makeArchive(t, { fingerprint: weak, policies: { segmentBytesMax: 100_000 }, seed });
    // Regular mode may take contents of one size for each other, so every content has a different size.
    const bodyOf = (content: number) => contentOf(`fake ${content}`, mode === 'compare' ? 1500 : 1500 + content);
    const stored: { url: string; time: number; content: number; key: string }[] = [];
    for (let n = 0; n < COUNT; n += 20) {
      const group = Array.from({ length: 20 }, async (_, index) => {
        const content = Math.floor(random() * DISTINCT);
        const at = { url: `http://e${(n + index) % 9}.example/${n + index}`, time: NOON + n + index, content };
        const options = { mode, collection: index % 2 === 0 ? 'zebra' : 'ant' };
        const { key } = await archive.store(page(at.url, at.time, bodyOf(content)), options);
        stored.push({ ...at, key });
      });
      await Promise.all(group);
    }
    assert.ok(
      stored.some(({ key }) => key.endsWith('~1')),
      'some fingerprints collide',
    );
    const check = async (kept: readonly (typeof stored)[number][]) => {
      const keys = new Map<string, number>();
      for (const { url, time, content, key } of kept) {
        const expected = Buffer.from(bodyOf(content));
        assert.ok(
          (await bytesOf((await archive.get(url, time)).payload)).equals(expected),
          `${url} has another content`,
        );
        assert.ok((await bytesOf((await archive.content(key)).payload)).equals(expected), `${key} is another content`);
        assert.equal(keys.get(key) ?? content, content, 'two contents have one key');
        keys.set(key, content);
      }
      assert.deepEqual(await audit(archive), []);
    };
    await check(stored);
    const kept = stored.filter(() => random() < 0.5);
    for (const one of stored) if (!kept.includes(one)) await archive.delete({ url: one.url });
    await check(kept);
    await archive.compact();
    await check(kept);
    const before = await answers(archive);
    await archive.rebuild();
    assert.deepEqual(await answers(archive), before);
    await check(kept);
    await archive.close();
    archive = await openWithParts(archive.directory, trialOptions({ fingerprint: weak, seed: seed + 1 }));
    t.after(() => archive.close().catch(() => {}));
    await check(kept);
  });
}
