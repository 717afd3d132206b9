/** Records that stop other readers. The archive keeps them in odd segments, reports them, and exports sound records. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { type Archive, openArchive } from '../../src/archive/index.ts';
import type { Finding } from '../../src/base/index.ts';
import { type ReadingRecord, readRecords } from '../../src/warc/index.ts';
import { response, revisitOf, writeForeign } from './foreign-file.ts';
import { allCaptures, answers, audit, bytesOf, contentOf, makeArchive, NOON, trialOptions } from './trial-archive.ts';

const DATE = 'WARC-Date: 2024-03-01T10:00:00Z';
const HTTP = 'Content-Type: application/http; msgtype=response';

type OddOptions = { readonly version?: string; readonly end?: string; readonly body?: string };

/**
 * A gzip member with a response that has these header lines. Every name has a different content unless `body` names
 * one.
 */
function member(name: string, lines: readonly string[], options: OddOptions = {}): Buffer {
  const { version = 'WARC/1.1', end = '\r\n\r\n', body = name } = options;
  const message = Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n'), contentOf(body)]);
  const head = [version, `WARC-Record-ID: <urn:odd:${name}>`, ...lines, `Content-Length: ${message.length}`, '', ''];
  return gzipSync(Buffer.concat([Buffer.from(head.join('\r\n'), 'latin1'), message, Buffer.from(end)]));
}

const target = (name: string) => `WARC-Target-URI: http://a.example/${name}`;
const usual = (name: string, options: OddOptions = {}) =>
  member(name, ['WARC-Type: response', DATE, target(name), HTTP], options);
const dated = (name: string, date: string, options: OddOptions = {}) =>
  member(name, ['WARC-Type: response', `WARC-Date: ${date}`, target(name), HTTP], options);

async function addFile(archive: Archive, name: string, bytes: Uint8Array) {
  const file = join(archive.directory, name);
  await writeFile(file, bytes);
  const findings: Finding[] = [];
  const report = await archive.add([file], { workers: 0, onFinding: (finding) => findings.push(finding) });
  assert.deepEqual(report.failures, []);
  return { report, findings };
}

async function recordsOf(archive: Archive, isOdd: boolean): Promise<{ bytes: Buffer; records: ReadingRecord[] }> {
  const bytes: Buffer[] = [];
  const records: ReadingRecord[] = [];
  for (const { name } of await archive.segments()) {
    if (name.includes('/odd-') !== isOdd) continue;
    bytes.push(await bytesOf(archive.segmentBytes(name)));
    for await (const record of readRecords(archive.segmentBytes(name), { name })) {
      for await (const _ of record.body());
      records.push(record);
    }
  }
  return { bytes: Buffer.concat(bytes), records };
}

async function cdxj(archive: Archive): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of archive.exportCdxj({})) lines.push(line);
  return lines;
}

const ODD: readonly [name: string, bytes: Buffer, isCapture: boolean][] = [
  ['no-type', member('no-type', [DATE, target('no-type'), HTTP]), true],
  ['no-date', member('no-date', ['WARC-Type: response', target('no-date'), HTTP]), false],
  ['no-time', dated('no-time', 'blue monday'), false],
  ['offset', dated('offset', '2024-03-01T12:00:00+02:00'), true],
  ['version', usual('version', { version: 'WARC/0.9' }), true],
  ['control', member('control', ['WARC-Type: response', DATE, `${target('control')}\x01\x7f`, HTTP]), true],
  ['twice', member('twice', ['WARC-Type: response', DATE, DATE, target('twice'), HTTP]), true],
  ['no-uri', member('no-uri', ['WARC-Type: response', DATE, HTTP]), false],
  ['no-field', member('no-field', ['WARC-Type: response', DATE, target('no-field'), HTTP, 'no colon']), true],
];

