import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { linesOf, pinakes, pinakesJson } from './pinakes-process.ts';
import { ARC_FILE, gzipWhole, id, PAGE_SHA1, scratch, writePackage, writeSample } from './warc-sample.ts';

test('ls prints one line per record: offset, length, type, status, date and URI', async (t) => {
  const at = scratch(t);
  const places = await writeSample(join(at, 'a.warc.gz'));
  const { code, out, err } = pinakes(at, 'warc', 'ls', 'a.warc.gz');
  assert.equal(code, 0);
  assert.equal(err, '');
  const [name, header, ...rows] = linesOf(out);
  assert.equal(name, 'a.warc.gz');
  assert.match(header!, /^ +OFFSET +LENGTH {2}TYPE +STATUS {2}DATE +URI$/);
  const columns = rows.map((row) => row.trim().split(/\s+/));
  const [, page, , notModified] = places;
  assert.equal(columns.length, 7);
  assert.deepEqual(columns[0], ['0', String(places[0]!.length), 'warcinfo', '2024-03-01T09:59:59Z', '-']);
  assert.deepEqual(columns[1], [
    String(page!.offset),
    String(page!.length),
    'response',
    '200',
    '2024-03-01T10:00:00.250Z',
    'http://www.example.test/a',
  ]);
  assert.deepEqual(columns[3]!.slice(0, 4), [
    String(notModified!.offset),
    String(notModified!.length),
    'revisit',
    '304',
  ]);
});

test('ls --json prints every fact of a response under its name', async (t) => {
  const at = scratch(t);
  const places = await writeSample(join(at, 'a.warc.gz'));
  const records = pinakesJson(at, 'warc', 'ls', '--json', 'a.warc.gz');
  assert.equal(records.length, 7);
  assert.deepEqual(records[1], {
    file: 'a.warc.gz',
    offset: places[1]!.offset,
    type: 'response',
    uri: 'http://www.example.test/a',
    date: '2024-03-01T10:00:00.250Z',
    id: id(1),
    content_length: 190,
    content_type: 'application/http;msgtype=response',
    compressed_length: places[1]!.length,
    block_sha1: 'sha1:I35SW6OABBTEB5GF5Z3LEOZTNU7Q7TC2',
    block_digest_ok: true,
    status: 200,
    mime: 'text/html',
    payload_sha1_raw: 'sha1:2RHWU7KDTV7HL6GRN6J37ZNFRUQ7IHXN',
    payload_digest_matches: 'dechunked',
    chunked: true,
    dechunk_ok: true,
    payload_sha1_dechunked: `sha1:${PAGE_SHA1}`,
    block_digest: 'sha1:I35SW6OABBTEB5GF5Z3LEOZTNU7Q7TC2',
    payload_digest: `sha1:${PAGE_SHA1}`,
  });
});

test('ls --json prints the record that a revisit refers to, without facts about the payload of that record', async (t) => {
  const at = scratch(t);
  const places = await writeSample(join(at, 'a.warc'), 'none');
  const revisit = pinakesJson(at, 'warc', 'ls', '--json', 'a.warc')[2]!;
  assert.deepEqual(revisit, {
    file: 'a.warc',
    offset: places[2]!.offset,
    type: 'revisit',
    uri: 'http://cdn.example.test/copy?id=7',
    date: '2024-03-02T10:00:00Z',
    id: id(2),
    content_length: 101,
    content_type: 'application/http;msgtype=response',
    length: places[2]!.length,
    block_sha1: 'sha1:UFW3MM5MTXC5SI3E2TKZTQB4YZ3VMFOI',
    status: 200,
    mime: 'text/html',
    payload_digest: `sha1:${PAGE_SHA1}`,
    profile: 'http://netpreserve.org/warc/1.1/revisit/identical-payload-digest',
    refers_to: id(1),
    refers_to_target_uri: 'http://www.example.test/a',
    refers_to_date: '2024-03-01T10:00:00.250Z',
    truncated: 'length',
  });
});

test('ls shows records in a shared member with offset and inner offset, and without a length', async (t) => {
  const at = scratch(t);
  const places = await writeSample(join(at, 'a.warc'), 'none');
  gzipWhole(readFileSync(join(at, 'a.warc')), join(at, 'whole.warc.gz'));
  const { out, err } = pinakes(at, 'warc', 'ls', 'whole.warc.gz');
  const rows = linesOf(out).slice(2);
  assert.match(rows[1]!, new RegExp(`^ +0\\+${places[1]!.offset} +- {2}response`));
  assert.match(err, /whole\.warc\.gz:0: warning member-shared:/);
  const shared = pinakesJson(at, 'warc', 'ls', '--json', 'whole.warc.gz')[1]!;
  assert.equal(shared.inner_offset, places[1]!.offset);
  assert.ok(!('compressed_length' in shared));
});

