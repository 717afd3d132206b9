/** A takedown: what it bars does not come back, in any way in which something can come into an archive. */
import assert from 'node:assert/strict';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { type Archive, openArchive, parseContentKey } from '../../src/archive/index.ts';
import { toHex } from '../../src/base/index.ts';
import { response, warcinfo, writeForeign } from './foreign-file.ts';
import { catalogOf, objectsOf, volumesOf } from './opened-parts.ts';
import { allCaptures, audit, bytesOf, contentOf, makeArchive, NOON, page, trialOptions } from './trial-archive.ts';

const SECRET = contentOf('secret');
const GROUND = { reason: 'asked by the author', by: 'an archivist' };
const urls = async (archive: Archive) => (await allCaptures(archive)).map(({ url }) => url).sort();

/** Whether a segment has the bytes of a content. */
async function holds(archive: Archive, content: Uint8Array): Promise<boolean> {
  for (const volume of volumesOf(archive).available())
    for (const { name } of await objectsOf(volume)) {
      const bytes = await bytesOf(volume.stream(name));
      if ((name.endsWith('.gz') ? gunzipSync(bytes) : bytes).includes(Buffer.from(content))) return true;
    }
  return false;
}

test('D3 a content that is taken down leaves every URL, and is refused by stores, adds, healing and rebuilds', async (t) => {
  const archive = await makeArchive(t);
  const { key } = await archive.store(page('http://a.example/', NOON, SECRET));
  await archive.store(page('http://b.example/', NOON, SECRET), { collection: 'other' });
  await archive.store(page('http://c.example/', NOON, contentOf('kept')));
  assert.deepEqual(await archive.previewTakedown({ keys: [key] }), {
    captures: 2,
    contents: 1,
    urls: 0,
    examples: ['http://a.example/', 'http://b.example/'],
  });
  const report = await archive.takeDown({ keys: [key] }, GROUND);
  assert.deepEqual([report.captures, report.contents, report.urls, report.unsealed], [2, 1, 0, []]);
  assert.deepEqual([report.uncompacted.length, report.isGone], [2, false]);
  assert.ok(await holds(archive, SECRET));
  assert.ok(
    (await archive.segments()).every(({ state, name }) => state === 'sealed' || name.startsWith('_deletions/')),
  );
  await archive.compact();
  const { contents, isGone, captures } = await archive.takedowns();
  assert.deepEqual([contents, isGone, captures], [[toHex(parseContentKey(key).digest)], true, 0]);
  assert.ok(!(await holds(archive, SECRET)));

  await assert.rejects(archive.store(page('http://d.example/', NOON, SECRET)), { code: 'CONTENT_BARRED' });
  const records = [
    warcinfo(),
    response('http://e.example/', NOON, SECRET),
    response('http://f.example/', NOON, contentOf('f')),
  ];
  const file = await writeForeign(join(archive.directory, 'f.warc.gz'), records);
  for (const options of [{}, { again: true }, { inPlace: true, collection: 'linked' }]) {
    const added = await archive.add([file], options);
    assert.equal(added.capturesBarred, 1, JSON.stringify(options));
  }
  const left = ['http://c.example/', 'http://f.example/', 'http://f.example/'];
  assert.deepEqual(await urls(archive), left);
  assert.deepEqual(await audit(archive), []);
  await archive.rebuild();
  assert.deepEqual(await urls(archive), left);
  assert.deepEqual((await archive.takedowns()).contents, contents);
  await assert.rejects(archive.store(page('http://d.example/', NOON, SECRET)), { code: 'CONTENT_BARRED' });
});

