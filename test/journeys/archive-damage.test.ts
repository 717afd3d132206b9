/** The messages of commands that read damaged records. */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { segmentFiles } from '../archive/archive-sample.ts';
import { pinakes as pinakesProcess } from './pinakes-process.ts';
import { pinakes, pinakesJson } from './pinakes-runner.ts';
import { scratch, writeSite } from './warc-sample.ts';

const URL_7 = 'http://site.test/7';

/** An archive of ten pages. In the record of the eighth page, one bit of the checksum is wrong. */
async function damagedArchive(at: string): Promise<{ offset: number; segment: string }> {
  await writeSite(join(at, 'site.warc.gz'), 'site', 10);
  await pinakes(at, 'init');
  await pinakes(at, 'add', 'site.warc.gz');
  const [place] = await pinakesJson(at, 'get', URL_7, '--json');
  const { offset, length, segment } = place as { offset: number; length: number; segment: string };
  const file = segmentFiles(at).find((path) => path.includes(segment))!;
  const bytes = readFileSync(file);
  bytes[offset + length - 8]! ^= 1;
  writeFileSync(file, bytes);
  return { offset, segment };
}

test('get prints a damaged page, and reports the damage on standard error and by the exit code', async (t) => {
  const at = scratch(t);
  const { offset, segment } = await damagedArchive(at);
  for (const option of [[], ['--payload'], ['--raw'], ['--headers']]) {
    const { code, out, err } = await pinakes(at, 'get', URL_7, ...option);
    assert.equal(code, 1, err);
    assert.notEqual(out, '');
    assert.ok(err.includes(`volume main, ${segment}:${offset} (${URL_7}): gzip-crc, `), err);
    assert.match(err, /`pinakes verify` .*backup/);
  }
  assert.match((await pinakes(at, 'get', URL_7)).out, /<title>Page 7 of site<\/title>/);
  const described = await pinakes(at, 'get', URL_7, '--json');
  assert.equal(described.code, 1);
  const content = await pinakes(at, 'cat', JSON.parse(described.out).key);
  assert.equal(content.code, 1);
  assert.match(content.err, /gzip-crc/);
  const { damage } = JSON.parse(described.out) as { damage: { code: string; offset: number; segment: string }[] };
  assert.deepEqual(
    damage.map(({ code, ...place }) => [code, place.offset, place.segment]),
    [['gzip-crc', offset, segment]],
  );
  const sound = await pinakes(at, 'get', 'http://site.test/6', '--json');
  assert.deepEqual([sound.code, sound.err, JSON.parse(sound.out).damage], [0, '', []]);
});

test('stream and export continue after a damaged record, report it once, and exit with 1', async (t) => {
  const at = scratch(t);
  const { offset, segment } = await damagedArchive(at);
  const told = (err: string) => err.split('\n').filter((line) => line.includes(`${segment}:${offset}`));
  for (const command of [
    ['stream', '--out', 'all.warc.gz'],
    ['stream', '--order', 'url', '--out', 'by-url.warc.gz'],
    ['export', 'slice.warc.gz'],
    ['export', 'captures.warc.gz', '--captures-only'],
    ['export', 'plain.warc'],
    ['export', 'packed.wacz'],
  ]) {
    const { code, err } = await pinakes(at, ...command);
    assert.equal(code, 1, `${command.join(' ')}: ${err}`);
    assert.equal(told(err).length, 1, err);
    assert.match(err, /1 damaged record in the output\. `pinakes verify`/);
  }
  const count = (await pinakes(at, 'warc', 'ls', 'all.warc.gz')).out
    .split('\n')
    .filter((line) => /site\.test/.test(line));
  assert.equal(count.length, 10);
  // The record is exported as stored, so that the damage can be noticed in the file too.
  assert.throws(() => gunzipSync(readFileSync(join(at, 'slice.warc.gz'))), /incorrect data check/);
  const [report] = await pinakesJson(at, 'export', 'again.warc.gz', '--json');
  assert.deepEqual([report!.captures, report!.damaged, report!.leftOut], [10, 1, 0]);
  assert.equal((report!.damage as unknown[]).length, 1);
  const elsewhere = await pinakes(at, 'export', 'sound.warc.gz', '--url', 'http://site.test/6');
  assert.deepEqual([elsewhere.code, elsewhere.err], [0, '']);
});

