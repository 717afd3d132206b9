import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { LAUNCHER, linesOf, pinakes as pinakesProcess, startPinakes } from './pinakes-process.ts';
import { pinakes, pinakesJson } from './pinakes-runner.ts';
import { JPEG, scratch, writeNoise, writeSample } from './warc-sample.ts';

/** Every command that takes paths. */
const COMMANDS = [['ls'], ['check'], ['index'], ['convert', '--to', 'warc.zst']];

test('a missing path is reported with advice', async (t) => {
  const at = scratch(t);
  mkdirSync(join(at, 'nothing'));
  for (const command of COMMANDS) {
    const missing = await pinakes(at, 'warc', ...command, 'missing.warc.gz');
    assert.deepEqual([missing.code, missing.out], [2, ''], command[0]);
    assert.equal(
      missing.err,
      'pinakes: missing.warc.gz: there is no such file or directory [FILE_MISSING]\n  Check the spelling of the path.\n',
    );
  }
  const empty = await pinakes(at, 'warc', 'ls', 'nothing');
  assert.equal(empty.code, 2);
  assert.match(empty.err, /^pinakes: nothing: the directory holds no WARC, ARC or WACZ files \[NO_WARCS\]\n {2}\S/);
  assert.deepEqual(readdirSync(at), ['nothing']);
});

test('a picture with the name of an archive file is refused with advice', async (t) => {
  const at = scratch(t);
  writeFileSync(join(at, 'photo.warc.gz'), JPEG);
  for (const command of COMMANDS) {
    const { code, out, err } = await pinakes(at, 'warc', ...command, 'photo.warc.gz');
    assert.deepEqual([code, linesOf(out).filter((line) => !line.startsWith('{'))], [2, []], command[0]);
    assert.match(
      err,
      /^pinakes: photo\.warc\.gz: this is neither a WARC nor an ARC file \[NOT_WARC\]\n {2}Name a \.warc,/,
    );
    assert.equal(linesOf(err).length, 2);
  }
  assert.deepEqual(readdirSync(at), ['photo.warc.gz']);
});

test('a ZIP file without archive files is refused', async (t) => {
  const at = scratch(t);
  const emptyZip = Buffer.concat([Buffer.from('PK\x05\x06'), Buffer.alloc(18)]);
  writeFileSync(join(at, 'x.wacz'), emptyZip);
  const { code, err } = await pinakes(at, 'warc', 'ls', 'x.wacz');
  assert.equal(code, 2);
  assert.match(err, /x\.wacz: .*\[NOT_WACZ\]/);
});

test('a pipe is refused at once', {
  skip: process.platform === 'win32' && 'no named pipes',
}, async (t) => {
  const at = scratch(t);
  spawnSync('mkfifo', [join(at, 'pipe.warc')]);
  const { code, err } = pinakesProcess(at, 'warc', 'ls', 'pipe.warc');
  assert.equal(code, 2);
  assert.match(err, /pipe\.warc: .*\[FILE_NOT_SEEKABLE\]/);
});

test('a file without read permission is reported as such', {
  skip: process.getuid?.() === 0 && 'the superuser may read every file',
}, async (t) => {
  const at = scratch(t);
  await writeSample(join(at, 'a.warc.gz'));
  chmodSync(join(at, 'a.warc.gz'), 0);
  const { code, err } = await pinakes(at, 'warc', 'ls', 'a.warc.gz');
  assert.equal(code, 2);
  assert.match(err, /^pinakes: a\.warc\.gz: the file may not be read \[FILE_UNREADABLE\]\n/);
});

test('a bad path does not stop the others, and the exit code is 2', async (t) => {
  const at = scratch(t);
  mkdirSync(join(at, 'crawl'));
  await writeSample(join(at, 'a.warc.gz'));
  await writeSample(join(at, 'crawl/b.warc.gz'));
  symlinkSync('nowhere', join(at, 'crawl/a.warc.gz'));
  writeFileSync(join(at, 'photo.warc.gz'), JPEG);
  const paths = ['missing.warc', 'a.warc.gz', 'photo.warc.gz', 'crawl'];
  const listing = pinakesProcess(at, 'warc', 'ls', '--json', ...paths);
  assert.equal(listing.code, 2);
  assert.equal(linesOf(listing.out).length, 14);
  for (const path of ['missing.warc', 'photo.warc.gz', 'crawl/a.warc.gz'])
    assert.ok(listing.err.includes(`"where":"${path}"`));
  const check = (await pinakesJson(at, 'warc', 'check', '--json', ...paths)).at(-1)!;
  assert.deepEqual([check.files, check.records, check.errors], [2, 14, 0]);
  const index = await pinakes(at, 'warc', 'index', '--sort', ...paths);
  assert.deepEqual([index.code, linesOf(index.out).length], [2, 10]);
  const convert = await pinakes(at, 'warc', 'convert', '--to', 'warc.zst', '--out', 'new', ...paths);
  assert.deepEqual([convert.code, linesOf(convert.out).length], [2, 2]);
  assert.deepEqual(readdirSync(join(at, 'new')).sort(), ['a.warc.zst', 'b.warc.zst']);
});

