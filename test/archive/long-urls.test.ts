/**
 * URLs of any length. Many have a common beginning longer than the keys of the catalog, and every way to find captures
 * still gives each of them once.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compare, utf8 } from '../../src/base/index.ts';
import { answers, audit, bytesOf, contentOf, makeArchive, NOON, page } from './trial-archive.ts';

const START = `http://long.example/${'x'.repeat(700)}/`;
const URLS = ['a', 'b', 'b/1', 'b/2?q=1', 'bb', `b/${'y'.repeat(30_000)}`, 'c?q=1', 'c?q=2'].map((end) => START + end);
const OTHERS = ['http://long.example/', 'http://long.example/y', `http://long.example/${'x'.repeat(700)}`];

test('URLs with a long common beginning are stored, found, streamed, listed and deleted like others', async (t) => {
  const archive = await makeArchive(t);
  const all = [...URLS, ...OTHERS];
  for (const [index, url] of all.entries())
    for (const day of [0, 1]) await archive.store(page(url, NOON + day * 1000, contentOf(`${index} ${day}`)));
  for (const [index, url] of all.entries()) {
    const { capture, payload } = await archive.get(url, NOON + 1000);
    assert.deepEqual([capture.url, await bytesOf(payload)], [url, Buffer.from(contentOf(`${index} 1`))]);
  }

  const streamed: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const stream = await archive.stream({ order: 'url', ...(cursor !== undefined && { cursor }) });
    // One capture for each stream, so that every stream stops between two captures.
    const { value: record } = await stream[Symbol.asyncIterator]().next();
    if (record) streamed.push(`${record.head.targetUri} ${record.head.date}`);
    if (!record) break;
    cursor = stream.cursor();
  }
  const visits = streamed.filter((line) => line.startsWith('http'));
  assert.equal(new Set(visits).size, 2 * all.length);
  assert.equal(visits.length, 2 * all.length);

  const lines: string[] = [];
  for await (const line of archive.exportCdxj({})) lines.push(line);
  assert.equal(lines.length, 2 * all.length);
  assert.deepEqual(
    lines,
    lines.toSorted((a, b) => compare(utf8(a), utf8(b))),
  );

  const before = await answers(archive);
  await archive.rebuild();
  assert.deepEqual(await answers(archive), before);

  const { captures } = await archive.previewDelete({ prefix: `${START}b/` });
  assert.equal(captures, 2 * 4);
  await archive.delete({ prefix: `${START}b/` });
  for (const url of all) {
    const isGone = url === `${START}b` || url.startsWith(`${START}b/`);
    const found = await archive.findCapture(url);
    assert.equal(found === undefined, isGone, url.slice(0, 750));
  }
  await archive.compact();
  assert.deepEqual(await audit(archive), []);
});
