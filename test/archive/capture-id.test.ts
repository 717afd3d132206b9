/** Ids of captures that stay valid wherever their records are moved, and what the owner file says about a server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { captureId, openArchive, ownerOf } from '../../src/archive/index.ts';
import { allCaptures, contentOf, makeArchive, NOON, page, trialOptions } from './trial-archive.ts';

test('a capture is found by its id before and after compaction and rebuild, and not after its deletion', async (t) => {
  const archive = await makeArchive(t);
  for (let n = 0; n < 6; n++)
    await archive.store(page(`http://a.example/${n}?q=\u00e9`, NOON + n, contentOf(`c ${n % 3}`)), {
      collection: n % 2 ? 'odd' : 'even',
    });
  // The second collection gets the lower number when numbers follow names.
  await archive.store(page('http://z.example/', NOON, contentOf('z')), { collection: 'a-later-one' });
  const captures = await allCaptures(archive);
  const ids = captures.map(captureId);
  assert.equal(new Set(ids).size, captures.length);
  for (const id of ids) assert.match(id, /^[A-Za-z0-9._~-]+$/, 'an id needs no escapes in a path');
  await archive.delete({ url: captures[0]!.url });
  await archive.compact();
  const check = async () => {
    assert.equal(await archive.captureById(ids[0]!), undefined);
    for (const [index, id] of ids.entries()) {
      if (index === 0) continue;
      const found = await archive.captureById(id);
      assert.equal(found?.url, captures[index]!.url);
      assert.equal(captureId(found), id);
    }
  };
  await check();
  await archive.rebuild();
  await check();
});

test('captures of one URL and time in two collections have different ids', async (t) => {
  const archive = await makeArchive(t);
  for (const collection of ['one', 'two'])
    await archive.store(page('http://a.example/', NOON, contentOf(collection)), { collection });
  const [first, second] = await allCaptures(archive);
  assert.notEqual(captureId(first!), captureId(second!));
  assert.deepEqual(await archive.captureById(captureId(second!)), second);
  const elsewhere = captureId({ ...second!, collection: 99 });
  assert.deepEqual(await archive.captureById(elsewhere), second, 'numbers of collections may have changed');
});

test('captures with very long URLs have ids of bounded length', async (t) => {
  const archive = await makeArchive(t);
  const start = `http://a.example/${'\u{1f980}'.repeat(200)}${'x'.repeat(5000)}`;
  for (const end of ['a', 'b']) await archive.store(page(start + end, NOON, contentOf(end)));
  const captures = await allCaptures(archive);
  for (const capture of captures) {
    const id = captureId(capture);
    assert.ok(id.length < 3000, `${id.length}`);
    assert.equal((await archive.captureById(id))?.url, capture.url);
  }
});

test('a text that is not an id finds nothing', async (t) => {
  const archive = await makeArchive(t);
  const { capture } = await archive.store(page('http://a.example/', NOON, contentOf('a')));
  const id = captureId(capture);
  for (const text of [
    '',
    'x',
    '....',
    id.slice(1),
    `${id}0.`,
    id.replace('.', '/'),
    `${'A'.repeat(100_000)}.0.00000000.1`,
  ])
    assert.equal(await archive.captureById(text), undefined, text.slice(0, 80));
});

test('the owner of an archive publishes which server has it open, until it withdraws that', async (t) => {
  const archive = await makeArchive(t);
  assert.equal((await ownerOf(archive.directory))?.server, undefined);
  const server = { url: 'http://localhost:8080', tokenFile: '/somewhere/token' };
  await archive.announceServer(server);
  assert.deepEqual((await ownerOf(archive.directory))?.server, server);
  assert.equal((await ownerOf(archive.directory))?.pid, process.pid);
  await assert.rejects(openArchive(archive.directory, trialOptions()), { code: 'ARCHIVE_BUSY' });
  await archive.announceServer(undefined);
  assert.equal((await ownerOf(archive.directory))?.server, undefined);
  await archive.flush();
  await archive.close();
  assert.equal(await ownerOf(archive.directory), undefined);
});
