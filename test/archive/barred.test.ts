/** D3: Contents and URLs that may not come back, whichever way they arrive. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Archive, openArchive } from '../../src/archive/index.ts';
import { digestOf, PinakesError } from '../../src/base/index.ts';
import { urlKey } from '../../src/url/index.ts';
import { requestOf, response, warcinfo, writeForeign } from './foreign-file.ts';
import { catalogOf } from './opened-parts.ts';
import { allCaptures, audit, contentOf, makeArchive, NOON, page, trialOptions, walk } from './trial-archive.ts';

const BARRED = contentOf('barred');
const BARRED_URL = 'http://barred.example/';
const KEPT = ['http://a.example/', 'http://b.example/', 'http://c.example/'];

async function barIn(archive: Archive): Promise<void> {
  const bars = [
    { kind: 'content', digest: digestOf('sha256', BARRED).bytes },
    { kind: 'url', urlKey: urlKey(BARRED_URL) },
  ] as const;
  await catalogOf(archive).commit({ bars });
}

const urlsOf = async (archive: Archive) => (await allCaptures(archive)).map(({ url }) => url);

/** Checks that the kept captures are in the archive once, now and after the next opening. */
async function assertKept(archive: Archive): Promise<void> {
  assert.deepEqual(await urlsOf(archive), KEPT);
  assert.deepEqual(await audit(archive), []);
  await archive.close();
  const reopened = await openArchive(archive.directory, trialOptions({ seed: 2 }));
  assert.deepEqual(await urlsOf(reopened), KEPT);
  await reopened.close();
}

test('stores of barred contents and URLs are refused, and the other stores of their group are taken once', async (t) => {
  const archive = await makeArchive(t);
  await barIn(archive);
  const pages = [
    page(KEPT[0]!, NOON, contentOf('a')),
    page('http://x.example/', NOON, BARRED),
    page(KEPT[1]!, NOON, contentOf('a')),
    page(BARRED_URL, NOON, contentOf('b')),
    page(KEPT[2]!, NOON, contentOf('b')),
  ];
  const results = await Promise.allSettled(pages.map((one) => archive.store(one)));
  const codes = results.map((result) =>
    result.status === 'rejected' && result.reason instanceof PinakesError ? result.reason.code : result.status,
  );
  assert.deepEqual(codes, ['fulfilled', 'CONTENT_BARRED', 'fulfilled', 'CONTENT_BARRED', 'fulfilled']);
  assert.equal((await walk(archive)).filter(({ head }) => head.targetUri === BARRED_URL).length, 0);
  await assertKept(archive);
});

test('a refused store leaves no empty segment behind, however small segments are', async (t) => {
  const archive = await makeArchive(t, { policies: { segmentBytesMax: 100 } });
  await barIn(archive);
  await assert.rejects(archive.store(page(BARRED_URL, NOON, contentOf('b'))), { code: 'CONTENT_BARRED' });
  for (const url of KEPT) await archive.store(page(url, NOON, contentOf(url)));
  const segments = await catalogOf(archive).segments();
  assert.deepEqual(
    segments.map(({ state, bytes }) => [state, bytes > 0]),
    [
      ['sealed', true],
      ['sealed', true],
      ['open', true],
    ],
  );
  await assertKept(archive);
});

for (const inPlace of [false, true])
  test(`barred contents and URLs of a file are left out, ${inPlace ? 'in place' : 'copied'}`, async (t) => {
    const archive = await makeArchive(t);
    await barIn(archive);
    const [other, mine] = [response('http://x.example/', NOON, BARRED), response(BARRED_URL, NOON, contentOf('b'))];
    const kept = KEPT.map((url, index) => response(url, NOON + index, contentOf(url)));
    const records = [warcinfo(), kept[0]!, other, requestOf(other), kept[1]!, mine, requestOf(mine), kept[2]!];
    const file = await writeForeign(join(archive.directory, 'file.warc.gz'), records);
    const report = await archive.add([file], { inPlace });
    assert.deepEqual([report.captures, report.capturesBarred, report.failures], [3, 2, []]);
    const [segment] = await archive.segments();
    const dead = await catalogOf(archive).deadRecords(segment!.number);
    const digests = dead.map(({ block }) => block && Buffer.from(block.digest).toString('hex'));
    const wanted = [BARRED, contentOf('b')].map((body) => Buffer.from(digestOf('sha256', body).bytes).toString('hex'));
    assert.deepEqual(digests, inPlace ? wanted : []);
    if (!inPlace) assert.ok((await walk(archive)).every(({ head }) => head.targetUri !== BARRED_URL));
    await assertKept(archive);
  });
