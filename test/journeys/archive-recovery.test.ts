import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { segmentFiles } from '../archive/archive-sample.ts';
import { pinakes, pinakesJson } from './pinakes-runner.ts';
import { scratch, writeSite } from './warc-sample.ts';

const GUIDE = readFileSync(resolve(import.meta.dirname, '../../docs/archive.md'), 'utf8');

/** The first shell block under a heading of the guide. */
function recipeOf(heading: string): string {
  const section = GUIDE.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
  return /^```sh\n([^`]+)```$/m.exec(section)![1]!;
}

function follow(at: string, recipe: string): void {
  execFileSync('sh', ['-ec', recipe], { cwd: at });
}

test('an archive that is restored as the guide says has its captures, deletions, snapshots and schedules', async (t) => {
  const at = scratch(t);
  await writeSite(join(at, 'one.warc.gz'), 'one', 8);
  await pinakes(at, 'init', '--name', 'kept');
  await pinakes(at, 'add', 'one.warc.gz', '--collection', 'spring');
  await pinakes(at, 'snapshot', 'create', 'before');
  await pinakes(at, 'delete', '--url', 'http://one.test/3', '--yes');
  // No server listens at this URL, so the crawl leaves only the schedule.
  await pinakes(at, 'crawl', 'http://127.0.0.1/', '--collection', 'site', '--every', 'week');
  const commands = [
    ['export'],
    ['snapshot', 'ls', '--json'],
    ['crawl', '--schedules', '--json'],
    ['volume', 'ls', '--json'],
  ];
  const told = async () => {
    const answers = [];
    for (const command of commands) answers.push((await pinakes(at, ...command)).out.replace(/"freeBytes":\d+/, ''));
    return answers;
  };
  const before = await told();
  assert.equal(before[0]!.split('\n').length, 8);
  for (const answer of before) assert.notEqual(answer, '');
  mkdirSync(join(at, 'backup'));
  follow(at, recipeOf('Back up, and recover').replaceAll('/mnt/backup', 'backup'));
  rmSync(join(at, 'archive'), { recursive: true });
  follow(at, 'cp -a backup archive');
  assert.deepEqual(await told(), before);
  assert.equal((await pinakes(at, 'verify')).code, 0);
});

test('a read-only archive is opened through another archive, as the guide says', async (t) => {
  const at = scratch(t);
  await writeSite(join(at, 'one.warc.gz'), 'one', 4);
  await pinakes(at, 'init', 'theirs');
  await pinakes(at, 'add', '-a', 'theirs', 'one.warc.gz');
  await pinakes(at, 'delete', '-a', 'theirs', '--url', 'http://one.test/3', '--yes');
  const lines = recipeOf('Read an archive that cannot be written to')
    .replace('/mnt/theirs', 'theirs')
    .trim()
    .split('\n');
  for (const line of lines.slice(0, 2)) {
    const done = await pinakes(at, ...line.split(' ').slice(1));
    assert.equal(done.code, 0, done.err);
  }
  assert.match((await pinakes(at, 'get', '-a', 'mine', 'http://one.test/2')).out, /Page 2 of one/);
  assert.match((await pinakes(at, 'get', '-a', 'mine', 'http://one.test/3')).err, /CONTENT_MISSING/);
  const [, theirs] = await pinakesJson(at, 'volume', 'ls', '-a', 'mine', '--json');
  assert.equal(theirs!.state, 'read-only');
});

test('every command reports a missing segment with advice, and a rebuild continues without it', async (t) => {
  const at = scratch(t);
  for (const name of ['one', 'two']) await writeSite(join(at, `${name}.warc.gz`), name, 4);
  await pinakes(at, 'init');
  for (const name of ['one', 'two']) await pinakes(at, 'add', `${name}.warc.gz`, '--collection', name);
  rmSync(join(at, 'archive/volumes/main/two'), { recursive: true });
  const told = await pinakes(at, 'get', 'http://one.test/2');
  assert.match(told.out, /Page 2 of one/);
  assert.match(told.err, /segment-missing: .*restore it from a backup, or run `pinakes rebuild`/);
  const [rebuilt] = await pinakesJson(at, 'rebuild', '--json');
  const [stats] = await pinakesJson(at, 'stats', '--json');
  assert.deepEqual([rebuilt!.segments, rebuilt!.captures, rebuilt!.storedBytes], [1, 4, stats!.storedBytes]);
  assert.deepEqual(await pinakes(at, 'get', 'http://one.test/2'), { ...told, err: '' });
});

test('a path where an archive cannot be created or opened is reported with advice', async (t) => {
  const at = scratch(t);
  writeFileSync(join(at, 'afile'), 'x');
  await pinakes(at, 'init');
  const long = 'x'.repeat(300);
  for (const [command, says] of [
    [['init', 'afile'], /^pinakes: afile: a file stands where a directory is needed \[FILE_NOT_DIRECTORY\]/],
    [['init', 'afile/sub'], /^pinakes: afile\/sub: a file stands.*\[FILE_NOT_DIRECTORY\]/],
    [['serve', '--init', '-a', 'afile'], /^pinakes: afile: .*\[FILE_NOT_DIRECTORY\]/],
    [['demo', '--keep', 'afile', '--no-open'], /^pinakes: afile: .*\[FILE_NOT_DIRECTORY\]/],
    [['stats', '-a', 'afile'], /^pinakes: afile: .*\[FILE_NOT_DIRECTORY\]/],
    [['volume', 'add', 'second', 'afile'], /afile: .*\[FILE_NOT_DIRECTORY\]/],
    [['volume', 'add', 'second', 'afile/sub'], /afile: .*\[FILE_NOT_DIRECTORY\]/],
    [['init', long], /ENAMETOOLONG.*\[FILE_UNWRITABLE\]/],
    [['init', ''], /name the directory to create.*\[BAD_ARGUMENT\]/],
    [
      ['export', 'all.warc.gz', '--collection', '--force'],
      /--collection: .*write --collection=--force.*\[BAD_ARGUMENT\]/,
    ],
    [['get', ''], /^pinakes: '': .*\[CONTENT_MISSING\]/],
    [
      ['--archive', 'archive', 'stats'],
      /unknown option '--archive'\n\(write the command first and its options after it/,
    ],
    [['stats', '--archiv', 'archive'], /Did you mean --archive\?\)\n\(add --help for more\)/],
    [['demo', '--keep', '--no-open'], /--keep: .*the option needs a value.*\[BAD_ARGUMENT\]/],
  ] as const) {
    const refused = await pinakes(at, ...command);
    assert.equal(refused.code, 2, `${command}: ${refused.err}`);
    assert.match(refused.err, says);
  }
  writeFileSync(join(at, 'archive/archive.yaml'), 'version: 7\n');
  assert.match((await pinakes(at, 'stats')).err, /version 7 was made by a newer Pinakes.*docs\/storage\.md/s);
});

test('an archive in a read-only directory is refused with its own advice', {
  skip: process.getuid?.() === 0 && 'root may write everywhere',
}, async (t) => {
  const at = scratch(t);
  await pinakes(at, 'init');
  chmodSync(join(at, 'archive'), 0o555);
  try {
    assert.match((await pinakes(at, 'stats')).err, /^pinakes: archive: .*\[ARCHIVE_UNWRITABLE\]/);
    assert.match((await pinakes(at, 'init', 'archive/sub')).err, /\[FILE_UNWRITABLE\]/);
  } finally {
    chmodSync(join(at, 'archive'), 0o755);
  }
});

test('a rebuild names a damaged record and exits with 1', async (t) => {
  const at = scratch(t);
  await writeSite(join(at, 'one.warc.gz'), 'one', 4);
  await pinakes(at, 'init');
  await pinakes(at, 'add', 'one.warc.gz');
  assert.equal((await pinakes(at, 'rebuild')).code, 0);
  const [segment] = segmentFiles(join(at, 'archive'));
  const bytes = readFileSync(segment!);
  const middle = Math.floor(bytes.length / 2);
  writeFileSync(segment!, bytes.fill(0, middle, middle + 50));
  const { code, err } = await pinakes(at, 'rebuild');
  assert.equal(code, 1);
  assert.match(err, /: error gzip-/);
});

test('a rebuild names a missing file that was added in place and exits with 1, and a later rebuild adds it again', async (t) => {
  const at = scratch(t);
  for (const name of ['one', 'two']) await writeSite(join(at, `${name}.warc.gz`), name, 4);
  await pinakes(at, 'init');
  await pinakes(at, 'add', 'one.warc.gz');
  await pinakes(at, 'add', '--in-place', 'two.warc.gz');
  renameSync(join(at, 'two.warc.gz'), join(at, 'away'));
  const { code, out, err } = await pinakes(at, 'rebuild');
  assert.equal(code, 1, err);
  assert.match(out, /: 4 captures, /);
  assert.match(err, /error segment-not-healed: .*two\.warc\.gz/);
  assert.equal((await pinakes(at, 'verify')).code, 1);
  renameSync(join(at, 'away'), join(at, 'two.warc.gz'));
  assert.match((await pinakes(at, 'verify')).out, /8 captures, .*: 0 errors/);
  assert.equal((await pinakes(at, 'rebuild')).code, 0);
});

test('help of a subcommand is the help of that subcommand', async (t) => {
  const at = scratch(t);
  assert.deepEqual(await pinakes(at, 'help', 'warc', 'ls'), await pinakes(at, 'warc', 'ls', '--help'));
  assert.match((await pinakes(at, 'help', 'warc', 'ls')).out, /^Usage: pinakes warc ls /);
  assert.match((await pinakes(at, 'help', 'warc')).out, /^Usage: pinakes warc \[/);
});