test('D3 a URL that is taken down stays away with any content, and with its contents these leave other URLs too', async (t) => {
  const archive = await makeArchive(t);
  for (const path of ['a', 'b', 'c'])
    await archive.store(page(`http://x.example/${path}`, NOON, contentOf(path === 'c' ? 'c' : 'shared')));
  assert.equal((await archive.takeDown({ urls: ['http://x.example/c'] }, GROUND)).captures, 1);
  await assert.rejects(archive.store(page('http://x.example/c', NOON + 1000, contentOf('new'))), {
    code: 'CONTENT_BARRED',
  });
  await archive.store(page('http://y.example/c', NOON, contentOf('c')));
  const report = await archive.takeDown({ urls: ['http://x.example/a'], withContents: true }, GROUND);
  assert.deepEqual([report.captures, report.contents, report.urls], [2, 1, 1]);
  assert.deepEqual(await urls(archive), ['http://y.example/c']);
  await archive.compact();
  assert.equal((await archive.takedowns()).isGone, true);
  assert.deepEqual((await archive.verify()).errors, 0);
});

test('D3 stores go on while a takedown searches the catalog, and what they store before the bar is deleted too', async (t) => {
  const archive = await makeArchive(t);
  const { key } = await archive.store(page('http://a.example/', NOON, SECRET));
  const catalog = catalogOf(archive);
  const search = catalog.captures.bind(catalog);
  const searched: (() => Promise<unknown>)[] = [
    () => archive.store(page('http://b.example/', NOON, SECRET)),
    () => assert.rejects(archive.store(page('http://c.example/', NOON, SECRET)), { code: 'CONTENT_BARRED' }),
  ];
  catalog.captures = async function* (range, pageSize) {
    const pages = await Array.fromAsync(search(range, pageSize));
    // If the search were made within the queue of changes, these stores would wait for it, and it for them.
    if (Object.keys(range).length === 0) {
      await searched.shift()?.();
      await archive.store(page(`http://d.example/${searched.length}`, NOON, contentOf('other')));
    }
    yield* pages;
  };
  const report = await archive.takeDown({ keys: [key] }, GROUND);
  assert.deepEqual([report.captures, searched.length], [2, 0]);
  catalog.captures = search;
  assert.ok((await urls(archive)).every((url) => url.startsWith('http://d.example/')));
  await archive.compact();
  assert.equal((await archive.takedowns()).isGone, true);
  assert.ok(!(await holds(archive, SECRET)));
  assert.deepEqual(await audit(archive), []);
});

test('D3 a takedown whose catalog was lost or went back holds', async (t) => {
  for (const loss of ['lost', 'went back']) {
    const archive = await makeArchive(t);
    const { key } = await archive.store(page('http://a.example/', NOON, SECRET));
    await archive.store(page('http://c.example/', NOON, contentOf('kept')));
    await archive.close();
    const catalog = join(archive.directory, 'catalog');
    await cp(catalog, `${catalog}.before`, { recursive: true });
    const barring = await openArchive(archive.directory, trialOptions({ seed: 2 }));
    await barring.takeDown({ keys: [key] }, GROUND);
    await barring.close();
    await rm(catalog, { recursive: true });
    if (loss === 'went back') await cp(`${catalog}.before`, catalog, { recursive: true });
    const again = await openArchive(archive.directory, trialOptions({ seed: 3 }));
    assert.deepEqual(await urls(again), ['http://c.example/'], loss);
    await assert.rejects(again.store(page('http://d.example/', NOON, SECRET)), { code: 'CONTENT_BARRED' });
    await again.compact();
    assert.equal((await again.takedowns()).isGone, true, loss);
    assert.deepEqual(await audit(again), []);
    await again.close();
  }
});

test('a takedown names something, and not too much', async (t) => {
  const archive = await makeArchive(t);
  await assert.rejects(archive.takeDown({}, GROUND), { code: 'BAD_ARGUMENT', message: /name contents or URLs/ });
  const many = Array.from({ length: 2001 }, (_, n) => `http://x.example/${n}`);
  await assert.rejects(archive.previewTakedown({ urls: many }), { code: 'BAD_ARGUMENT', message: /2000/ });
  assert.deepEqual(await archive.takedowns(), {
    contents: [],
    urls: [],
    captures: 0,
    unsealed: [],
    uncompacted: [],
    isGone: true,
  });
});
