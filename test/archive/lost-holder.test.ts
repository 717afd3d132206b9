/** A content that is stored again replaces an unreadable copy, for every capture with this content. */
import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Archive, dropCatalog, openArchive } from '../../src/archive/index.ts';
import { utf8 } from '../../src/base/index.ts';
import { segmentFiles } from './archive-sample.ts';
import { damageUrl, placeOf } from './damage-sample.ts';
import { response, warcinfo, writeForeign } from './foreign-file.ts';
import {
  allCaptures,
  contentOf,
  makeArchive,
  NOON,
  page,
  payloadAt,
  temporaryDirectory,
  trialOptions,
} from './trial-archive.ts';

const FIRST = 'http://first.example/';
const LATER = 'http://later.example/';
const AGAIN = 'http://again.example/';
const LAST = 'http://last.example/';
const BODY = contentOf('kept once');

/** A content whose holder cannot be read, and a revisit of it. */
async function withLostHolder(t: TestContext): Promise<Archive> {
  const archive = await makeArchive(t);
  await archive.store(page(FIRST, NOON, BODY));
  await archive.store(page(LATER, NOON + 1000, BODY));
  await damageUrl(archive, FIRST, 'start');
  await assert.rejects(payloadAt(archive, LATER), { code: 'RECORD_DAMAGED' });
  return archive;
}

async function kindsOf(archive: Archive): Promise<Record<string, string>> {
  return Object.fromEntries((await allCaptures(archive)).map(({ url, kind }) => [url, kind]));
}

const healed = { [FIRST]: 'response', [LATER]: 'revisit', [AGAIN]: 'response', [LAST]: 'revisit' };

/** Checks that every capture except the damaged one has the content, also after a rebuild. */
async function assertHealed(archive: Archive): Promise<void> {
  assert.deepEqual(await kindsOf(archive), healed);
  for (const url of [LATER, AGAIN, LAST]) assert.deepEqual(await payloadAt(archive, url), Buffer.from(BODY), url);
  await archive.close();
  await dropCatalog(archive.directory);
  const rebuilt = await openArchive(archive.directory, trialOptions({ seed: 2 }));
  for (const url of [LATER, AGAIN, LAST]) assert.deepEqual(await payloadAt(rebuilt, url), Buffer.from(BODY), url);
  await rebuilt.close();
}

test('a page that is stored again holds the content, and later pages are revisits of it', async (t) => {
  const archive = await withLostHolder(t);
  const stored = [page(AGAIN, NOON + 2000, BODY), page(LAST, NOON + 3000, BODY)];
  await Promise.all(stored.map((one) => archive.store(one)));
  await assertHealed(archive);
});

test('a page that is added from a file holds the content, and later pages are revisits of it', async (t) => {
  const archive = await withLostHolder(t);
  const records = [warcinfo(), response(AGAIN, NOON + 2000, BODY), response(LAST, NOON + 3000, BODY)];
  const file = join(await temporaryDirectory(t), 'again.warc.gz');
  await writeForeign(file, records);
  const report = await archive.add([file]);
  assert.deepEqual([report.captures, report.duplicates], [2, 1]);
  await assertHealed(archive);
});

test('I1: a "not modified" response refers to a page of the same group only when that page was committed', async (t) => {
  const events: string[] = [];
  const archive = await makeArchive(t, { onLedgerEvent: (event) => events.push(event) });
  const { capture } = await archive.store(page(FIRST, NOON, BODY));
  await damageUrl(archive, FIRST, 'start');
  const unmodified = { ...page(FIRST, NOON + 2000, utf8('')), notModified: capture };
  events.length = 0;
  await Promise.all([
    archive.store(page(AGAIN, NOON + 1000, BODY), { collection: 'one' }),
    archive.store(unmodified, { collection: 'two' }),
  ]);
  assert.equal(events.length, 2, 'each is in a commit and a segment of its own');
  assert.deepEqual(await payloadAt(archive, FIRST, NOON + 2000), Buffer.from(BODY));
});

test('a page that the archive has is known in the file that brings its content back', async (t) => {
  const archive = await makeArchive(t);
  const directory = await temporaryDirectory(t);
  const [first, second] = [join(directory, 'first.warc.gz'), join(directory, 'second.warc.gz')];
  const known = response(FIRST, NOON, BODY);
  await writeForeign(first, [warcinfo(), known]);
  await archive.add([first]);
  await damageUrl(archive, FIRST, 'start');
  // So many that the known page is in a later step than the page that replaces the content.
  const others = Array.from({ length: 1600 }, (_, index) =>
    response(`http://other.example/${index}`, NOON + index * 1000, contentOf(`other ${index}`, 300)),
  );
  await writeForeign(second, [warcinfo(), response(AGAIN, NOON + 2000, BODY), ...others, known]);
  const report = await archive.add([second]);
  assert.deepEqual([report.captures, report.capturesKnown], [1601, 1]);
  assert.equal((await allCaptures(archive)).filter(({ url }) => url === FIRST).length, 1);
});

test('pages are stored while the file with their earlier copies is missing, and the earlier copies are used when it is back', async (t) => {
  const archive = await makeArchive(t, { policies: { segmentBytesMax: 1000 } });
  await archive.store(page(FIRST, NOON, BODY));
  const [file] = segmentFiles(archive.directory);
  renameSync(file!, `${file}.away`);
  await archive.store(page(AGAIN, NOON + 2000, BODY));
  assert.deepEqual(await payloadAt(archive, AGAIN), Buffer.from(BODY));
  renameSync(`${file}.away`, file!);
  assert.deepEqual(await payloadAt(archive, FIRST), Buffer.from(BODY));
});

test('a "not modified" response is kept although the copy that it refers to cannot be read', async (t) => {
  const archive = await makeArchive(t);
  await archive.store(page(FIRST, NOON, BODY));
  const notModified = (await archive.findCapture(FIRST))!;
  await damageUrl(archive, FIRST, 'start');
  const responseHead = Buffer.from('HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n');
  const time = NOON + 5000;
  await archive.store({ kind: 'http', url: FIRST, time, responseHead, body: new Uint8Array(0), notModified });
  const { kind, block } = (await archive.findCapture(FIRST))!;
  assert.deepEqual([kind, block], ['revisit', notModified.block]);
  assert.notEqual((await placeOf(archive, FIRST)).offset, notModified.place.offset);
});