test('ls reads ARC files and files in packages under any name', async (t) => {
  const at = scratch(t);
  writeFileSync(join(at, 'old.dat'), ARC_FILE);
  const arc = pinakesJson(at, 'warc', 'ls', '--json', 'old.dat');
  assert.deepEqual(
    arc.map(({ type, uri, date, status }) => ({ type, uri, date, status })),
    [
      { type: 'filedesc', uri: 'filedesc://demo.arc', date: '2024-03-01T10:00:00Z', status: undefined },
      { type: 'response', uri: 'http://www.example.test:80/a', date: '2024-03-01T10:00:00Z', status: 200 },
      { type: 'response', uri: 'dns:www.example.test', date: '2024-03-01T09:59:59Z', status: undefined },
    ],
  );
  const places = await writeSample(join(at, 'data.warc.gz'));
  await writePackage(join(at, 'x.wacz'), [join(at, 'data.warc.gz')]);
  const packed = pinakesJson(at, 'warc', 'ls', '--json', 'x.wacz');
  assert.deepEqual(
    packed.map(({ file, offset }) => [file, offset]),
    places.map(({ offset }) => ['x.wacz!archive/data.warc.gz', offset]),
  );
});

test('ls of a directory finds files at any depth and through links, in the order of their names, and skips hidden directories', async (t) => {
  const at = scratch(t);
  for (const directory of ['crawl/b', 'crawl/.hidden', 'elsewhere'])
    mkdirSync(join(at, directory), { recursive: true });
  for (const path of ['crawl/b/2.warc.gz', 'crawl/a.warc', 'crawl/.hidden/3.warc.gz', 'elsewhere/4.warc.gz'])
    await writeSample(join(at, path), path.endsWith('gz') ? 'gzip' : 'none');
  writeFileSync(join(at, 'crawl/notes.txt'), 'no archive');
  symlinkSync('../elsewhere', join(at, 'crawl/linked'));
  symlinkSync('..', join(at, 'crawl/b/loop'));
  const files = pinakesJson(at, 'warc', 'ls', '--json', 'crawl').map(({ file }) => file);
  assert.deepEqual([...new Set(files)], ['crawl/a.warc', 'crawl/b/2.warc.gz', 'crawl/linked/4.warc.gz']);
});

test('ls of an empty file prints nothing and exits with 0', (t) => {
  const at = scratch(t);
  writeFileSync(join(at, 'empty.warc.gz'), '');
  assert.deepEqual(pinakes(at, 'warc', 'ls', 'empty.warc.gz'), { code: 0, out: '', err: '' });
});

test('ls lists the readable records of a damaged file and reports the rest on standard error, also with --json', async (t) => {
  const at = scratch(t);
  const places = await writeSample(join(at, 'a.warc.gz'));
  const bytes = readFileSync(join(at, 'a.warc.gz'));
  writeFileSync(join(at, 'cut.warc.gz'), bytes.subarray(0, places[6]!.offset + 30));
  const { code, out, err } = pinakes(at, 'warc', 'ls', '--json', 'cut.warc.gz');
  assert.equal(code, 0);
  assert.ok(linesOf(out).length >= 6);
  assert.match(err, new RegExp(`cut\\.warc\\.gz:${places[6]!.offset}: error member-truncated`));
});

test('control characters from an archive do not reach the terminal', (t) => {
  const at = scratch(t);
  const record = `WARC/1.1\r\nWARC-Type: resource\r\nWARC-Record-ID: ${id(1)}\r\nWARC-Date: 2024-03-01T10:00:00Z\r\nWARC-Target-URI: http://x.test/\x1b[2Jz\u202ecod\r\nContent-Length: 0\r\n\r\n\r\n\r\n`;
  writeFileSync(join(at, 'a.warc'), record);
  const { out, err } = pinakes(at, 'warc', 'ls', 'a.warc');
  assert.ok(out.includes('http://x.test/%1B[2Jz\\u202ecod'), out);
  assert.doesNotMatch(`${out}${err}`, /[\x1b\u202e]/);
});
