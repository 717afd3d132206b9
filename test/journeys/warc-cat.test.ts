import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import yazl from 'yazl';
import { pinakesBytes as pinakesProcessBytes } from './pinakes-process.ts';
import { pinakes, pinakesBytes } from './pinakes-runner.ts';
import {
  ARC_FILE,
  CODED_TEXT,
  gzipWhole,
  PAGE,
  PAGE_BLOCK,
  PAGE_HTTP_HEAD,
  scratch,
  writePackage,
  writeSample,
} from './warc-sample.ts';

test('cat prints the whole record, which is a WARC file of one record', async (t) => {
  const at = scratch(t);
  const { offset, length } = (await writeSample(join(at, 'a.warc.gz')))[1]!;
  const whole = pinakesProcessBytes(at, 'warc', 'cat', 'a.warc.gz', String(offset));
  assert.deepEqual(whole, gunzipSync(readFileSync(join(at, 'a.warc.gz')).subarray(offset, offset + length)));
  writeFileSync(join(at, 'one.warc'), whole);
  assert.match(
    (await pinakes(at, 'warc', 'check', 'one.warc')).out,
    /^1 file, 1 record: 0 errors, 0 warnings, 0 notes\n/,
  );
});

test('cat prints the requested part', async (t) => {
  const at = scratch(t);
  const places = await writeSample(join(at, 'a.warc.gz'));
  const { offset, length } = places[1]!;
  const part = (name: string) => pinakesBytes(at, 'warc', 'cat', 'a.warc.gz', String(offset), `--${name}`);
  const headers = (await part('headers')).toString();
  assert.match(headers, /^WARC\/1\.1\r\nWARC-Type: response\r\n/);
  assert.ok(headers.endsWith(`Content-Length: 190\r\n\r\n${PAGE_HTTP_HEAD}`));
  assert.equal((await part('block')).toString(), PAGE_BLOCK);
  assert.equal((await part('payload')).toString(), PAGE);
  assert.equal((await part('decoded')).toString(), PAGE);
  assert.deepEqual(await part('raw'), readFileSync(join(at, 'a.warc.gz')).subarray(offset, offset + length));
});

test('cat --payload keeps the content coding, and --decoded removes it', async (t) => {
  const at = scratch(t);
  const offset = String((await writeSample(join(at, 'a.warc.gz')))[6]!.offset);
  assert.equal(
    gunzipSync(await pinakesBytes(at, 'warc', 'cat', 'a.warc.gz', offset, '--payload')).toString(),
    CODED_TEXT,
  );
  assert.equal((await pinakesBytes(at, 'warc', 'cat', 'a.warc.gz', offset, '--decoded')).toString(), CODED_TEXT);
});

test('cat finds no record inside the header line of an ARC record', async (t) => {
  const at = scratch(t);
  writeFileSync(join(at, 'a.arc'), ARC_FILE);
  const listed = (await pinakes(at, 'warc', 'ls', '--json', 'a.arc')).out.trim().split('\n');
  const offsets = listed.map((line) => (JSON.parse(line) as { offset: number }).offset);
  assert.ok(offsets.length > 1);
  for (const offset of offsets) {
    assert.equal((await pinakes(at, 'warc', 'cat', 'a.arc', String(offset))).code, 0);
    const inside = await pinakes(at, 'warc', 'cat', 'a.arc', String(offset + 3));
    assert.deepEqual([inside.code, inside.out], [2, '']);
    assert.match(inside.err, /a\.arc:\d+: there is no record at this offset \[NO_RECORD\]/);
  }
});

test('cat finds a record in a package, and refuses a package with several files without a file name', async (t) => {
  const at = scratch(t);
  const offset = String((await writeSample(join(at, 'data.warc.gz')))[1]!.offset);
  await writeSample(join(at, 'more.warc.gz'));
  await writePackage(join(at, 'one.wacz'), [join(at, 'data.warc.gz')]);
  await writePackage(join(at, 'two.wacz'), [join(at, 'data.warc.gz'), join(at, 'more.warc.gz')]);
  const named = await pinakes(at, 'warc', 'cat', 'one.wacz!archive/data.warc.gz', offset, '--payload');
  assert.deepEqual(named, { code: 0, out: PAGE, err: '' });
  assert.equal((await pinakes(at, 'warc', 'cat', 'one.wacz', offset, '--payload')).out, PAGE);
  const raw = await pinakesBytes(at, 'warc', 'cat', 'two.wacz!archive/more.warc.gz', offset, '--raw');
  assert.deepEqual(raw, await pinakesBytes(at, 'warc', 'cat', 'more.warc.gz', offset, '--raw'));
  const unclear = await pinakes(at, 'warc', 'cat', 'two.wacz', offset);
  assert.equal(unclear.code, 2);
  assert.match(unclear.err, /two\.wacz!archive\/data\.warc\.gz, two\.wacz!archive\/more\.warc\.gz.*\[BAD_ARGUMENT\]/);
  assert.equal((await pinakes(at, 'warc', 'cat', 'two.wacz!archive/none.warc.gz', offset)).code, 2);
});

