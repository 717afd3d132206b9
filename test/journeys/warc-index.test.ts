import assert from 'node:assert/strict';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { linesOf, pinakes } from './pinakes-process.ts';
import { PAGE_SHA1, type SamplePlaces, scratch, writePackage, writeSample } from './warc-sample.ts';

const FORM_SHA1 = '3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ';

/**
 * The CDXJ lines of the sample, written by hand. `coded` is the digest of a body whose bytes depend on the version of
 * zlib.
 */
function expectedLines(places: SamplePlaces, filename: string, coded: string): string[] {
  const place = (record: number) =>
    `"length": "${places[record]!.length}", "offset": "${places[record]!.offset}", "filename": "${filename}"}`;
  const page = `"digest": "sha1:${PAGE_SHA1}"`;
  return [
    `test,example)/a 20240301100000 {"url": "http://www.example.test/a", "mime": "text/html", "status": "200", ${page}, ${place(1)}`,
    `test,example,cdn)/copy?id=7 20240302100000 {"url": "http://cdn.example.test/copy?id=7", "mime": "warc/revisit", "status": "200", ${page}, ${place(2)}`,
    `test,example)/a 20240303100000 {"url": "http://www.example.test/a", "mime": "warc/revisit", "status": "304", ${page}, ${place(3)}`,
    `test,example)/form 20240304100000 {"url": "http://www.example.test/form", "status": "303", "digest": "sha1:${FORM_SHA1}", ${place(4)}`,
    `test,example)/coded 20240305100000 {"url": "http://www.example.test/coded", "mime": "text/plain", "status": "200", "digest": "${coded}", ${place(6)}`,
  ];
}

function codedDigest(lines: readonly string[]): string {
  return /"digest": "(sha1:[A-Z2-7]{32})"/.exec(lines.find((line) => line.includes('/coded'))!)![1]!;
}

test('index writes CDXJ lines in the order of the records', async (t) => {
  const at = scratch(t);
  const places = await writeSample(join(at, 'demo.warc.gz'));
  const { code, out, err } = pinakes(at, 'warc', 'index', 'demo.warc.gz');
  assert.deepEqual({ code, err }, { code: 0, err: '' });
  const lines = linesOf(out);
  assert.deepEqual(lines, expectedLines(places, 'demo.warc.gz', codedDigest(lines)));
});

test('index --sort puts the lines of several files into byte order and leaves no temporary files', async (t) => {
  const at = scratch(t);
  const temporary = join(at, 'tmp');
  mkdirSync(temporary);
  const places = await writeSample(join(at, 'b.warc.gz'));
  await writeSample(join(at, 'a.warc'), 'none');
  process.env.TMPDIR = temporary;
  t.after(() => delete process.env.TMPDIR);
  const { code, out } = pinakes(at, 'warc', 'index', '--sort', 'b.warc.gz', 'a.warc');
  assert.equal(code, 0);
  const lines = linesOf(out);
  assert.equal(lines.length, 10);
  assert.deepEqual(
    lines,
    lines.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
  );
  for (const line of expectedLines(places, 'b.warc.gz', codedDigest(lines))) assert.ok(lines.includes(line), line);
  assert.deepEqual(readdirSync(temporary), []);
});

test('in uncompressed files, index leaves the line ends after a record out of its length, as other tools do', async (t) => {
  const at = scratch(t);
  const places = await writeSample(join(at, 'a.warc'), 'none');
  const [line] = linesOf(pinakes(at, 'warc', 'index', 'a.warc').out);
  assert.match(line!, new RegExp(`"length": "${places[1]!.length - 4}", "offset": "${places[1]!.offset}"`));
});

test('index --format cdx11 and cdx9 write their header, bare digests, and a dash for absent values', async (t) => {
  const at = scratch(t);
  const places = await writeSample(join(at, 'demo.warc.gz'));
  const { offset, length } = places[1]!;
  const cdx11 = linesOf(pinakes(at, 'warc', 'index', '--format', 'cdx11', 'demo.warc.gz').out);
  assert.equal(cdx11[0], ' CDX N b a m s k r M S V g');
  assert.equal(
    cdx11[1],
    `test,example)/a 20240301100000 http://www.example.test/a text/html 200 ${PAGE_SHA1} - - ${length} ${offset} demo.warc.gz`,
  );
  assert.match(cdx11[4]!, /^test,example\)\/form 20240304100000 http:\/\/www\.example\.test\/form - 303 /);
  const cdx9 = linesOf(pinakes(at, 'warc', 'index', '--format', 'cdx9', '--sort', 'demo.warc.gz').out);
  assert.equal(cdx9[0], ' CDX N b a m s k r V g');
  assert.equal(
    cdx9[1],
    `test,example)/a 20240301100000 http://www.example.test/a text/html 200 ${PAGE_SHA1} - ${offset} demo.warc.gz`,
  );
});

test('index --post-append puts method and body of a POST into the key of its response', async (t) => {
  const at = scratch(t);
  await writeSample(join(at, 'demo.warc.gz'));
  const lines = linesOf(pinakes(at, 'warc', 'index', '--post-append', 'demo.warc.gz').out);
  const form = lines.find((line) => line.includes('/form'))!;
  assert.ok(form.startsWith('test,example)/form?__wb_method=post&name=kallimachos&shelf=7 20240304100000 {'), form);
  assert.match(form, /"requestBody": "name=Kallimachos&shelf=7", "method": "POST"/);
  assert.equal(lines.length, 5);
});

test('index names the file inside a package, as replay tools look it up', async (t) => {
  const at = scratch(t);
  const places = await writeSample(join(at, 'data.warc.gz'));
  await writePackage(join(at, 'x.wacz'), [join(at, 'data.warc.gz')]);
  const lines = linesOf(pinakes(at, 'warc', 'index', 'x.wacz').out);
  assert.deepEqual(lines, expectedLines(places, 'data.warc.gz', codedDigest(lines)));
});

test('index refuses an unknown format', async (t) => {
  const at = scratch(t);
  await writeSample(join(at, 'a.warc.gz'));
  const { code, out, err } = pinakes(at, 'warc', 'index', '--format', 'cdx12', 'a.warc.gz');
  assert.deepEqual([code, out], [2, '']);
  assert.match(err, /--format cdx12: .*cdxj, cdx11 or cdx9.*\[BAD_ARGUMENT\]/);
});