test('I4 Bytes pass through: records that stop other readers are copied unchanged into odd segments', async (t) => {
  const archive = await makeArchive(t);
  const file = ODD.flatMap(([name, bytes]) => [usual(`before-${name}`), bytes]);
  const { report } = await addFile(archive, 'a.warc.gz', Buffer.concat([...file, usual('last')]));
  const sound = await recordsOf(archive, false);
  assert.ok(sound.records.every(({ head, tail }) => head.form === 'sound' && tail?.isTrailerSound));
  assert.equal(sound.records.length, 1 + ODD.length + 1);
  const odd = await recordsOf(archive, true);
  for (const [name, bytes] of ODD) assert.ok(odd.bytes.includes(bytes), name);
  assert.equal(odd.records.length, 1 + ODD.length);
  const captured = ODD.filter(([, , isCapture]) => isCapture).map(([name]) => name);
  assert.equal(report.captures, ODD.length + 1 + captured.length);
  assert.equal(report.undated, 2);
  const urls = (await allCaptures(archive)).map(({ url }) => url);
  for (const name of captured)
    assert.ok(
      urls.some((url) => url.startsWith(`http://a.example/${name}`)),
      name,
    );
  assert.ok(urls.includes('http://a.example/control%01%7F'));
  const { oddRecords, undatedRecords } = await archive.stats();
  assert.deepEqual([oddRecords, undatedRecords], [ODD.length, 2]);
  assert.deepEqual(await audit(archive), []);

  const before = [await cdxj(archive), await answers(archive)];
  await archive.rebuild();
  assert.deepEqual([await cdxj(archive), await answers(archive)], before);
  const stats = await archive.stats();
  assert.deepEqual([stats.oddRecords, stats.undatedRecords], [ODD.length, 2]);
});

test('an export rewrites odd captures as the standard requires, and counts the odd records that it leaves out', async (t) => {
  const archive = await makeArchive(t);
  await addFile(archive, 'a.warc.gz', Buffer.concat([...ODD.map(([, bytes]) => bytes), usual('last')]));
  for (const name of ['slice.warc.gz', 'slice.warc', 'slice.warc.zst']) {
    const path = join(archive.directory, name);
    const report = await archive.exportWarc({}, path, { software: 'test' });
    assert.deepEqual([report.captures, report.oddLeftOut, report.odd], [7, 3, 0]);
    const urls: (string | undefined)[] = [];
    for await (const { head } of readRecords(path)) {
      assert.equal(head.form, 'sound', head.targetUri);
      if (head.targetUri) urls.push(head.targetUri);
      if (head.targetUri?.endsWith('/offset')) {
        assert.equal(head.date, '2024-03-01T10:00:00Z');
        assert.equal(head.get('pinakes-source-date'), '2024-03-01T12:00:00+02:00');
        assert.equal(head.get('warc-previous-record-id'), '<urn:odd:offset>');
        assert.notEqual(head.recordId, '<urn:odd:offset>');
      }
      if (head.targetUri?.endsWith('/version')) assert.equal(head.version, '1.1');
    }
    assert.equal(urls.length, 7);
  }
  const path = join(archive.directory, 'all.warc.gz');
  const report = await archive.exportWarc({}, path, { software: 'test', odd: true });
  assert.deepEqual([report.captures, report.oddLeftOut, report.odd], [7, 0, 3]);
  const forms: string[] = [];
  for await (const { head } of readRecords(path)) forms.push(head.form);
  assert.equal(forms.filter((form) => form === 'odd').length, 3);
  const one = await archive.exportWarc({ url: 'http://a.example/last' }, join(archive.directory, 'one.warc.gz'), {
    software: 'test',
  });
  assert.deepEqual([one.captures, one.oddLeftOut], [1, 0], 'with other URLs nothing is left out');
});

test('add rewrites a record whose end other readers cannot find', async (t) => {
  const archive = await makeArchive(t);
  const ends = ['', '\r\n', '\n\n', '\r\n\r\n\r\n', '\r\n\r\n\0'];
  const loose = [...ends.map((end, at) => usual(`end-${at}`, { end })), usual('version', { version: 'WARC/1.0 ' })];
  const { report } = await addFile(archive, 'a.warc.gz', Buffer.concat(loose));
  assert.equal(report.captures, loose.length);
  const { records } = await recordsOf(archive, false);
  assert.equal(records.length, 1 + loose.length);
  assert.ok(records.every(({ head, tail }) => head.form === 'sound' && tail?.isTrailerSound));
  assert.deepEqual((await recordsOf(archive, true)).records, []);
});