test('cat reads a file that its package compresses, although the standard forbids this', async (t) => {
  const at = scratch(t);
  const { offset, length } = (await writeSample(join(at, 'data.warc.gz')))[1]!;
  const zip = new yazl.ZipFile();
  zip.addFile(join(at, 'data.warc.gz'), 'archive/data.warc.gz', { compress: true });
  zip.end();
  writeFileSync(join(at, 'bad.wacz'), Buffer.concat(await Array.fromAsync(zip.outputStream as AsyncIterable<Buffer>)));
  const cat = (flag: string) => pinakesBytes(at, 'warc', 'cat', 'bad.wacz', String(offset), flag);
  assert.equal((await cat('--payload')).toString(), PAGE);
  assert.deepEqual(await cat('--raw'), readFileSync(join(at, 'data.warc.gz')).subarray(offset, offset + length));
});

test('cat accepts OFFSET+INNER for a record that shares its member, and refuses --raw for it', async (t) => {
  const at = scratch(t);
  const places = await writeSample(join(at, 'a.warc'), 'none');
  gzipWhole(readFileSync(join(at, 'a.warc')), join(at, 'whole.warc.gz'));
  const place = `0+${places[1]!.offset}`;
  assert.equal((await pinakes(at, 'warc', 'cat', 'whole.warc.gz', place, '--payload')).out, PAGE);
  const raw = await pinakes(at, 'warc', 'cat', 'whole.warc.gz', place, '--raw');
  assert.equal(raw.code, 2);
  assert.match(raw.err, /shares a compressed member/);
  assert.equal((await pinakes(at, 'warc', 'cat', 'whole.warc.gz', `0+${places[1]!.offset + 1}`)).code, 2);
});

test('cat reads a file whose name contains an exclamation mark', async (t) => {
  const at = scratch(t);
  const offset = String((await writeSample(join(at, 'wow!.warc.gz')))[1]!.offset);
  assert.equal((await pinakes(at, 'warc', 'cat', 'wow!.warc.gz', offset, '--payload')).out, PAGE);
});

test('cat prints ARC records', async (t) => {
  const at = scratch(t);
  writeFileSync(join(at, 'demo.arc'), ARC_FILE);
  const offset = String(ARC_FILE.indexOf('http://www.example.test:80'));
  assert.equal((await pinakes(at, 'warc', 'cat', 'demo.arc', offset, '--payload')).out, PAGE);
  assert.ok(
    (await pinakes(at, 'warc', 'cat', 'demo.arc', offset)).out.startsWith('http://www.example.test:80/a 192.0.2.10 '),
  );
});

test('cat refuses an offset where no record starts, and invalid arguments', async (t) => {
  const at = scratch(t);
  const { offset } = (await writeSample(join(at, 'a.warc.gz')))[1]!;
  for (const place of [String(offset + 1), '99999999']) {
    const { code, out, err } = await pinakes(at, 'warc', 'cat', 'a.warc.gz', place);
    assert.deepEqual([code, out], [2, '']);
    assert.match(
      err,
      new RegExp(`a\\.warc\\.gz:${place}: there is no record at this offset \\[NO_RECORD\\]\n  .*warc ls`),
    );
  }
  assert.match((await pinakes(at, 'warc', 'cat', 'a.warc.gz', '-1')).err, /\[BAD_ARGUMENT\]/);
  assert.match((await pinakes(at, 'warc', 'cat', 'a.warc.gz', 'ten')).err, /\[BAD_ARGUMENT\]/);
  const both = await pinakes(at, 'warc', 'cat', 'a.warc.gz', '0', '--raw', '--payload');
  assert.equal(both.code, 2);
  assert.match(both.err, /cannot be used with/);
  assert.match((await pinakes(at, 'warc', 'cat', '.', '0')).err, /\[FILE_IS_DIRECTORY\]/);
});
