import assert from 'node:assert/strict';
import { once } from 'node:events';
import { appendFileSync, linkSync, mkdirSync, statSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { linesOf, startPinakes } from './pinakes-process.ts';
import { pinakes, pinakesJson } from './pinakes-runner.ts';
import { scratch, writeNoise, writeSample, writeSite } from './warc-sample.ts';

test('an invalid collection name is refused once, before any file is read, with the allowed letters', async (t) => {
  const at = scratch(t);
  await pinakes(at, 'init');
  for (const site of ['one', 'two', 'three']) await writeSite(join(at, `${site}.warc.gz`), site, 2);
  for (const more of [[], ['--in-place']]) {
    const refused = await pinakes(at, 'add', '--collection', 'sp aces', ...more, '.');
    assert.equal(refused.code, 2);
    assert.equal(linesOf(refused.err).length, 2, refused.err);
    assert.match(refused.err, /^pinakes: collection 'sp aces': .*A-Z and a-z, digits, dots.*\[BAD_ARGUMENT\]/);
  }
});

test('an empty file is reported as a warning', async (t) => {
  const at = scratch(t);
  await writeSample(join(at, 'sound.warc.gz'));
  writeFileSync(join(at, 'zero.warc.gz'), '');
  writeFileSync(join(at, 'hollow.warc.gz'), gzipSync(''));
  const checked = await pinakes(at, 'warc', 'check', 'zero.warc.gz', 'hollow.warc.gz', 'sound.warc.gz');
  assert.equal(checked.code, 0);
  assert.deepEqual(
    linesOf(checked.out)
      .filter((line) => line.includes('file-empty'))
      .map((line) => line.split(': ')[0]),
    ['zero.warc.gz:0', 'hollow.warc.gz:0'],
  );
  assert.match(checked.out, /3 files, 7 records: 0 errors, 2 warnings/);
  await pinakes(at, 'init');
  const added = await pinakes(at, 'add', 'zero.warc.gz', 'hollow.warc.gz', 'sound.warc.gz');
  assert.equal(added.code, 0, added.err);
  assert.equal(linesOf(added.err).length, 2, added.err);
  assert.match(added.err, /zero\.warc\.gz:0: warning file-empty: .*\n.*hollow\.warc\.gz:0: warning file-empty: /);
});

test('every add of a damaged file reports and counts the damage, exits with 1, and keeps the readable part', async (t) => {
  const at = scratch(t);
  await writeSite(join(at, 'cut.warc.gz'), 'cut', 5);
  truncateSync(join(at, 'cut.warc.gz'), statSync(join(at, 'cut.warc.gz')).size - 20);
  await pinakes(at, 'init');
  for (const [kept, ...more] of [
    ['everything that can be read was kept'],
    ['every complete record was indexed', '--collection', 'linked', '--in-place'],
  ]) {
    const added = await pinakes(at, 'add', ...more, 'cut.warc.gz');
    assert.equal(added.code, 1, added.err);
    assert.match(added.err, /^cut\.warc\.gz:\d+: error /m);
    assert.match(
      added.out,
      new RegExp(`^1 file: \\d new captures\n.*\n\\d errors? in the files, listed above; ${kept}\n$`),
    );
    const again = await pinakes(at, 'add', ...more, '--json', 'cut.warc.gz');
    assert.equal(again.code, 1, again.err);
    const { errors, captures } = JSON.parse(again.out) as { errors: number; captures: number };
    assert.ok(errors > 0);
    assert.equal(captures, 0);
  }
});

test('an interrupted add says that it can be continued, and the same command continues it', async (t) => {
  const at = scratch(t);
  await pinakes(at, 'init');
  mkdirSync(join(at, 'crawl'));
  await writeSample(join(at, 'crawl/a.warc'), 'none');
  appendFileSync(join(at, 'crawl/a.warc'), 'bytes of no record');
  await writeNoise(join(at, 'crawl/b.warc'), 4, 1024 * 1024);
  for (let copy = 0; copy < 200; copy++) linkSync(join(at, 'crawl/b.warc'), join(at, `crawl/b-${copy}.warc`));
  const child = startPinakes(at, 'add', 'crawl');
  let err = '';
  child.stderr!.on('data', (bytes) => {
    err += bytes;
  });
  const ended = once(child, 'close');
  // The finding shows that the first file was read.
  while (!/a\.warc:\d+: error garbage-skipped/.test(err)) await once(child.stderr!, 'data');
  child.kill('SIGINT');
  assert.deepEqual(await ended, [130, null]);
  assert.match(
    err,
    /\nWhat was added so far is kept; run the same command again to add the rest\.\npinakes: interrupted\n$/,
  );
  for (let copy = 0; copy < 200; copy++) unlinkSync(join(at, `crawl/b-${copy}.warc`));
  assert.match((await pinakes(at, 'add', 'crawl')).out, /^2 files/);
});

test('a file that is not a WARC file is reported as such, without other messages', async (t) => {
  const at = scratch(t);
  await pinakes(at, 'init');
  writeFileSync(join(at, 'index.cdx'), ' CDX N b a m s k r M S V g\n'.repeat(50));
  await writeSite(join(at, 'one.warc.gz'), 'one', 2);
  const alone = await pinakes(at, 'add', 'index.cdx');
  assert.deepEqual([alone.code, alone.out], [2, 'nothing was added\n']);
  assert.match(alone.err, /^pinakes: index\.cdx: this is neither a WARC nor an ARC file \[NOT_WARC\]\n {2}Name.*\n$/);
  const [report] = await pinakesJson(at, 'add', '--json', 'index.cdx', 'one.warc.gz');
  assert.deepEqual([report!.files, report!.errors, report!.captures], [1, 0, 2]);
});

test('failed files are reported in JSON with their codes', async (t) => {
  const at = scratch(t);
  await pinakes(at, 'init');
  writeFileSync(join(at, 'letter.warc'), 'Dear reader, this is no archive file.\n'.repeat(50));
  const [report] = await pinakesJson(at, 'add', '--json', 'letter.warc', 'absent.warc');
  const failures = report!.failures as { code: string; where: string; message: string }[];
  assert.deepEqual(failures.map(({ code }) => code).toSorted(), ['FILE_MISSING', 'NOT_WARC']);
  assert.deepEqual(
    report!.failed,
    failures.map(({ message }) => message),
  );
});

test('a file whose name is not UTF-8 is refused with that reason', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const at = scratch(t);
  mkdirSync(join(at, 'crawl'));
  await writeSite(join(at, 'crawl/one.warc.gz'), 'one', 2);
  const name = Buffer.concat([Buffer.from(join(at, 'crawl/bad')), Buffer.from([0xff]), Buffer.from('.warc.gz')]);
  writeFileSync(name, '');
  await pinakes(at, 'init');
  const added = await pinakes(at, 'add', 'crawl');
  assert.equal(added.code, 2);
  assert.match(added.out, /^1 file: 2 new captures/);
  assert.match(
    added.err,
    /bad\ufffd\.warc\.gz: the name of the file is not UTF-8 \[FILE_NAME_UNREADABLE\]\n {2}Rename it/,
  );
  assert.match((await pinakes(at, 'add', 'crawl/none.warc.gz')).err, /\[FILE_MISSING\]/);
});