test('add rewrites a record over several gzip members as one member', async (t) => {
  const archive = await makeArchive(t);
  const plain = gunzipSync(usual('spanning'));
  const halves = [plain.subarray(0, plain.length >> 1), plain.subarray(plain.length >> 1)];
  const file = Buffer.concat([usual('before'), ...halves.map((half) => gzipSync(half)), usual('after')]);
  const { report, findings } = await addFile(archive, 'a.warc.gz', file);
  assert.deepEqual([report.captures, findings.map(({ code }) => code)], [3, ['record-spans-members']]);
  const { records } = await recordsOf(archive, false);
  assert.deepEqual(
    records.map(({ head, tail }) => [head.targetUri?.slice('http://a.example/'.length), tail?.spansMembers]),
    [[undefined, false], ...['before', 'spanning', 'after'].map((name) => [name, false])],
  );
});

test('an export rewrites a record over several gzip members as one member', async (t) => {
  const archive = await makeArchive(t);
  const plain = gunzipSync(usual('spanning'));
  const file = join(archive.directory, 'a.warc.gz');
  await writeFile(file, Buffer.concat([plain.subarray(0, 300), plain.subarray(300)].map((half) => gzipSync(half))));
  await archive.add([file], { workers: 0, inPlace: true });
  const path = join(archive.directory, 'slice.warc.gz');
  await archive.exportWarc({}, path, { software: 'test' });
  const spans: (boolean | undefined)[] = [];
  for await (const record of readRecords(path)) {
    for await (const _ of record.body());
    spans.push(record.tail?.spansMembers);
  }
  assert.deepEqual(spans, [false, false]);
});

test('a duplicate becomes a sound revisit, even if its date or its original is odd', async (t) => {
  const archive = await makeArchive(t);
  const odd = dated('odd', '2008-10-294T05:21:46-0700', { body: 'same' });
  const copy = dated('copy', '2008-10-294T05:21:47-0700', { body: 'same' });
  const { report, findings } = await addFile(
    archive,
    'a.warc.gz',
    Buffer.concat([odd, usual('sound', { body: 'same' }), copy]),
  );
  assert.deepEqual([report.captures, report.duplicates], [3, 2]);
  assert.deepEqual(
    findings.map(({ code }) => code),
    ['date-nonstandard', 'date-nonstandard'],
  );
  const { records } = await recordsOf(archive, false);
  const [, sound, revisit] = records.map(({ head }) => head);
  for (const head of [sound!, revisit!]) {
    assert.deepEqual([head.form, head.type], ['sound', 'revisit']);
    assert.equal(head.get('warc-refers-to-date'), '2008-10-20T12:21:46Z');
  }
  assert.equal(revisit!.date, '2008-10-20T12:21:47Z');
  assert.equal(revisit!.get('pinakes-source-date'), '2008-10-294T05:21:47-0700');
  assert.deepEqual(await audit(archive), []);
  assert.equal((await archive.verify()).errors, 0);
});

test('control characters of odd heads are not copied into new records', async (t) => {
  const archive = await makeArchive(t);
  const lines = (name: string) => ['WARC-Type: response', DATE, target(name), HTTP];
  const file = [
    member('orig\x02inal', lines('original'), { body: 'same' }),
    member('address', [...lines('address'), 'WARC-IP-Address: 192.0.2.1\x01'], { body: 'same' }),
    member('copy\x02', lines('copy'), { body: 'same' }),
  ];
  const { report } = await addFile(archive, 'a.warc.gz', Buffer.concat(file));
  assert.deepEqual([report.captures, report.duplicates], [3, 2]);
  const sound = await recordsOf(archive, false);
  assert.deepEqual(
    sound.records.map(({ head }) => [head.type, head.form]),
    [
      ['warcinfo', 'sound'],
      ['revisit', 'sound'],
      ['revisit', 'sound'],
    ],
  );
  const before = [await archive.stats(), await answers(archive), await cdxj(archive)];
  await archive.rebuild();
  const { catalogBytes: _, ...stats } = await archive.stats();
  assert.deepEqual({ ...(before[0] as object), catalogBytes: undefined }, { ...stats, catalogBytes: undefined });
  assert.deepEqual([await answers(archive), await cdxj(archive)], before.slice(1));
  assert.equal((await addFile(archive, 'b.warc.gz', Buffer.concat(file))).report.captures, 0);
  assert.deepEqual(await audit(archive), []);
});

