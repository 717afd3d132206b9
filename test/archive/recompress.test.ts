/**
 * Recompression turns cold segments into zstd, each with its own dictionary. Records, answers, streams and cursors stay
 * the same.
 */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync, zstdDecompressSync } from 'node:zlib';
import { type Archive, openArchive } from '../../src/archive/index.ts';
import { utf8 } from '../../src/base/index.ts';
import { readRecords } from '../../src/warc/index.ts';
import { response, warcinfo, writeForeign } from './foreign-file.ts';
import {
  allCaptures,
  answers,
  audit,
  bytesOf,
  makeArchive,
  NOON,
  page,
  payloadAt,
  trialOptions,
} from './trial-archive.ts';

/** A page of a site: mostly text that all pages have, and a part that only this page has. */
function sitePage(n: number): Uint8Array {
  const rows = Array.from({ length: 12 }, (_, row) => {
    const word = createHash('md5').update(`${n} ${row}`).digest('hex');
    return `<tr class="row"><td><a href="/articles/${word}">${word.slice(0, 9)}</a></td><td>published</td></tr>`;
  });
  const menu = ['Home', 'Articles', 'About us', 'Contact', 'Imprint'].map((text) => `<li class="menu">${text}</li>`);
  return utf8(`<!doctype html><html><head><title>Article ${n}</title></head><body><ul>${menu.join('')}</ul>
<table>${rows.join('\n')}</table><footer>All rights reserved by the example archive of pages</footer></body></html>`);
}

async function seal(archive: Archive): Promise<void> {
  await archive.setVolumeWritable('main', false);
  await archive.setVolumeWritable('main', true);
}

/** Enough pages to train a dictionary. The last quarter repeats the first. */
async function filled(archive: Archive, { count = 300, isSealed = true } = {}): Promise<void> {
  for (let from = 0; from < count; from += 100) {
    const stores = Array.from({ length: 100 }, (_, index) => {
      const n = from + index;
      const request = utf8(`GET /${n} HTTP/1.1\r\nHost: a.example\r\n\r\n`);
      return archive.store({ ...page(`http://a.example/${n}`, NOON + n * 1000, sitePage(n % 225)), request });
    });
    await Promise.all(stores);
  }
  if (isSealed) await seal(archive);
}

/** Collection, coding and state of every segment. */
async function states(archive: Archive): Promise<string[]> {
  return (await archive.segments()).map(
    ({ name, state }) => `${name.split('/')[0]}.${name.split('.').at(-1)} ${state}`,
  );
}

/** Head and block of every record in order, without those that the archive wrote about its segments. */
async function recordBytes(archive: Archive): Promise<string[]> {
  const records: string[] = [];
  for (const { name } of await archive.segments()) {
    let isFirst = true;
    for await (const record of readRecords(archive.segmentBytes(name), { name })) {
      const hash = createHash('sha256').update(record.head.bytes);
      for await (const piece of record.body()) hash.update(piece);
      const isRuns = record.head.targetUri === 'urn:pinakes:runs';
      if (!isFirst && !isRuns) records.push(`${record.head.recordId} ${hash.digest('hex')}`);
      isFirst = false;
    }
  }
  return records;
}

async function fullProblems(archive: Archive): Promise<string[]> {
  const problems: string[] = [];
  await archive.verify({
    depth: 'full',
    onProblem: async ({ code, message }) => void problems.push(`${code} ${message}`),
  });
  return problems;
}