test('invalid arguments exit with 2, and help exits with 0', async (t) => {
  const at = scratch(t);
  const refused: string[][] = [
    [],
    ['warc'],
    ['bogus'],
    ['warc', 'bogus'],
    ['warc', 'ls'],
    ['warc', 'ls', '--bogus', 'x'],
    ['warc', 'cat', 'x'],
  ];
  for (const args of refused) {
    const { code, out, err } = await pinakes(at, ...args);
    assert.deepEqual([code, out], [2, ''], args.join(' '));
    assert.notEqual(err, '');
  }
  const helped = [['--help'], ['help'], ['warc', '--help'], ['warc', 'help', 'ls'], ['demo', '--help'], ['--version']];
  assert.deepEqual([pinakesProcess(at, 'bogus').code, pinakesProcess(at, '--help').code], [2, 0]);
  for (const command of ['ls', 'cat', 'check', 'index', 'convert']) helped.push(['warc', command, '--help']);
  for (const group of ['slim', 'volume', 'snapshot', 'crawl']) helped.push([group, '--help']);
  for (const args of helped) {
    const { code, out, err } = await pinakes(at, ...args);
    assert.deepEqual([code, err], [0, ''], args.join(' '));
    assert.notEqual(out, '');
    for (const line of linesOf(out)) assert.ok(line.length <= 80, `${args.join(' ')}: ${line}`);
  }
});

test('a listing ends without an error when its reader closes the pipe', async (t) => {
  const at = scratch(t);
  await writeNoise(join(at, 'a.warc'), 5000, 16);
  for (const command of ['ls', 'ls --json', 'check --verbose', 'index', 'index --sort']) {
    const line = `"${LAUNCHER}" warc ${command} a.warc | head -1; exit "\${PIPESTATUS[0]}"`;
    const { status, stdout, stderr } = spawnSync('bash', ['-c', line], { cwd: at, encoding: 'utf8' });
    assert.deepEqual([status, stderr, linesOf(stdout).length], [0, '', 1], command);
  }
});

test('convert finishes although the reader of its report is gone', async (t) => {
  const at = scratch(t);
  for (const name of ['a', 'b', 'c', 'd']) await writeSample(join(at, `${name}.warc.gz`));
  const line = `"${LAUNCHER}" warc convert --to warc a.warc.gz b.warc.gz c.warc.gz d.warc.gz | true; exit "\${PIPESTATUS[0]}"`;
  const { status, stderr } = spawnSync('bash', ['-c', line], { cwd: at, encoding: 'utf8' });
  assert.deepEqual([status, stderr], [0, '']);
  assert.deepEqual(
    readdirSync(at).filter((name) => name.endsWith('.warc')),
    ['a.warc', 'b.warc', 'c.warc', 'd.warc'],
  );
});

test('a full disk behind standard output is reported as a failure, not as a bug', {
  skip: !existsSync('/dev/full') && 'no /dev/full',
}, async (t) => {
  const at = scratch(t);
  await writeSample(join(at, 'a.warc.gz'));
  await writeSample(join(at, 'b.warc.gz'));
  const { status, stderr } = spawnSync('bash', ['-c', `"${LAUNCHER}" warc ls a.warc.gz b.warc.gz > /dev/full`], {
    cwd: at,
    encoding: 'utf8',
  });
  assert.equal(status, 2);
  assert.match(stderr, /^pinakes: standard output: no space is left on the device \[DISK_FULL\]\n/);
  assert.equal(linesOf(stderr).length, 2);
});

test('an interrupted convert exits with 130 and leaves no files', async (t) => {
  const at = scratch(t);
  await writeNoise(join(at, 'big.warc'), 24, 1024 * 1024);
  const source = statSync(join(at, 'big.warc')).size;
  const child = startPinakes(
    at,
    'warc',
    'convert',
    '--to',
    'warc.zst',
    '--dictionary',
    'none',
    '--level',
    '19',
    'big.warc',
  );
  const ended = once(child, 'exit');
  for (let waited = 0; readdirSync(at).length < 3 && waited < 20_000; waited += 20) await setTimeout(20);
  assert.ok(readdirSync(at).length > 1, 'the conversion is under way');
  child.kill('SIGINT');
  assert.deepEqual(await ended, [130, null]);
  assert.deepEqual(readdirSync(at), ['big.warc']);
  assert.equal(statSync(join(at, 'big.warc')).size, source);
});

test('an interrupted index --sort exits with 130 without printing a partial index', async (t) => {
  const at = scratch(t);
  await writeSample(join(at, 'first.warc'), 'none');
  appendFileSync(join(at, 'first.warc'), 'bytes of no record');
  await writeNoise(join(at, 'big.warc'), 16, 1024 * 1024);
  const child = startPinakes(
    at,
    'warc',
    'index',
    '--sort',
    'first.warc',
    ...Array.from({ length: 600 }, () => 'big.warc'),
  );
  let out = '';
  child.stdout!.on('data', (bytes) => {
    out += bytes;
  });
  const ended = once(child, 'exit');
  // The finding shows that the first file is done and that the walk continues.
  const [said] = await once(child.stderr!, 'data');
  assert.match(String(said), /first\.warc:\d+: error garbage-skipped/);
  child.kill('SIGINT');
  assert.deepEqual(await ended, [130, null]);
  assert.equal(out, '');
});