test('ARC records with control characters in their columns are added', async (t) => {
  const archive = await makeArchive(t);
  const document = (line: string, body: string) => `${line} ${body.length}\n${body}\n`;
  const version = '1 0 Example\nURL IP-address Archive-date Content-type Archive-length\n';
  const file = [
    document('filedesc://a.arc 0.0.0.0 20240301100000 text/plain', version),
    document('dns:a.example 192.0.2.1 20240301100000 text/\rdns', 'a.example IN A 192.0.2.1'),
    document('dns:b.example 192.0\x01.2.1 20240301100000 text/\x7fdns', 'b.example IN A 192.0.2.1'),
    document('http://a.example/ 192.0.2.1 20240301100000 text/html', 'HTTP/1.1 200 OK\r\n\r\nlast'),
  ];
  const { report } = await addFile(archive, 'a.arc', Buffer.from(file.join(''), 'latin1'));
  assert.equal(report.captures, 3);
  assert.ok((await recordsOf(archive, false)).records.every(({ head }) => head.form === 'sound'));
});

test('ARC records with odd dates, columns and URLs are captures, and one without a date is kept', async (t) => {
  const archive = await makeArchive(t);
  const version = '1 0 Another\nURL IP-address Archive-date Content-type Archive-length\n';
  const arc = (head: string, body: string) => Buffer.from(`${head} ${body.length}\n${body}\n`, 'latin1');
  const message = (name: string) => `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n${name}`;
  const heads: [head: string, url: string, date: string | undefined][] = [
    ['http://a.example/10 None 2016020900 text/html', 'http://a.example/10', '2016-02-09T00:00:00Z'],
    ['http://a.example/12 192.0.2.1 200011201434 text/html', 'http://a.example/12', '2000-11-20T14:34:00Z'],
    ['http://a.example/15 None 201512000000000 text/xml', 'http://a.example/15', '2015-12-01T00:00:00Z'],
    ['http://a.example/16 192.0.2.1 2000082305410049 image/gif', 'http://a.example/16', '2000-08-23T05:41:00Z'],
    ['http://a.example/18 192.0.2.1 200009180023002953 image/gif', 'http://a.example/18', '2000-09-18T00:23:00Z'],
    ['http://a.example/text None 20160211000000jpg text/html', 'http://a.example/text', '2016-02-11T00:00:00Z'],
    [
      'http://a.example/one\rtwo 192.0.2.1 20070216134117 text/html',
      'http://a.example/one%0Dtwo',
      '2007-02-16T13:41:17Z',
    ],
    [
      'http://a.example/swapped 20031219215023 192.0.2.1 text/plain',
      'http://a.example/swapped',
      '2003-12-19T21:50:23Z',
    ],
    ['http://a.example/none 192.0.2.1 20110804181142 ', 'http://a.example/none', '2011-08-04T18:11:42Z'],
    ['http://a.example/hex 192.0.2.1 a0d1fdddf3165d0447b1f7a285c61c1c9 text/html', 'http://a.example/hex', undefined],
  ];
  const start = arc('filedesc://a.arc 0.0.0.0 20000101000000 text/plain', version);
  // A document without a media type that is not an HTTP message gets no media type.
  const bodyOf = (url: string) => (url.endsWith('/none') ? 'no message' : message(url));
  const file = Buffer.concat([start, ...heads.map(([head, url]) => arc(head, bodyOf(url)))]);
  const { report, findings } = await addFile(archive, 'a.arc', file);
  assert.deepEqual([report.captures, report.undated], [9, 1]);
  const codes = findings.map(({ code }) => code).filter((code) => code.startsWith('date-'));
  assert.deepEqual([codes.length, codes.at(-1)], [7, 'date-invalid']);
  const captures = await allCaptures(archive);
  const found = new Map(captures.map(({ url, time }) => [url, new Date(time).toISOString().replace('.000Z', 'Z')]));
  for (const [, url, date] of heads) assert.equal(found.get(url), date, url);
  const { records } = await recordsOf(archive, true);
  assert.deepEqual(
    records.slice(1).map(({ head }) => [head.targetUri, head.date, head.get('pinakes-source-date')]),
    [['http://a.example/hex', undefined, 'a0d1fdddf3165d0447b1f7a285c61c1c9']],
  );
  const before = await cdxj(archive);
  await archive.rebuild();
  assert.deepEqual(await cdxj(archive), before);
  assert.equal((await archive.stats()).undatedRecords, 1);
});