test('a recompressed archive is smaller, with the same records in the same order', async (t) => {
  const archive = await makeArchive(t);
  await filled(archive);
  const before = {
    records: await recordBytes(archive),
    answers: await answers(archive),
    bytes: (await archive.segments())[0]!.bytes,
  };
  const estimate = await archive.recompress({ dryRun: true });
  assert.equal(estimate.segments, 1);
  assert.match((await archive.segments())[0]!.name, /\.warc\.gz$/, 'a dry run changes nothing');
  const report = await archive.recompress();
  assert.deepEqual(report.left, []);
  assert.equal(report.segments, 1);
  assert.equal(report.bytesBefore, before.bytes);
  assert.ok(report.bytesAfter < 0.8 * report.bytesBefore, `${report.bytesAfter} of ${report.bytesBefore}`);
  assert.ok(
    Math.abs(estimate.bytesAfter / report.bytesAfter - 1) < 0.15,
    `estimated ${estimate.bytesAfter}, became ${report.bytesAfter}`,
  );
  const [segment] = await archive.segments();
  assert.match(segment!.name, /\.warc\.zst$/);
  assert.equal(segment!.bytes, report.bytesAfter);
  assert.deepEqual(await recordBytes(archive), before.records, 'I4: ids, heads and blocks are unchanged');
  assert.deepEqual(await answers(archive), before.answers);
  assert.deepEqual(await audit(archive), []);
  assert.deepEqual(await fullProblems(archive), []);
  assert.equal((await archive.recompress()).segments, 0, 'there is nothing left to do');
  await archive.store(page('http://a.example/new', NOON, sitePage(3)));
  assert.deepEqual(await payloadAt(archive, 'http://a.example/new'), Buffer.from(sitePage(3)));
  const later = await answers(archive);
  await archive.rebuild();
  assert.deepEqual(await answers(archive), later);
});

test('recompression seals an open segment, unless the segment would hardly become smaller', async (t) => {
  const archive = await makeArchive(t);
  await filled(archive, { isSealed: false });
  const random = { kind: 'resource', url: 'http://a.example/r', time: NOON, mime: 'image/jpeg' } as const;
  await archive.store({ ...random, body: randomBytes(20_000) }, { collection: 'random' });
  const before = await answers(archive);
  const estimate = await archive.recompress({ dryRun: true });
  assert.deepEqual([estimate.segments, estimate.sealed], [1, 1]);
  assert.deepEqual(await states(archive), ['default.gz open', 'random.gz open']);
  const report = await archive.recompress();
  assert.deepEqual([report.segments, report.sealed, report.left.length], [1, 1, 1]);
  assert.match(report.left[0]!.why, /% of its size/);
  assert.deepEqual(await states(archive), ['random.gz open', 'default.zst sealed']);
  assert.deepEqual(await answers(archive), before);
  await archive.store(page('http://a.example/new', NOON, sitePage(400)));
  assert.deepEqual(await states(archive), ['random.gz open', 'default.zst sealed', 'default.gz open']);
  assert.deepEqual(await audit(archive), []);
  assert.deepEqual(await fullProblems(archive), []);
});

test('the new file begins with its compressed dictionary, and then has a frame for each record, as the standard proposes', async (t) => {
  const archive = await makeArchive(t);
  await filled(archive);
  await archive.recompress();
  const [segment] = await archive.segments();
  const file = await bytesOf(archive.segmentBytes(segment!.name));
  assert.equal(file.readUInt32LE(0), 0x184d2a5d);
  const dictionary = zstdDecompressSync(file.subarray(8, 8 + file.readUInt32LE(4)));
  assert.equal(dictionary.readUInt32LE(0), 0xec30a437);
  for (const { place } of (await allCaptures(archive)).slice(0, 20)) {
    const frame = file.subarray(place.offset, place.offset + place.length);
    assert.match(zstdDecompressSync(frame, { dictionary }).toString('latin1', 0, 8), /^WARC\/1/);
  }
});

test('large records, and small ones that decode to very many bytes, are recompressed piece by piece', async (t) => {
  const archive = await makeArchive(t);
  const large = randomBytes(1_300_000).toString('hex');
  await archive.store(page('http://a.example/large', NOON, utf8(large)));
  await archive.store(page('http://a.example/bomb', NOON, Buffer.alloc(20_000_000, 'abcdefghij ')));
  await archive.store(page('http://a.example/small', NOON, sitePage(1)));
  await seal(archive);
  const before = await answers(archive);
  const report = await archive.recompress({ worthwhileShare: 2 });
  assert.equal(report.segments, 1, JSON.stringify(report));
  assert.deepEqual(await answers(archive), before);
  assert.deepEqual(await audit(archive), []);
  assert.deepEqual(await fullProblems(archive), []);
});

