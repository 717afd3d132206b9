import assert from 'node:assert/strict';
import { createReadStream, existsSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { type Finding, utf8 } from '../../base/index.ts';
import type { CdxEntry } from './cdx-entry.ts';
import { LINE_BYTES_MAX } from './cdx-line.ts';
import { readCdx } from './cdx-reader.ts';

async function readAll(chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>) {
  const findings: Finding[] = [];
  const entries: CdxEntry[] = [];
  for await (const entry of readCdx(chunks, { file: 'index', onFinding: (finding) => findings.push(finding) })) {
    entries.push(entry);
  }
  return { entries, findings, codes: findings.map((finding) => finding.code) };
}

const CDX_LINE = 'test,example)/a 20240301100000 http://www.example.test/a text/html 200 ABC - - 409 202 demo.warc.gz';
const CDXJ_LINE = 'test,example)/b 20240301100000 {"url": "http://www.example.test/b"}';

test('one file may contain CDXJ, headers, comments and several CDX formats', async () => {
  const text = [
    '!meta {"x": 1}',
    CDXJ_LINE,
    CDX_LINE,
    '',
    ' CDX N b a',
    'test,example)/c 20240301100000 http://www.example.test/c',
    '',
  ].join('\r\n');
  const { entries, codes } = await readAll([utf8(text)]);
  assert.deepEqual(
    entries.map((entry) => entry.url),
    ['http://www.example.test/b', 'http://www.example.test/a', 'http://www.example.test/c'],
  );
  assert.deepEqual(codes, []);
});

test('a bad line is reported with its offset, and the others are read, wherever the chunks are cut', async () => {
  const text = `${CDXJ_LINE}\nä bad line\n${CDXJ_LINE}\n${CDX_LINE}`;
  const bytes = utf8(text);
  for (let cut = 1; cut < bytes.length; cut += 7) {
    const chunks: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; at += cut) chunks.push(bytes.subarray(at, at + cut));
    const { entries, findings } = await readAll(chunks);
    assert.equal(entries.length, 3, `cut at ${cut}`);
    assert.deepEqual(
      findings.map(({ code, offset }) => [code, offset]),
      [['cdx-line-unknown', CDXJ_LINE.length + 1]],
    );
  }
});

test('gzip members are read as one file, up to the first damage', async () => {
  const whole = Buffer.concat([gzipSync(`${CDXJ_LINE}\n`), gzipSync(`${CDX_LINE}\n`)]);
  assert.equal((await readAll([whole])).entries.length, 2);
  const cut = await readAll([whole.subarray(0, whole.length - 10)]);
  assert.equal(cut.entries[0]?.url, 'http://www.example.test/b');
  assert.deepEqual(cut.codes, ['cdx-gzip-damaged']);
});

test('a line that is not UTF-8 is read and reported', async () => {
  const latin1 = Buffer.from(CDX_LINE.replace('/a text', '/\xe4 text'), 'latin1');
  const { entries, codes } = await readAll([utf8(`${CDXJ_LINE}\n`), latin1]);
  assert.equal(entries[1]?.url, 'http://www.example.test/ä');
  assert.deepEqual(codes, ['line-not-utf8']);
});

test('an endless line is left out with bounded memory, and the next line is read (I9)', async () => {
  function* chunks(): Generator<Uint8Array> {
    yield utf8(`${CDXJ_LINE}\n`);
    const filler = Buffer.alloc(1024 * 1024, 'x');
    for (let written = 0; written <= LINE_BYTES_MAX * 2; written += filler.length) yield filler;
    yield utf8(`tail\n${CDXJ_LINE}\n`);
  }
  const { entries, findings } = await readAll(chunks());
  assert.equal(entries.length, 2);
  assert.deepEqual(
    findings.map(({ code, offset }) => [code, offset]),
    [['line-too-long', CDXJ_LINE.length + 1]],
  );
});

const corpora = fileURLToPath(new URL('../../../../shared/corpora/', import.meta.url));

/** The contents of the corpora files: the number of entries, and findings by code. */
const EXPECTED: Readonly<Record<string, readonly [entries: number, findings: Readonly<Record<string, number>>]>> = {
  'cdx/helgeho+Web2Warc/crawls__out__Example-20160128144235__Example-20160128144235.cdx.gz': [1, {}],
  'cdx/iipc+openwayback/_history__wayback-cdx-server-webapp__src__5e221f40_records-cdx11-pywb-unsurt-sorted.cdx': [
    77,
    {},
  ],
  'cdx/iipc+openwayback/_history__wayback-cdx-server-webapp__src__8ef15b2a_records-cdx11-pywb-sorted.cdx': [74, {}],
  'cdx/iipc+openwayback/_history__wayback-cdx-server-webapp__src__d8afb1f3_records-cdx9-pywb-sorted.cdx': [77, {}],
  'cdx/iipc+openwayback/_history__wayback-cdx-server-webapp__src__e1e65498_records-cdx9-jwat-sorted.cdx': [
    74,
    { 'cdx-columns-surplus': 14 },
  ],
  'cdx/iipc+openwayback/_history__wayback-cdx-server-webapp__src__e40449f9_records-cdx9-pywb-unsurt-sorted.cdx': [
    77,
    {},
  ],
  'cdx/iipc+openwayback/_history__wayback-webapp__src__cdx__edbafcc8_sopa-wikipedia-homepage.warc.gz.cdx': [77, {}],
  'cdx/netarchivesuite+solrwayback/example_warc__IAH-20080430204825-00000-blackbook.warc.gz.cdx': [822, {}],
  'cdx/richardlehane+webarchive/hello-world.cdx': [3, {}],
  'cdxj/harvard-lil+js-wacz/fixtures__cdxj__invalid.txt': [0, { 'cdx-line-unknown': 1 }],
  'cdxj/harvard-lil+js-wacz/fixtures__cdxj__valid.cdxj': [1, {}],
  'cdxj/harvard-lil+js-wacz/fixtures__cdxj__valid2.cdx': [2, {}],
  'cdxj/iipc+webarchive-commons/_history__webarchive-commons-cdx__src__c7984e97_closestTest.cdxj': [2, {}],
  'cdxj/iipc+webarchive-commons/_history__webarchive-commons-cdx__src__fb3854b9_closestTest.cdxj': [2, {}],
  'cdxj/oduwsdl+ipwb/indexes__froggie_badHeaderHash.cdxj': [3, {}],
  'cdxj/oduwsdl+ipwb/indexes__sample-1.cdxj': [65, {}],
  'cdxj/oduwsdl+ipwb/indexes__sample-old.cdxj': [65, {}],
  'formats-examples/index.cdxj': [3, {}],
};

test('the index files of the corpora are read as expected', {
  skip: !existsSync(corpora) && 'shared corpora absent',
}, async () => {
  for (const [path, [expected, expectedFindings]] of Object.entries(EXPECTED)) {
    const { entries, codes } = await readAll(createReadStream(`${corpora}${path}`));
    const counted: Record<string, number> = {};
    for (const code of codes) counted[code] = (counted[code] ?? 0) + 1;
    assert.deepEqual([entries.length, counted], [expected, expectedFindings], path);
  }
  assert.ok(readdirSync(`${corpora}cdxj`).length > 0);
});