test('a rebuild gives no media type to ARC documents that have none', async (t) => {
  const archive = await makeArchive(t);
  const head = 'filedesc://x.arc 0.0.0.0 20240301100000 text/plain 71\n1 0 ExampleOrg\n';
  const names = 'URL IP-address Archive-date Content-type Archive-length\n\n';
  const urls = ['dns:a.example', 'ftp://a.example/file'];
  const documents = urls.map((url) => `${url} 192.0.2.1 20240301100000  ${url.length}\n${url}\n`);
  await addFile(archive, 'a.arc', Buffer.from([head, names, ...documents].join('')));
  const before = await cdxj(archive);
  assert.equal(before.length, urls.length);
  for (const line of before) assert.doesNotMatch(line, /"mime"/);
  await archive.rebuild();
  assert.deepEqual(await cdxj(archive), before);
});

test('the next opening resumes an odd segment, and compaction keeps odd records in odd segments', async (t) => {
  const archive = await makeArchive(t);
  const first = [dated('one', '2024-03-01T12:00:00+02:00'), dated('two', 'blue monday')];
  await addFile(archive, 'a.warc.gz', Buffer.concat(first));
  await archive.close();
  const again = await openArchive(archive.directory, trialOptions({ seed: 2 }));
  t.after(() => again.close().catch(() => {}));
  const third = dated('three', '20240301100000');
  await addFile(again, 'b.warc.gz', third);
  assert.equal((await again.segments()).filter(({ name }) => name.startsWith('default/odd-default-')).length, 1);
  const counts = async () => {
    const { oddRecords, undatedRecords } = await again.stats();
    return [oddRecords, undatedRecords];
  };
  assert.deepEqual(await counts(), [3, 1]);
  await again.delete({ url: 'http://a.example/one' });
  await again.compact();
  assert.deepEqual(await counts(), [2, 1]);
  const { bytes } = await recordsOf(again, true);
  assert.deepEqual(
    [first[0]!, first[1]!, third].map((one) => bytes.includes(one)),
    [false, true, true],
  );
  assert.deepEqual(await audit(again), []);
});

test('odd records in a file in place are counted, and exports are sound', async (t) => {
  const archive = await makeArchive(t);
  const file = join(archive.directory, 'linked.warc.gz');
  await writeFile(file, Buffer.concat([usual('one'), dated('two', 'blue monday'), dated('three', '20240301100000')]));
  const report = await archive.add([file], { workers: 0, inPlace: true });
  assert.deepEqual([report.captures, report.undated], [2, 1]);
  const { oddRecords, undatedRecords } = await archive.stats();
  assert.deepEqual([oddRecords, undatedRecords], [2, 1]);
  const path = join(archive.directory, 'slice.warc.gz');
  const exported = await archive.exportWarc({}, path, { software: 'test' });
  assert.deepEqual([exported.captures, exported.oddLeftOut], [2, 1]);
  for await (const { head } of readRecords(path)) assert.equal(head.form, 'sound');
});

test('a revisit of another crawler with an odd date finds its original, and is exported sound', async (t) => {
  const archive = await makeArchive(t);
  const original = response('http://a.example/original', NOON, contentOf('original'));
  const revisit = revisitOf(original, 'http://a.example/again', NOON + 60_000);
  const odd = { ...revisit, record: { ...revisit.record, date: '20260101120100' } };
  const file = await writeForeign(join(archive.directory, 'a.warc.gz'), [original, odd]);
  const report = await archive.add([file], { workers: 0 });
  assert.deepEqual([report.captures, report.unresolved], [2, 0]);
  const path = join(archive.directory, 'slice.warc.gz');
  const { expanded } = await archive.exportWarc({}, path, { software: 'test', selfContained: true });
  assert.equal(expanded, 1);
  for await (const { head } of readRecords(path)) assert.equal(head.form, 'sound');
  assert.ok((await readFile(path)).length > 0);
});

