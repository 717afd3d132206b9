import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { utf8 } from '../base/index.ts';
import { readPageHere } from './page.ts';
import { readPageAside } from './page-process.ts';

function sourceOf(text: string) {
  return { bytes: utf8(text), mime: 'text/html', url: 'http://one.example/' };
}

test('a large page is read as others are, and while it is read something else can be done', async () => {
  const source = sourceOf(
    `<title>Large</title>${'<p>some words <a href="/next">next</a>'.repeat(40_000)}${'<'.repeat(500_000)}`,
  );
  const parts = { text: false };
  const reading = readPageAside(source, parts);
  const other = new Promise((resolve) => setImmediate(resolve, 'something else'));
  assert.equal(await Promise.race([reading.then(() => 'the page'), other]), 'something else');
  // A comparison that explains itself would take gigabytes for pages of this size.
  assert.ok(isDeepStrictEqual(await reading, await readPageHere(source, parts)));
  assert.ok(isDeepStrictEqual(await readPageAside(source), await readPageHere(source)));
});

test('of a page that takes too long the beginning is read, it says so, and the next ones are read', async () => {
  const start = `<title>Large</title><p>first words${' more'.repeat(300_000)}`;
  // Takes the thread some tenths of a second, whatever else the machine does.
  const slow = sourceOf(`${start}${'<'.repeat(4 * 1024 * 1024)}`);
  const pages = await Promise.all([1, 2, 3].map(() => readPageAside(slow, {}, { msMax: 1 })));
  for (const page of pages) {
    assert.deepEqual([page?.title, page?.isTruncated], ['Large', true]);
    assert.match(page!.text, /^first words more/);
    assert.doesNotMatch(page!.text, /</);
  }
  assert.match((await readPageAside(sourceOf(`${start} last words`)))!.text, /last words$/);
});
