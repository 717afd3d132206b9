import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { utf8 } from '../base/index.ts';
import { readPageOnThisThread } from './page.ts';
import { readPageInBackground } from './page-process.ts';

function sourceOf(text: string) {
  return { bytes: utf8(text), mime: 'text/html', url: 'http://one.example/' };
}

test('reading a large page in the background gives the same result as on the calling thread', async () => {
  const source = sourceOf(
    `<title>Large</title>${'<p>some words <a href="/next">next</a>'.repeat(40_000)}${'<'.repeat(500_000)}`,
  );
  const options = { text: false };
  const reading = readPageInBackground(source, options);
  const other = new Promise((resolve) => setImmediate(resolve, 'something else'));
  assert.equal(await Promise.race([reading.then(() => 'the page'), other]), 'something else');
  // `assert.deepEqual` would take gigabytes to explain a difference between large pages.
  assert.ok(isDeepStrictEqual(await reading, await readPageOnThisThread(source, options)));
  assert.ok(isDeepStrictEqual(await readPageInBackground(source), await readPageOnThisThread(source)));
});

test('when a page takes too long, its beginning is read', async () => {
  const start = `<title>Large</title><p>first words${' more'.repeat(300_000)}`;
  // Reading this takes some tenths of a second on any machine.
  const slow = sourceOf(`${start}${'<'.repeat(4 * 1024 * 1024)}`);
  const pages = await Promise.all([1, 2, 3].map(() => readPageInBackground(slow, {}, { msMax: 1 })));
  for (const page of pages) {
    assert.deepEqual([page?.title, page?.isTruncated], ['Large', true]);
    assert.match(page!.text, /^first words more/);
    assert.doesNotMatch(page!.text, /</);
  }
  assert.match((await readPageInBackground(sourceOf(`${start} last words`)))!.text, /last words$/);
});
