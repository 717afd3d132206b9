import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { linesOf, pinakes, pinakesJson } from './pinakes-process.ts';
import { scratch, writePackage, writeSample } from './warc-sample.ts';

/** The sample with one letter of the page changed, and the digest of the unchanged page. */
async function writeTampered(path: string): Promise<number> {
  const places = await writeSample(path, 'none');
  const bytes = readFileSync(path);
  bytes.write('H', bytes.indexOf('hello'));
  writeFileSync(path, bytes);
  return places[1]!.offset;
}

test('check finds nothing in a sound file and exits with 0', async (t) => {
  const at = scratch(t);
  await writeSample(join(at, 'a.warc.gz'));
  await writeSample(join(at, 'b.warc.zst'), 'zstd');
  const { code, out, err } = pinakes(at, 'warc', 'check', 'a.warc.gz', 'b.warc.zst');
  assert.deepEqual({ code, err }, { code: 0, err: '' });
  assert.deepEqual(linesOf(out), [
    '2 files, 14 records: 0 errors, 0 warnings, 0 notes',
    'digests: 2 right, 0 wrong, 12 records without a digest to compare',
  ]);
});

test('check reports a changed byte with file and offset and exits with 1', async (t) => {
  const at = scratch(t);
  const offset = await writeTampered(join(at, 'a.warc'));
  const { code, out } = pinakes(at, 'warc', 'check', 'a.warc');
  assert.equal(code, 1);
  assert.match(out, new RegExp(`^a\\.warc:${offset}: error block-digest-mismatch: `, 'm'));
  assert.match(out, new RegExp(`^a\\.warc:${offset}: error payload-digest-mismatch: `, 'm'));
  assert.match(out, /^1 file, 7 records: 2 errors, 0 warnings, 0 notes$/m);
  assert.match(out, /^digests: 0 right, 1 wrong, 6 records without a digest to compare$/m);
});

test('check reports how many bytes are missing, and an invalid length', (t) => {
  const at = scratch(t);
  const head = 'WARC/1.1\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:a:1>\r\nWARC-Date: 2024-01-01T00:00:00Z\r\n';
  writeFileSync(join(at, 'short.warc'), `${head}Content-Length: 6\r\n\r\nhello`);
  writeFileSync(join(at, 'none.warc'), `${head}\r\nhello\r\n\r\n`);
  writeFileSync(join(at, 'odd.warc'), `${head}Content-Length: ten\r\n\r\nhello\r\n\r\n`);
  const { out } = pinakes(at, 'warc', 'check', 'short.warc', 'none.warc', 'odd.warc');
  assert.match(out, /^short\.warc:0: error record-truncated: the file ends inside the record: 1 byte is missing$/m);
  assert.match(out, /^none\.warc:0: error content-length-invalid: .* how long it is: Content-Length is missing$/m);
  assert.match(out, /^odd\.warc:0: error content-length-invalid: .* how long it is: Content-Length is "ten"$/m);
});

test('an empty path is reported as empty', (t) => {
  const { code, err } = pinakes(scratch(t), 'warc', 'check', '');
  assert.equal(code, 2);
  assert.match(err, /^pinakes: "": there is no such file or directory \(the path is empty\) \[FILE_MISSING\]/);
});

test('check --json prints findings, records and a summary, each with its kind', async (t) => {
  const at = scratch(t);
  const offset = await writeTampered(join(at, 'a.warc'));
  const lines = pinakesJson(at, 'warc', 'check', '--json', 'a.warc');
  const findings = lines.filter(({ kind }) => kind === 'finding');
  assert.deepEqual(
    findings.map(({ code, level, file, offset }) => ({ code, level, file, offset })),
    [
      { code: 'block-digest-mismatch', level: 'error', file: 'a.warc', offset },
      { code: 'payload-digest-mismatch', level: 'error', file: 'a.warc', offset },
    ],
  );
  const records = lines.filter(({ kind }) => kind === 'record');
  assert.deepEqual(records[1], {
    kind: 'record',
    file: 'a.warc',
    offset,
    type: 'response',
    uri: 'http://www.example.test/a',
    block: 'none',
    payload: 'none',
  });
  assert.deepEqual(lines.at(-1), {
    kind: 'summary',
    files: 1,
    records: 7,
    digestsMatched: 0,
    digestsMismatched: 1,
    digestsUnjudged: 6,
    errors: 2,
    warnings: 0,
    notes: 0,
  });
  assert.equal(findings.length + records.length + 1, lines.length);
});

test('check --verbose shows for every record which bytes its digests cover', async (t) => {
  const at = scratch(t);
  const places = await writeSample(join(at, 'a.warc.gz'));
  const { out } = pinakes(at, 'warc', 'check', '--verbose', 'a.warc.gz');
  assert.match(out, new RegExp(`^a\\.warc\\.gz:${places[1]!.offset}: block block, payload payload$`, 'm'));
  assert.match(out, new RegExp(`^a\\.warc\\.gz:${places[2]!.offset}: block unjudged, payload unjudged$`, 'm'));
});

test('check finds a flipped bit in a compressed file and continues with the next record', async (t) => {
  const at = scratch(t);
  const places = await writeSample(join(at, 'a.warc.gz'));
  const bytes = readFileSync(join(at, 'a.warc.gz'));
  bytes[places[1]!.offset + places[1]!.length - 6]! ^= 0x10;
  writeFileSync(join(at, 'a.warc.gz'), bytes);
  const { code, out } = pinakes(at, 'warc', 'check', 'a.warc.gz');
  assert.equal(code, 1);
  assert.match(out, new RegExp(`^a\\.warc\\.gz:${places[1]!.offset}: error gzip-crc: `, 'm'));
  assert.match(out, /^1 file, 7 records: 1 error, /m);
});

test('check verifies a package as a whole and the files in it', async (t) => {
  const at = scratch(t);
  await writeSample(join(at, 'data.warc.gz'));
  await writePackage(join(at, 'x.wacz'), [join(at, 'data.warc.gz')]);
  const sound = pinakes(at, 'warc', 'check', 'x.wacz');
  assert.equal(sound.code, 0, sound.out);
  assert.match(sound.out, /1 file, 7 records: 0 errors/);
  const bytes = readFileSync(join(at, 'x.wacz'));
  bytes[bytes.indexOf(Buffer.from([0x1f, 0x8b, 0x08]), bytes.indexOf('archive/data.warc.gz')) + 40]! ^= 0xff;
  writeFileSync(join(at, 'x.wacz'), bytes);
  const broken = pinakes(at, 'warc', 'check', 'x.wacz');
  assert.equal(broken.code, 1);
  assert.match(broken.out, /x\.wacz.*error wacz-hash-mismatch/);
  assert.match(broken.out, /^x\.wacz!archive\/data\.warc\.gz:0: error /m);
});

test('check reports an error of a package once, even if two checks find it', async (t) => {
  const at = scratch(t);
  await writeSample(join(at, 'data.warc.gz'));
  await writePackage(join(at, 'x.wacz'), [join(at, 'data.warc.gz')]);
  const bytes = readFileSync(join(at, 'x.wacz'));
  writeFileSync(join(at, 'x.wacz'), bytes.subarray(0, -40));
  const lines = pinakesJson(at, 'warc', 'check', '--json', 'x.wacz');
  const findings = lines.filter(({ kind }) => kind === 'finding').map((line) => JSON.stringify(line));
  assert.match(findings.join('\n'), /wacz-directory-broken/);
  assert.deepEqual(findings, [...new Set(findings)]);
  assert.equal(lines.at(-1)!.errors, 1);
});
