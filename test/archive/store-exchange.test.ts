import assert from 'node:assert/strict';
import { test } from 'node:test';
import { utf8 } from '../../src/base/index.ts';
import { allCaptures, answers, audit, contentOf, makeArchive, NOON, page, payloadAt, walk } from './trial-archive.ts';

const URL_A = 'http://a.example/';
const NOT_MODIFIED = utf8('HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n');
const NOTHING = new Uint8Array(0);

test('a 304 is stored as a revisit of the capture that it confirms, also after a rebuild', async (t) => {
  const archive = await makeArchive(t);
  const { capture } = await archive.store(page(URL_A, NOON, contentOf('a')));
  const stored = await archive.store({
    kind: 'http',
    url: URL_A,
    time: NOON + 1000,
    responseHead: NOT_MODIFIED,
    body: NOTHING,
    notModified: capture,
  });
  assert.deepEqual([stored.isNew, stored.capture.kind, stored.capture.status], [false, 'revisit', 304]);
  const { head } = await archive.open(stored.capture);
  assert.ok(head.get('warc-profile')?.endsWith('/server-not-modified'));
  assert.equal(head.get('warc-refers-to-target-uri'), URL_A);
  assert.equal(head.get('warc-refers-to-date'), '2026-01-01T12:00:00Z');
  assert.equal(head.get('warc-truncated'), undefined);
  assert.deepEqual(await payloadAt(archive, URL_A), Buffer.from(contentOf('a')));
  assert.deepEqual(await audit(archive), []);
  const before = await answers(archive);
  await archive.rebuild();
  assert.deepEqual(await answers(archive), before);
});

test('a 304 whose content is no longer in the archive is kept as a response', async (t) => {
  const archive = await makeArchive(t);
  const { capture } = await archive.store(page(URL_A, NOON, contentOf('a')));
  await archive.delete({ url: URL_A });
  const stored = await archive.store({
    kind: 'http',
    url: URL_A,
    time: NOON + 1000,
    responseHead: NOT_MODIFIED,
    body: NOTHING,
    notModified: capture,
  });
  assert.equal(stored.capture.kind, 'response');
  assert.deepEqual(await audit(archive), []);
});

test('`fields` is called after the body was read, and a revisit has its own WARC-Truncated', async (t) => {
  const archive = await makeArchive(t);
  let isOver = false;
  const body = async function* () {
    yield contentOf('cut');
    isOver = true;
  };
  const fields = () => [{ name: 'WARC-Truncated', value: isOver ? 'disconnect' : 'too early' }];
  const first = await archive.store({ ...page(URL_A, NOON, body()), fields });
  assert.equal((await archive.open(first.capture)).head.get('warc-truncated'), 'disconnect');
  const second = await archive.store({ ...page(URL_A, NOON + 1000, body()), fields });
  const said = (await archive.open(second.capture)).head.fields.filter(({ name }) => name === 'WARC-Truncated');
  assert.deepEqual(
    said.map(({ value }) => value),
    ['length'],
  );
});

test('a metadata record stays with its collection and is not a capture', async (t) => {
  const archive = await makeArchive(t);
  const recordId = await archive.storeMetadata(
    { url: 'urn:test:report', time: NOON, mime: 'application/json', body: utf8('{"done":true}') },
    { collection: 'crawled' },
  );
  assert.deepEqual(await allCaptures(archive), []);
  const [, record] = await walk(archive);
  assert.deepEqual(
    [record?.head.type, record?.head.recordId, record?.head.targetUri],
    ['metadata', recordId, 'urn:test:report'],
  );
  assert.deepEqual(await audit(archive), []);
  assert.equal((await archive.verify()).errors, 0);
});