test('streams and cursors continue after a recompression, and return each record once', async (t) => {
  const archive = await makeArchive(t, { policies: { segmentBytesMax: 60_000 } });
  await filled(archive);
  const whole: string[] = [];
  for await (const { head } of await archive.stream()) if (head.type !== 'warcinfo') whole.push(head.recordId!);
  for (const order of ['storage', 'url', 'time'] as const) {
    const stream = await archive.stream({ order });
    const delivered: string[] = [];
    const records = stream[Symbol.asyncIterator]();
    for (let n = 0; n < 101; n++) delivered.push((await records.next()).value.head.recordId);
    const cursor = stream.cursor();
    if (order === 'storage') assert.ok((await archive.recompress({ worthwhileShare: 2 })).segments > 1);
    for await (const { head } of { [Symbol.asyncIterator]: () => records }) delivered.push(head.recordId!);
    const rest: string[] = delivered.slice(0, 101);
    for await (const { head } of await archive.stream({ order, cursor })) rest.push(head.recordId!);
    for (const ids of [delivered, rest]) {
      const known = ids.filter((id) => whole.includes(id));
      assert.equal(new Set(known).size, known.length, 'a record came twice');
      if (order === 'storage') assert.deepEqual(new Set(known), new Set(whole));
    }
  }
});

test('records that are deleted while their segment is recompressed stay deleted', async (t) => {
  const archive = await makeArchive(t, { policies: { segmentBytesMax: 60_000 } });
  await filled(archive);
  const recompression = archive.recompress({ worthwhileShare: 2 });
  for (let n = 0; n < 300; n += 7) await archive.delete({ url: `http://a.example/${n}` });
  await recompression;
  const left = new Set((await allCaptures(archive)).map(({ url }) => url));
  assert.equal(left.size, 300 - 43);
  assert.deepEqual(await audit(archive), []);
  await archive.compact();
  await archive.recompress({ worthwhileShare: 2 });
  assert.deepEqual(await audit(archive), []);
  assert.deepEqual(await fullProblems(archive), []);
  await archive.rebuild();
  assert.deepEqual(new Set((await allCaptures(archive)).map(({ url }) => url)), left);
});

test('a segment with bytes outside of records is not recompressed, and the warcinfo of another writer is kept', async (t) => {
  const archive = await makeArchive(t);
  const directory = join(archive.directory, 'shelf');
  await archive.addVolume({ name: 'shelf', path: directory });
  await archive.close();
  const pages = Array.from({ length: 60 }, (_, n) => response(`http://b.example/${n}`, NOON + n * 1000, sitePage(n)));
  await writeForeign(join(directory, 'proper.warc.gz'), [warcinfo(), ...pages]);
  const whole = gzipSync(Buffer.concat([Buffer.from('garbage between members '.repeat(40))]));
  await writeForeign(join(directory, 'odd.warc.gz'), [warcinfo(), ...pages.slice(0, 30)]);
  await writeFile(
    join(directory, 'odd.warc.gz'),
    Buffer.concat([await readFile(join(directory, 'odd.warc.gz')), whole]),
  );
  const again = await openArchive(archive.directory, trialOptions({ seed: 2 }));
  t.after(() => again.close());
  const report = await again.recompress({ worthwhileShare: 2 });
  assert.deepEqual(
    report.left.map(({ segment }) => segment),
    ['odd.warc.gz'],
    JSON.stringify(report),
  );
  assert.equal(report.segments, 1);
  const types: string[] = [];
  const segment = (await again.segments()).find(({ name }) => name.endsWith('.zst'))!;
  for await (const { head } of readRecords(again.segmentBytes(segment.name), { name: segment.name }))
    types.push(head.type);
  assert.deepEqual(types.slice(0, 3), ['warcinfo', 'warcinfo', 'response']);
  const damaged = await fullProblems(again);
  assert.equal(damaged.length, 1, damaged.join('\n'));
  assert.match(damaged[0]!, /960 bytes/, 'unreadable bytes stay where they were, and are still reported');
});

test('segments that would not become smaller are not recompressed', async (t) => {
  const archive = await makeArchive(t);
  for (let n = 0; n < 20; n++)
    await archive.store({
      kind: 'resource',
      url: `http://a.example/${n}.jpg`,
      time: NOON,
      mime: 'image/jpeg',
      body: randomBytes(20_000),
    });
  await seal(archive);
  const report = await archive.recompress();
  assert.equal(report.segments, 0);
  assert.match(report.left[0]!.why, /% of its size/);
  assert.match((await archive.segments())[0]!.name, /\.gz$/);
});
