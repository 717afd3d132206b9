import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { digestOf, formatDigest, utf8 } from '../../src/base/index.ts';
import { writeSampleCollection } from '../slim/sample-collection.ts';
import { filesBelow } from '../slim/slim-options.ts';
import { LAUNCHER, linesOf, pinakes as pinakesProcess } from './pinakes-process.ts';
import { pinakes, pinakesJson } from './pinakes-runner.ts';

describe('pinakes slim', () => {
  let base = '';
  before(async () => {
    base = mkdtempSync(join(tmpdir(), 'pinakes-slim-'));
    await writeSampleCollection(join(base, 'crawl'), 31);
  });
  after(() => rmSync(base, { recursive: true }));

  const images = (name: string) => filesBelow(join(base, name)).map((path) => readFileSync(path));

  test('assess prints the possible savings as a table and as JSON, and changes nothing', async () => {
    const earlier = images('crawl');
    const { code, out } = pinakesProcess(base, 'slim', 'assess', 'crawl');
    assert.equal(code, 0);
    assert.match(out, /^4 of 4 files read, .* records\n/);
    for (const heading of [
      'all contents',
      'within a file',
      'across files',
      'by type',
      'by host',
      'text/html',
      'site0.example',
    ]) {
      assert.ok(out.includes(heading), heading);
    }
    const summary = (await pinakesJson(base, 'slim', 'assess', 'crawl', '--json')).at(-1)!;
    const { contents, within, across } = summary as Record<string, { duplicates: number; savedBytes: number }>;
    assert.equal(within!.duplicates + across!.duplicates, contents!.duplicates);
    assert.ok(contents!.duplicates > 40 && contents!.savedBytes > 0);
    const sampled = (await pinakesJson(base, 'slim', 'assess', 'crawl', '--sample', '10%', '--json')).at(-1)!;
    assert.equal(sampled.filesRead, 1);
    assert.deepEqual(images('crawl'), earlier);
    assert.equal(existsSync(join(base, 'crawl', '.pinakes-slim')), false);
  });

  test('a text manifest that does not fit on the disk is an error, and no truncated manifest is left', () => {
    const digest = (number: number) => digestOf('sha256', utf8(String(number)));
    const lines = Array.from(
      { length: 3000 },
      (_, number) =>
        `a.warc.gz ${number}000 1000 http://a.example/${number} 2024-01-01T00:00:00Z ${formatDigest(digest(number))}\n`,
    );
    writeFileSync(join(base, 'long.txt'), lines.join(''));
    assert.equal(pinakesProcess(base, 'slim', 'split', '1', 'long.txt', '--out', 'long').code, 0);
    const part = 'long/part-0001-of-0001.parquet';
    const room = Math.ceil(statSync(join(base, part)).size / 1024) + 20;
    const line = `ulimit -f ${room}; "${LAUNCHER}" slim split 1 ${part} --out cut --format warcsum`;
    const { status, stderr } = spawnSync('bash', ['-c', line], { cwd: base, encoding: 'utf8' });
    assert.equal(status, 2, stderr);
    assert.match(stderr, /^pinakes: .*\bcut\b.*\[\w+\]\n/);
    assert.deepEqual(readdirSync(join(base, 'cut')), []);
  });

  test('a file that is named twice is counted once', async () => {
    mkdirSync(join(base, 'links'));
    symlinkSync('../crawl/a/plain.warc', join(base, 'links/again.warc'));
    const paths = ['crawl/a', 'links', 'crawl/a/plain.warc'];
    const assessed = (await pinakesJson(base, 'slim', 'assess', ...paths, '--json')).at(-1)!;
    assert.deepEqual(assessed, (await pinakesJson(base, 'slim', 'assess', 'crawl/a', '--json')).at(-1)!);
    const summed = (await pinakesJson(base, 'slim', 'sum', ...paths, '--out', 'once.parquet', '--json')).at(-1)!;
    assert.deepEqual([summed.files, summed.records], [2, assessed.records]);
  });

  test('a run continues when its findings cannot be printed, and reports the broken output at its end', {
    skip: !existsSync('/dev/full') && 'no /dev/full',
  }, () => {
    cpSync(join(base, 'crawl'), join(base, 'told'), { recursive: true });
    for (let number = 0; number < 200; number++)
      writeFileSync(
        join(base, `told/${number}.warc`),
        'WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 5\r\n\r\nab',
      );
    const run = `"${LAUNCHER}" slim run told --in-place --json`;
    const full = spawnSync('bash', ['-c', `${run} > /dev/full`], { cwd: base, encoding: 'utf8' });
    assert.match(full.stderr, /^\{"error":\{"code":"DISK_FULL","message":"standard output: [^\n]*\n$/);
    assert.equal(full.status, 2);
    assert.ok(images('told').some((image, at) => !image.equals(images('crawl')[at] ?? image)));
    const gone = spawnSync('bash', ['-c', `set -o pipefail; ${run} | head -c 9`], { cwd: base, encoding: 'utf8' });
    assert.deepEqual([gone.status, gone.stderr], [0, '']);
  });

  test('repeated findings are printed a few times and then counted, and --json prints all of them', async () => {
    const at = join(base, 'repeated');
    mkdirSync(at);
    // No record id, which is a warning, and a URI in brackets, which is a note.
    const record = (n: number) =>
      `WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: <http://odd.test/${n}>\r\n` +
      `WARC-Date: 2024-01-01T00:00:00Z\r\nContent-Length: 5\r\n\r\nodd ${n}\r\n\r\n`;
    writeFileSync(join(at, 'odd.warc.gz'), Buffer.concat([1, 2, 3, 4, 5, 6, 7, 8].map((n) => gzipSync(record(n)))));
    const { code, err } = await pinakes(at, 'slim', 'assess', '.');
    assert.equal(code, 0, err);
    assert.equal(linesOf(err).filter((line) => /warning field-missing/.test(line)).length, 5, err);
    assert.match(err, /\n\.\.\. and 3 more of field-missing; `pinakes warc check` lists them all\n$/);
    assert.doesNotMatch(err, /note/);
    const codes = (await pinakesJson(at, 'slim', 'assess', '.', '--json')).map((line) => line.code);
    for (const one of ['field-missing', 'target-uri-bracketed'])
      assert.equal(codes.filter((known) => known === one).length, 8, one);
  });

  test('assess names the directory in which it cannot write its temporary files', async () => {
    writeFileSync(join(base, 'a-file'), '');
    const { code, err } = await pinakes(base, 'slim', 'assess', 'crawl', '--work', 'a-file');
    assert.equal(code, 2);
    assert.match(err, /^pinakes: a-file: a file stands where a directory is needed \[FILE_NOT_DIRECTORY\]\n/);
  });

  test('run refuses a file where a directory is needed, before it reads anything', async () => {
    writeFileSync(join(base, 'a-file'), '');
    for (const place of [['--to'], ['--in-place', '--keep-originals'], ['--in-place', '--work']]) {
      const { code, out, err } = await pinakes(base, 'slim', 'run', 'crawl', ...place, 'a-file');
      assert.deepEqual([code, out], [2, ''], err);
      assert.match(err, /^pinakes: a-file: .*\[FILE_NOT_DIRECTORY\]\n[^\n]*\n$/);
    }
  });

  test('run in place, undo and run again give the same result as the first run', async () => {
    cpSync(join(base, 'crawl'), join(base, 'copy'), { recursive: true });
    const run = ['slim', 'run', 'copy', '--in-place', '--keep-originals', 'kept'];
    const first = pinakesProcess(base, ...run);
    assert.equal(first.code, 0, first.err);
    assert.match(first.out, /duplicates are revisits now, in 4 files, each read back and compared/);
    const slimmed = images('copy');
    const planned = await pinakes(base, 'slim', 'undo', 'copy', '--dry-run');
    assert.match(planned.out, /^\d+ files would be restored; 0 could not be\n$/);
    const undone = await pinakes(base, 'slim', 'undo', 'copy');
    assert.equal(undone.code, 0, undone.err);
    assert.deepEqual(images('copy'), images('crawl'));
    const summary = (await pinakesJson(base, ...run, '--json')).at(-1)!;
    for (const name of ['records', 'duplicates', 'collisions', 'bytesBefore', 'bytesAfter']) {
      assert.equal(typeof summary[name], 'number', name);
    }
    assert.deepEqual(images('copy'), slimmed);
  });

  test('the slimmed files have no findings, and compare finds no difference', async () => {
    assert.equal((await pinakes(base, 'slim', 'run', 'crawl', '--to', 'target')).code, 0);
    assert.equal((await pinakes(base, 'warc', 'check', 'target')).code, 0);
    assert.equal((await pinakes(base, 'slim', 'sum', 'crawl', '--out', 'before.parquet')).code, 0);
    assert.equal((await pinakes(base, 'slim', 'sum', 'target', '--out', 'after.parquet')).code, 0);
    const before = readFileSync(join(base, 'before.parquet'));
    const refused = await pinakes(base, 'slim', 'sum', 'target', '--out', 'before.parquet');
    assert.equal(refused.code, 2);
    assert.match(refused.err, /^pinakes: before\.parquet: .*\[FILE_EXISTS\]\n.*--force/);
    assert.deepEqual(readFileSync(join(base, 'before.parquet')), before);
    assert.equal((await pinakes(base, 'slim', 'resolve', 'before.parquet', '--out', 'after.parquet')).code, 2);
    assert.equal((await pinakes(base, 'slim', 'sum', 'target', '--out', 'after.parquet', '--force')).code, 0);
    const same = await pinakes(base, 'slim', 'compare', 'before.parquet', 'after.parquet');
    assert.equal(same.code, 0, same.out);
    rmSync(filesBelow(join(base, 'target'))[0]!);
    assert.equal((await pinakes(base, 'slim', 'sum', 'target', '--out', 'less.parquet')).code, 0);
    const less = await pinakes(base, 'slim', 'compare', 'before.parquet', 'less.parquet', '--json');
    assert.equal(less.code, 1);
    const summary = JSON.parse(linesOf(less.out).at(-1)!) as Record<string, number>;
    assert.ok(summary.missing! > 0);
  });

  test('the stages work one after another on the command line', async () => {
    cpSync(join(base, 'crawl'), join(base, 'staged'), { recursive: true });
    const steps = [
      ['sum', 'staged', '--out', 'm.parquet', '--algorithm', 'sha512'],
      ['split', '3', 'm.parquet', '--out', 'parts'],
      [
        'resolve',
        'parts/part-0001-of-0003.parquet',
        'parts/part-0002-of-0003.parquet',
        'parts/part-0003-of-0003.parquet',
        '--out',
        'r.parquet',
      ],
      ['refs', 'staged', '--manifest', 'r.parquet', '--in-place'],
    ];
    for (const step of steps) {
      const { code, err } = await pinakes(base, 'slim', ...step);
      assert.equal(code, 0, `${step.join(' ')}: ${err}`);
    }
    const sizes = (name: string) => images(name).reduce((sum, bytes) => sum + bytes.length, 0);
    assert.ok(sizes('staged') < sizes('crawl'));
  });

  test('an ARC file and a WARC file of the same name are both complete in the target', async () => {
    mkdirSync(join(base, 'twins', 'deep'), { recursive: true });
    const record = 'http://a.example/ 192.0.2.1 20200101000000 text/plain 5\nhello\n';
    const head =
      'filedesc://a.arc 0.0.0.0 20200101000000 text/plain 77\n1 0 A\nURL IP-address Archive-date Content-type Archive-length\n\n';
    for (const below of ['', 'deep']) {
      const warc = filesBelow(join(base, 'crawl')).find((path) => path.endsWith('.warc.gz'))!;
      writeFileSync(join(base, 'twins', below, 'a.warc'), gunzipSync(readFileSync(warc)));
      writeFileSync(join(base, 'twins', below, 'a.arc'), head + record);
    }
    const { code, err } = await pinakes(base, 'slim', 'run', 'twins', '--to', 'both');
    assert.equal(code, 0, err);
    const written = filesBelow(join(base, 'both')).map((path) => relative(join(base, 'both'), path));
    assert.deepEqual(written.filter((path) => path.endsWith('.warc')).sort(), [
      '2~a.warc',
      'a.warc',
      'deep/2~a.warc',
      'deep/a.warc',
    ]);
    assert.equal((await pinakes(base, 'warc', 'check', 'both')).code, 0);
  });

  test('every stage refuses a file name that a manifest cannot contain, with advice', async () => {
    const [file] = filesBelow(join(base, 'crawl'));
    mkdirSync(join(base, 'odd'));
    cpSync(file!, join(base, 'odd', 'two\nlines.warc.gz'));
    for (const args of [
      ['assess', 'odd'],
      ['sum', 'odd', '--out', 'odd.parquet'],
      ['run', 'odd', '--to', 'x'],
    ]) {
      const { code, err } = await pinakes(base, 'slim', ...args);
      assert.equal(code, 2, args[0]);
      assert.match(
        err,
        /^pinakes: ".*two\\nlines\.warc\.gz": .*rename the file: a manifest cannot contain names with line ends or tabs/m,
        args[0],
      );
    }
  });

  test('invalid arguments are refused before any work is done', async () => {
    const earlier = images('crawl');
    for (const args of [
      ['run', 'crawl'],
      ['run', 'crawl', '--in-place', '--to', 'x'],
      ['run', 'crawl', '--to', 'x', '--keep-originals', 'y'],
      ['run', 'crawl', '--in-place', '--algorithm', 'crc32'],
      ['run', 'crawl', '--in-place', '--algorithm', 'sha1', '--verify', 'digest'],
      ['run', 'crawl', '--in-place', '--min-saving', 'much'],
      ['run', 'nowhere', '--in-place'],
      ['assess', 'crawl', '--sample', '0%'],
      ['assess', 'crawl', '--workers', '0'],
      ['sum', 'crawl', '--out', 'z', '--format', 'csv'],
      ['split', '0', 'before.parquet', '--out', 'z'],
      ['undo', 'crawl'],
    ]) {
      const { code, err } = await pinakes(base, 'slim', ...args);
      assert.equal(code, 2, `${args.join(' ')}: ${err}`);
      assert.match(err, /^pinakes: /, args.join(' '));
    }
    assert.deepEqual(images('crawl'), earlier);
  });

  test('a damaged file makes the exit code 1, and the others are slimmed', async () => {
    cpSync(join(base, 'crawl'), join(base, 'damaged'), { recursive: true });
    const [file] = filesBelow(join(base, 'damaged'));
    writeFileSync(file!, readFileSync(file!).subarray(0, -20));
    const { code, out, err } = await pinakes(base, 'slim', 'run', 'damaged', '--in-place');
    assert.equal(code, 1, err);
    assert.match(err, /slim-file-damaged/);
    assert.match(out, /in 3 files/);
    assert.match(out, /^1 file left out, and is unchanged$/m);
  });
});