test('verify --known marks the errors of an earlier report, and exits with 1 if there are new errors', async (t) => {
  const at = scratch(t);
  await writeSite(join(at, 'site.warc.gz'), 'site', 10);
  const file = readFileSync(join(at, 'site.warc.gz'));
  file[file.length - 8]! ^= 1;
  writeFileSync(join(at, 'site.warc.gz'), file);
  await pinakes(at, 'init');
  await pinakes(at, 'add', 'site.warc.gz');
  const report = await pinakes(at, 'verify', '--json');
  assert.equal(report.code, 1, 'the checksum is wrong as it was when the file came');
  writeFileSync(join(at, 'report.jsonl'), report.out);
  const known = await pinakes(at, 'verify', '--known', 'report.jsonl');
  assert.equal(known.code, 0, known.out);
  assert.match(known.out, /: known error record-damaged: /);
  assert.match(known.out, /: 1 error \(1 known\), 0 warnings\n$/);

  const [place] = await pinakesJson(at, 'get', 'http://site.test/3', '--json');
  const { offset, length, segment } = place as { offset: number; length: number; segment: string };
  const path = segmentFiles(at).find((name) => name.includes(segment))!;
  const bytes = readFileSync(path);
  bytes[offset + length - 8]! ^= 1;
  writeFileSync(path, bytes);
  writeFileSync(join(dirname(path), 'a blank.warc'), '');
  const more = await pinakes(at, 'verify', '--known', 'report.jsonl', '--json');
  assert.equal(more.code, 1);
  const lines = more.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    lines.filter(({ known }) => known === true).map(({ code }) => code),
    ['record-damaged'],
  );
  assert.ok(lines.some((line) => line.known === false && line.level === 'error' && line.offset === offset));
  assert.equal(lines.at(-1).known, 1);

  // An error of an older report that is only a warning now does not hide other errors.
  const warned = lines.filter(({ level }) => level === 'warning').map((line) => ({ ...line, level: 'error' }));
  assert.equal(warned.length, 1, 'the name with a blank');
  writeFileSync(join(at, 'report.jsonl'), warned.map((line) => `${JSON.stringify(line)}\r\n`).join(''));
  const hidden = await pinakes(at, 'verify', '--known', 'report.jsonl', '--json');
  assert.deepEqual([hidden.code, JSON.parse(hidden.out.trim().split('\n').at(-1)!).known], [1, 0]);

  writeFileSync(join(at, 'report.jsonl'), known.out);
  const refused = await pinakes(at, 'verify', '--known', 'report.jsonl');
  assert.equal(refused.code, 2);
  assert.match(refused.err, /report\.jsonl:1: .*BAD_ARGUMENT/s);
  assert.equal((await pinakes(at, 'verify', '--known', 'none.jsonl')).code, 2);
});

test('the advice about damage in a replayed archive names that archive', async (t) => {
  const at = scratch(t);
  const { segment } = await damagedArchive(at);
  await pinakes(at, 'init', 'target');
  const play = (...options: string[]) =>
    pinakesProcess(at, 'crawl', '--replay', 'archive', '--archive', 'target', ...options);
  const { pages, limit } = JSON.parse(play('--pages', '1', '--json').out);
  assert.deepEqual([pages, limit], [1, 'pages']);
  assert.match(play().err, /1 damaged record left out; `pinakes verify --archive archive` lists them/);
  rmSync(segmentFiles(at).find((path) => path.includes(segment))!);
  const advised = play().err.match(/`pinakes [^`]+`/g)!;
  assert.deepEqual([...new Set(advised)], ['`pinakes rebuild --archive archive`']);
});