/** The request for the response of this name. */
function request(name: string, date: string, lines: readonly string[] = []): Buffer {
  const message = Buffer.from(`GET /${name} HTTP/1.1\r\nCookie: secret-of-${name}\r\n\r\n`);
  const head = ['WARC/1.1', `WARC-Record-ID: <urn:request:${name}>`, 'WARC-Type: request', `WARC-Date: ${date}`];
  const rest = [target(name), 'Content-Type: application/http; msgtype=request', `Content-Length: ${message.length}`];
  return gzipSync(
    Buffer.concat([Buffer.from([...head, ...lines, ...rest, '', ''].join('\r\n')), message, Buffer.from('\r\n\r\n')]),
  );
}

const linked = (name: string) => `WARC-Concurrent-To: <urn:odd:${name}>`;

const SOUND = '2024-03-01T10:00:00Z';
const ODD_DATE = '20240301100000';

/** Visits in which only one record is odd, with the request before its response and after it. */
const HALF_ODD: Readonly<Record<string, (name: string) => readonly Buffer[]>> = {
  'odd request behind': (name) => [usual(name, { body: 'same' }), request(name, 'blue monday', [linked(name)])],
  'odd request before': (name) => [request(name, '', [linked(name)]), usual(name, { body: 'same' })],
  'odd response before': (name) => [dated(name, ODD_DATE, { body: 'same' }), request(name, SOUND)],
  'odd response behind': (name) => [request(name, SOUND), dated(name, ODD_DATE, { body: 'same' })],
};

for (const [kind, visit] of Object.entries(HALF_ODD)) {
  test(`I6 Deleted means gone: a visit with one odd record is removed as a whole (${kind})`, async (t) => {
    const archive = await makeArchive(t);
    const file = [usual('before'), ...visit('first'), usual('between'), ...visit('again'), usual('after')];
    await addFile(archive, 'a.warc.gz', Buffer.concat(file));
    const path = join(archive.directory, 'slice.warc.gz');
    await archive.exportWarc({ url: 'http://a.example/first' }, path, { software: 'test', odd: true });
    const requests: string[] = [];
    for await (const { head } of readRecords(path)) if (head.type === 'request') requests.push(head.targetUri ?? '');
    assert.deepEqual(requests, ['http://a.example/first']);

    assert.ok((await everyRecord(archive)).includes('secret-of-first'));
    await archive.delete({ url: 'http://a.example/first' });
    await archive.compact();
    assert.ok(!(await everyRecord(archive)).includes('secret-of-first'));
    assert.equal((await allCaptures(archive)).length, 4);
    assert.deepEqual(await audit(archive), []);
  });
}

test('I6 Deleted means gone: a visit is removed as a whole although two steps of an add entered its records', async (t) => {
  const archive = await makeArchive(t);
  const names = Array.from({ length: 900 }, (_, i) => `page-${i}`);
  const visits = names.flatMap((name) => [request(name, '2024-03-01T10:00:00Z'), dated(name, '20240301100000')]);
  await addFile(archive, 'a.warc.gz', Buffer.concat(visits));
  assert.deepEqual((await recordsOf(archive, false)).records, []);
  await archive.delete({ prefix: 'http://a.example/' });
  await archive.compact();
  assert.ok(!(await everyRecord(archive)).includes('secret-of'));
});

async function everyRecord(archive: Archive): Promise<string> {
  const texts: string[] = [];
  for (const isOdd of [false, true])
    for (const { name } of (await archive.segments()).filter((segment) => segment.name.includes('/odd-') === isOdd))
      for await (const record of readRecords(archive.segmentBytes(name), { name }))
        texts.push(Buffer.from(await record.bytes(1_000_000)).toString('latin1'));
  return texts.join('\n');
}
