import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { LAUNCHER, linesOf, pinakes as pinakesProcess } from './pinakes-process.ts';
import { pinakes, pinakesJson } from './pinakes-runner.ts';
import { JPEG, PAGE, scratch, writeSample, writeSite } from './warc-sample.ts';

test('delete shows the captures and asks first, and compact removes the bytes', async (t) => {
  const at = scratch(t);
  await writeSite(join(at, 'one.warc.gz'), 'one', 30);
  await writeSite(join(at, 'two.warc.gz'), 'two', 30);
  await pinakes(at, 'init');
  await pinakes(at, 'add', 'one.warc.gz', 'two.warc.gz');
  const dry = await pinakes(at, 'delete', '--prefix', 'http://one.test/', '--dry-run');
  assert.equal(dry.code, 0);
  assert.match(dry.out, /^30 captures would be deleted:\n {2}http:\/\/one\.test\//);
  const unasked = await pinakes(at, 'delete', '--prefix', 'http://one.test/');
  assert.equal(unasked.code, 2);
  assert.match(unasked.err, /--yes/);
  assert.match((await pinakes(at, 'compact', '--dry-run')).out, /^nothing to compact/);
  const done = pinakesProcess(at, 'delete', '--prefix', 'http://one.test/', '--yes');
  assert.match(done.out, /^deleted 30 captures and 30 contents\n$/);
  assert.equal((await pinakes(at, 'get', 'http://one.test/3')).code, 2);
  assert.match(pinakesProcess(at, 'compact', '--dry-run').out, /^deleted records of .* in 1 segment;/);
  const [report] = await pinakesJson(at, 'compact', '--json');
  assert.ok((report!.bytesAfter as number) < (report!.bytesBefore as number));
  assert.equal((await pinakes(at, 'get', 'http://two.test/3')).code, 0);
  assert.equal((await pinakes(at, 'verify')).code, 0);
  assert.match((await pinakes(at, 'delete', '--collection', 'default', '--yes')).out, /^deleted 30 captures/);
  assert.match((await pinakes(at, 'delete', '--collection', 'default', '--yes')).out, /^no capture is selected/);
});

test('a command in a message can be copied: it names the archive when the command line named it', async (t) => {
  const at = scratch(t);
  await pinakes(at, 'init', "the reader's");
  const named = pinakesProcess(at, 'search', 'flood', '--archive', "the reader's");
  assert.match(named.err, /^ {2}Run `pinakes index --archive 'the reader'\\''s'`, which makes it/m);
  assert.match(
    pinakesProcess(at, 'snapshot', 'ls', '-a', "the reader's").err,
    /`pinakes snapshot create NAME --archive 'the reader'\\''s'` creates one/,
  );
  assert.match(pinakesProcess(join(at, "the reader's"), 'search', 'x', '-a', '.').err, /`pinakes index --archive \.`/);
  assert.match(pinakesProcess(at, 'search', 'flood').err, /with `pinakes init`, or name/);
});

test('after a no at the terminal, --json prints the captures and contents that a yes would have deleted', {
  skip: spawnSync('script', ['-qec', 'true', '/dev/null']).status !== 0 && 'a terminal cannot be opened',
}, async (t) => {
  const at = scratch(t);
  await writeSite(join(at, 'one.warc.gz'), 'one', 3);
  await pinakes(at, 'init');
  await pinakes(at, 'add', 'one.warc.gz');
  const line = `"${LAUNCHER}" delete --prefix http://one.test/ --json > said`;
  const { stdout } = spawnSync('script', ['-qec', line, '/dev/null'], { cwd: at, input: 'n\n', encoding: 'utf8' });
  assert.match(stdout, /Delete\? \[y\/N\].*nothing was deleted/s);
  const said = JSON.parse(readFileSync(join(at, 'said'), 'utf8'));
  assert.deepEqual([said.isDone, said.captures], [false, 3]);
});

test('delete shows each URL once, with its number of captures', async (t) => {
  const at = scratch(t);
  await writeSite(join(at, 'one.warc.gz'), 'one', 12);
  await pinakes(at, 'init');
  for (const collection of ['spring', 'autumn']) await pinakes(at, 'add', 'one.warc.gz', '--collection', collection);
  const shown = linesOf((await pinakes(at, 'delete', '--prefix', 'one.test/', '--dry-run')).out);
  assert.equal(shown[0], '24 captures of 12 URLs would be deleted:');
  assert.equal(shown[1], '  http://one.test/0  (2 captures)');
  assert.equal(new Set(shown.slice(1, 11)).size, 10);
  assert.equal(shown[11], '  ... and 2 more');
  const [one] = linesOf((await pinakes(at, 'delete', '--url', 'one.test/3', '--dry-run')).out);
  assert.equal(one, '2 captures of 1 URL would be deleted:');
});

test('compact names a damaged segment, does not change it, and exits with 1', async (t) => {
  const at = scratch(t);
  await writeSite(join(at, 'one.warc.gz'), 'one', 3);
  await pinakes(at, 'init');
  await pinakes(at, 'add', 'one.warc.gz');
  await pinakes(at, 'delete', '--url', 'http://one.test/0', '--yes');
  const folder = join(at, 'archive/volumes/main/default');
  const name = readdirSync(folder).find((file) => file.endsWith('.warc.gz.open'))!;
  const bytes = readFileSync(join(folder, name));
  bytes.fill(0, bytes.length - 400);
  writeFileSync(join(folder, name), bytes);
  const result = await pinakes(at, 'compact');
  assert.equal(result.code, 1);
  assert.match(result.out, /^0 segments rewritten/);
  assert.match(result.err, /was not rewritten, so its deleted records are still in it: /);
  const json = await pinakes(at, 'compact', '--json');
  assert.equal(json.code, 1);
  assert.match(json.out, /"damaged":\[\{"segment":"default\//);
  assert.ok(readFileSync(join(folder, name.replace('.open', ''))).equals(bytes));
});

test('a dry run of compact names the segments that would not be rewritten, and why', async (t) => {
  const at = scratch(t);
  await writeSite(join(at, 'one.warc.gz'), 'one', 3);
  await writeSite(join(at, 'two.warc.gz'), 'two', 3);
  await pinakes(at, 'init');
  await pinakes(at, 'add', '--in-place', 'one.warc.gz');
  await pinakes(at, 'add', 'two.warc.gz');
  await pinakes(at, 'delete', '--from', '1990', '--yes');
  const dry = await pinakes(at, 'compact', '--dry-run');
  assert.match(dry.out, /^deleted records of .* in 2 segments; 1 of them would be rewritten/);
  assert.match(dry.err, /^default\/one-.* keeps its deleted records, because its volume is read-only\n$/);
  const [planned] = await pinakesJson(at, 'compact', '--dry-run', '--json');
  const [done] = await pinakesJson(at, 'compact', '--json');
  for (const reason of ['readOnly', 'waiting', 'kept']) assert.deepEqual(planned![reason], done![reason]);
});

test('add reports that captures of a file were deleted since, and --again adds them again', async (t) => {
  const at = scratch(t);
  await writeSite(join(at, 'one.warc.gz'), 'one', 3);
  await pinakes(at, 'init');
  await pinakes(at, 'add', 'one.warc.gz');
  await pinakes(at, 'delete', '--collection', 'default', '--yes');
  assert.match(
    (await pinakes(at, 'add', 'one.warc.gz')).out,
    /^1 file, 1 of them added before: 0 new captures\n.*\n3 captures of the collection were deleted since.*--again/,
  );
  assert.match((await pinakes(at, 'add', '--again', 'one.warc.gz')).out, /^1 file: 3 new captures\n/);
});

test('delete --key gives back one reference of a content, and never captures of URLs by accident', async (t) => {
  const at = scratch(t);
  await writeSite(join(at, 'one.warc.gz'), 'one', 2);
  writeFileSync(join(at, 'hello.txt'), 'hello '.repeat(100));
  await pinakes(at, 'init');
  const put = async () => (await pinakes(at, 'put', 'hello.txt')).out.trim();
  const key = await put();
  assert.equal(await put(), key);
  const dry = await pinakes(at, 'delete', '--key', key, '--dry-run');
  assert.match(dry.out, /^1 capture would be deleted:\n(.*\n)*0 contents .*; 1 content stays/);
  assert.match((await pinakes(at, 'delete', '--key', key, '--yes')).out, /^deleted 1 capture and 0 contents\n/);
  assert.equal((await pinakes(at, 'cat', key)).code, 0);
  assert.match((await pinakes(at, 'delete', '--key', key, '--yes')).out, /^deleted 1 capture and 1 content\n/);
  assert.match((await pinakes(at, 'delete', '--key', key, '--yes')).err, /CONTENT_MISSING/);

  await pinakes(at, 'add', 'one.warc.gz');
  await pinakes(at, 'add', '--collection', 'second', 'one.warc.gz');
  const [found] = await pinakesJson(at, 'get', 'http://one.test/0', '--json');
  const refused = await pinakes(at, 'delete', '--key', found!.key as string, '--yes');
  assert.equal(refused.code, 2);
  assert.match(refused.err, /CONTENT_HAS_URLS/);
  assert.ok(refused.err.includes(`${found!.id} of http://one.test/0`), refused.err);
  const one = await pinakes(at, 'delete', '--capture', found!.id as string, '--yes');
  assert.match(one.out, /^deleted 1 capture and 0 contents\n/);
  assert.match((await pinakes(at, 'delete', '--capture', found!.id as string, '--yes')).err, /CONTENT_MISSING/);
  const all = await pinakes(at, 'delete', '--key', found!.key as string, '--all', '--yes');
  assert.match(all.out, /^deleted 1 capture and 1 content\n/);
  assert.match((await pinakes(at, 'delete', '--all', '--yes')).err, /--key|select what to delete/);
});

test('takedown shows and asks first, bars for good, and says when the bytes are gone', async (t) => {
  const at = scratch(t);
  await writeSite(join(at, 'one.warc.gz'), 'one', 3);
  await pinakes(at, 'init');
  await pinakes(at, 'add', 'one.warc.gz');
  assert.match((await pinakes(at, 'takedown')).err, /--key or --url/);
  assert.match((await pinakes(at, 'takedown', '--list')).out, /^nothing is barred\n$/);
  const named = ['--url', 'http://one.test/0', 'http://one.test/1', '--with-contents'];
  const dry = await pinakes(at, 'takedown', ...named, '--dry-run');
  assert.match(
    dry.out,
    /^2 contents and 2 URLs would be barred for good, and 2 captures deleted\n {2}http:\/\/one\.test\/0\n/,
  );
  assert.match((await pinakes(at, 'takedown', ...named, '--yes')).err, /give the reason with --reason TEXT/);
  const ground = ['--reason', 'a person asked', '--by', 'Ana'];
  assert.match((await pinakes(at, 'takedown', ...named, ...ground)).err, /--yes/);
  const done = await pinakes(at, 'takedown', ...named, ...ground, '--yes');
  assert.match(
    done.out,
    /^deleted 2 captures, and barred 2 contents and 2 URLs\nBytes of it may still be in 1 segment\./,
  );
  const waiting = await pinakes(at, 'takedown', '--list');
  assert.deepEqual([waiting.code, /Bytes of it may still/.test(waiting.out)], [1, true]);
  await pinakes(at, 'compact');
  const gone = await pinakes(at, 'takedown', '--list');
  assert.deepEqual(
    [gone.code, /^(content .*\n){2}(URL .*\n){2}No segment has bytes of it\.\n$/.test(gone.out)],
    [0, true],
  );
  assert.match((await pinakes(at, 'add', '--again', 'one.warc.gz')).out, /2 captures left out because of a takedown/);
});

test('takedowns lists the log, searches for the bytes, and prints a receipt; delete --takedown is one too', async (t) => {
  const at = scratch(t);
  await writeSite(join(at, 'one.warc.gz'), 'one', 3);
  await pinakes(at, 'init');
  assert.match((await pinakes(at, 'takedowns')).out, /^nothing was taken down\n$/);
  await pinakes(at, 'add', 'one.warc.gz');
  const asked = ['delete', '--takedown', '--yes'];
  assert.match(
    (await pinakes(at, ...asked, '--prefix', 'http://one.test/')).err,
    /--takedown: .*--url, or one content/,
  );
  assert.match((await pinakes(at, ...asked, '--url', 'http://one.test/0')).err, /--reason TEXT/);
  assert.match((await pinakes(at, 'delete', '--url', 'http://one.test/0', '--reason', 'x')).err, /go with --takedown/);
  const done = await pinakes(at, ...asked, '--url', 'http://one.test/0', '--reason', 'a person asked', '--by', 'Ana');
  assert.match(done.out, /^deleted 1 capture, and barred 1 content and 1 URL\n/);
  assert.match(
    (await pinakes(at, 'takedowns')).out,
    /^1 {2}20\S+Z {2}Ana: a person asked\n {3}1 content and 1 URL barred; 1 capture in 1 segment\n {3}not searched for since/,
  );
  const left = await pinakes(at, 'takedowns', '--check', '1');
  assert.deepEqual([left.code, /found in volume main: .*: content, sha256:/.test(left.out)], [1, true]);
  await pinakes(at, 'compact');
  const gone = await pinakes(at, 'takedowns', '--check', '--by', 'Bo');
  // The file that was added is beside the archive, not in it.
  assert.deepEqual(
    [gone.code, /\nNo bytes are left\. The signed statement is entry 4 of the log\.\n$/.test(gone.out)],
    [0, true],
  );
  assert.equal((await pinakes(at, 'takedowns', '--check', '--also', '.')).code, 1);
  assert.match(
    (await pinakes(at, 'takedowns', '--receipt', '1')).out,
    /^<!doctype html>.*a person asked.*<\/html>\n$/s,
  );
  assert.equal((await pinakes(at, 'takedowns', '--receipt', '1', '--out', 'r.html')).code, 0);
  assert.match((await pinakes(at, 'takedowns', '--receipt', '1', '--out', 'r.html')).err, /FILE_EXISTS/);
  assert.match((await pinakes(at, 'takedowns', '--receipt', '7')).err, /TAKEDOWN_MISSING/);
  assert.match((await pinakes(at, 'takedowns', '--check', 'all')).err, /BAD_ARGUMENT/);
});

test('a mirror is added, synced, checked and restored, and doctor and stats say how old it is', async (t) => {
  const at = scratch(t);
  await writeSite(join(at, 'one.warc.gz'), 'one', 5);
  await pinakes(at, 'init');
  await pinakes(at, 'add', 'one.warc.gz');
  assert.match((await pinakes(at, 'mirror', 'sync')).err, /has no mirror.*BAD_ARGUMENT/);
  assert.match(
    (await pinakes(at, 'mirror', 'add', 'attic', 'attic', '--delay', 'soon')).err,
    /--delay soon: .*a duration/,
  );
  assert.equal((await pinakes(at, 'mirror', 'add', 'attic', 'attic', '--delay', '30d', '--every', '6h')).code, 0);
  const doctor = await pinakes(at, 'doctor');
  assert.deepEqual([doctor.code, /problem: the mirror attic was never synced/.test(doctor.out)], [1, true]);
  assert.match(
    (await pinakes(at, 'mirror', 'sync', 'attic')).out,
    /^attic: copied \d+ objects of .*, removed 0; it has \d+ objects/,
  );
  assert.match((await pinakes(at, 'mirror', 'ls')).out, /attic +synced \d+ seconds? ago, .*\/attic\n$/);
  assert.equal((await pinakes(at, 'doctor')).code, 0);
  assert.match((await pinakes(at, 'stats')).err, /^mirror attic: synced/);
  assert.match((await pinakes(at, 'mirror', 'check')).out, /^attic: \d+ objects of .* in 1 state, the newest of 20/);
  assert.match(
    (await pinakes(at, 'mirror', 'restore', 'attic', 'again')).out,
    /^restored archive as of .*: \d+ objects? of/,
  );
  assert.equal((await pinakes(at, 'verify', '-a', 'again')).code, 0);
  const body = await pinakes(at, 'get', 'http://one.test/3');
  assert.deepEqual(await pinakes(at, 'get', 'http://one.test/3', '-a', 'again'), body);
  assert.match((await pinakes(at, 'mirror', 'restore', 'attic', 'again')).err, /ARCHIVE_EXISTS/);
  assert.match((await pinakes(at, 'mirror', 'restore', 'attic', 'older', '--until', '2001')).err, /MIRROR_MISSING/);
  assert.match((await pinakes(at, 'mirror', 'rm', 'attic')).out, /what is in it is still there/);
  assert.match((await pinakes(at, 'mirror', 'check', 'attic')).err, /MIRROR_UNKNOWN/);
});

test('delete without a selection, or of an unknown collection, is refused', async (t) => {
  const at = scratch(t);
  await pinakes(at, 'init');
  assert.match((await pinakes(at, 'delete', '--yes')).err, /BAD_ARGUMENT/);
  assert.match(
    (await pinakes(at, 'delete', '--collection', 'spring', '--yes')).err,
    /collection spring.*no collections yet/,
  );
  assert.match((await pinakes(at, 'delete', '--from', 'yesterday', '--yes')).err, /yesterday.*a time is/);
});

test('--status and --mime select as a query does, and invalid values and an empty URL are refused', async (t) => {
  const at = scratch(t);
  await writeSample(join(at, 'a.warc.gz'));
  await pinakes(at, 'init');
  await pinakes(at, 'add', 'a.warc.gz');
  const counts = async (...args: string[]) =>
    (await pinakesJson(at, 'delete', '--dry-run', '--json', ...args))[0]!.captures;
  for (const [option, query] of [
    [['--status', '3xx'], 'status:3xx'],
    [['--status', '200'], 'status:200'],
    [['--mime', 'text/*'], 'type:text/*'],
    [['--mime', 'TEXT/HTML', '--status', '2xx'], 'type:text/html status:2xx'],
  ] as const) {
    const meant = await counts(...option);
    assert.ok((meant as number) > 0, query);
    assert.equal(meant, await counts('--query', query));
  }
  for (const command of [['delete', '--yes'], ['export', 'z.warc.gz'], ['stream']]) {
    for (const [option, says] of [
      [['--status', 'abc'], /status abc.*200, or 4xx.*BAD_ARGUMENT/],
      [['--mime', 'html'], /mime html.*image\/\*.*BAD_ARGUMENT/],
      [['--url', ''], /--url ''.*the URL is empty.*BAD_ARGUMENT/],
      [['--prefix', ''], /--prefix ''.*the URL is empty.*BAD_ARGUMENT/],
      [['--prefix', 'http://*'], /--prefix 'http:\/\/\*'.*the URL is empty/],
    ] as const) {
      const refused = await pinakes(at, ...command, ...option);
      assert.equal(refused.code, 2, `${command} ${option}`);
      assert.match(refused.err, says);
    }
  }
  assert.ok(!existsSync(join(at, 'z.warc.gz')));
});

test('a host with a port and without a scheme is accepted as a URL by every command', async (t) => {
  const at = scratch(t);
  await writeSample(join(at, 'a.warc.gz'));
  await pinakes(at, 'init');
  await pinakes(at, 'add', 'a.warc.gz');
  const typed = 'www.example.test:80/a';
  assert.equal((await pinakes(at, 'get', typed)).out, PAGE);
  const whole = await pinakes(at, 'export', '--prefix', 'http://www.example.test/');
  assert.ok(linesOf(whole.out).length > 1);
  assert.equal((await pinakes(at, 'export', '--prefix', 'www.example.test:80/')).out, whole.out);
  const streamed = await pinakesJson(at, 'stream', '--json', '--url', typed, '--type', 'response');
  assert.equal(streamed.length, 1);
  await writeSite(join(at, 'one.warc.gz'), 'one', 3);
  await pinakes(at, 'add', 'one.warc.gz');
  await pinakes(at, 'index');
  assert.equal(linesOf((await pinakes(at, 'links', '--direction', 'out', 'one.test:80/2')).out).length, 12);
  assert.match((await pinakes(at, 'delete', '--prefix', 'www.example.test:80/', '--yes')).out, /^deleted [1-9]/);
  assert.match((await pinakes(at, 'get', typed)).err, /CONTENT_MISSING/);
});

test('records are moved to the volumes of their hashes', async (t) => {
  const at = scratch(t);
  await writeSite(join(at, 'one.warc.gz'), 'one', 20);
  await pinakes(at, 'init');
  await pinakes(at, 'add', 'one.warc.gz');
  await pinakes(at, 'volume', 'add', 'second', 'disk2', '--create');
  const connector = join(at, 'archive/archive.yaml');
  writeFileSync(connector, readFileSync(connector, 'utf8').replace('policies:', 'policies:\n  distribution: hash'));
  const planned = await pinakes(at, 'volume', 'rebalance', '--dry-run');
  assert.match(planned.out, /^would move \d+ records of .* from main to second\n$/);
  const moved = await pinakes(at, 'volume', 'rebalance');
  assert.equal(moved.out, planned.out.replace('would move', 'moved'));
  assert.match((await pinakes(at, 'volume', 'rebalance')).out, /^nothing to move/);
  assert.equal((await pinakes(at, 'get', 'http://one.test/3')).code, 0);
  assert.equal((await pinakes(at, 'verify')).code, 0);
});

test('volumes are added, listed, made read-only and migrated into each other, and a missing volume is named', async (t) => {
  const at = scratch(t);
  await writeSite(join(at, 'one.warc.gz'), 'one', 20);
  await writeSite(join(at, 'two.warc.gz'), 'two', 20);
  await pinakes(at, 'init');
  assert.equal((await pinakes(at, 'volume', 'add', 'second', 'disk2', '--create')).out, 'added volume second\n');
  await pinakes(at, 'add', '--volume', 'main', 'one.warc.gz');
  await pinakes(at, 'add', '--volume', 'second', 'two.warc.gz');
  const states = async () =>
    (await pinakesJson(at, 'volume', 'ls', '--json')).map(({ name, state, segments }) => [name, state, segments]);
  assert.deepEqual(await states(), [
    ['main', 'writable', 1],
    ['second', 'writable', 1],
  ]);
  await pinakes(at, 'volume', 'set', 'main', 'read-only');
  assert.equal((await pinakes(at, 'volume', 'migrate', 'main', 'second')).code, 2);
  await pinakes(at, 'volume', 'set', 'main', 'writable');
  const planned = await pinakes(at, 'volume', 'migrate', 'main', 'second', '--dry-run');
  assert.match(planned.out, /^would move 1 segment of .* from main to second, which has .* free\n$/);
  assert.match((await pinakes(at, 'volume', 'migrate', 'main', 'second')).out, /^moved 1 segment of /);
  assert.deepEqual(await states(), [
    ['main', 'writable', 0],
    ['second', 'writable', 2],
  ]);
  const kept = await pinakes(at, 'volume', 'remove', 'second');
  assert.equal(kept.code, 2);
  assert.match(kept.err, /volume second: .*2 segments\) \[VOLUME_NOT_EMPTY\]\n.*pinakes volume migrate/);
  assert.match((await pinakes(at, 'volume', 'remove', 'main')).out, /^removed volume main; /);
  assert.deepEqual(await states(), [['second', 'writable', 2]]);
  assert.match((await pinakes(at, 'volume', 'remove', 'second')).err, /it is the only one.*BAD_ARGUMENT/);
  assert.equal((await pinakes(at, 'get', 'http://one.test/3')).code, 0);
  renameSync(join(at, 'disk2'), join(at, 'unplugged'));
  const missing = await pinakes(at, 'get', 'http://one.test/3');
  assert.equal(missing.code, 2);
  assert.match(missing.err, /volume second at .*disk2.*VOLUME_MISSING/);
  const listed = pinakesProcess(at, 'volume', 'ls');
  assert.match(listed.out, /^name +state +segments +size +free +path\n/);
  assert.match(listed.out, /^second +missing/m);
  const verified = await pinakes(at, 'verify');
  assert.equal(verified.code, 1);
  assert.match(verified.out, /^second: error volume-missing/);
});

test('compact --recompress seals the only segment of a small archive, and says so', async (t) => {
  const at = scratch(t);
  await writeSite(join(at, 'one.warc.gz'), 'one');
  await pinakes(at, 'init');
  await pinakes(at, 'add', 'one.warc.gz');
  const dry = await pinakes(at, 'compact', '--recompress', 'zstd', '--dry-run');
  assert.match(dry.out, /^1 segment would be compressed as zstd: /m);
  assert.match(dry.err, /^1 segment was still open and would be sealed first; /);
  const done = await pinakes(at, 'compact', '--recompress', 'zstd');
  assert.match(done.out, /^1 segment compressed as zstd: /m);
  assert.match(done.err, /^1 segment was still open and was sealed first; /);
  const again = await pinakes(at, 'compact', '--recompress', 'zstd', '--json');
  assert.deepEqual(JSON.parse(again.out).recompression, {
    segments: 0,
    bytesBefore: 0,
    bytesAfter: 0,
    sealed: 0,
    left: [],
  });
  assert.equal((await pinakes(at, 'verify')).code, 0);
});

test('volume add creates a missing directory only with --create or after a yes', async (t) => {
  const at = scratch(t);
  await pinakes(at, 'init');
  const refused = await pinakes(at, 'volume', 'add', 'second', 'mistyped');
  assert.equal(refused.code, 2);
  assert.match(refused.err, /mistyped: .*--create.*\[FILE_MISSING\]/);
  assert.equal(existsSync(join(at, 'mistyped')), false);
  assert.equal(linesOf((await pinakes(at, 'volume', 'ls')).out).length, 2);
  assert.equal((await pinakes(at, 'volume', 'add', 'second', 'mistyped', '--create')).code, 0);
  mkdirSync(join(at, 'there'));
  assert.equal((await pinakes(at, 'volume', 'add', 'third', 'there')).code, 0);
});

test('add --in-place does not copy files, and adds nothing the second time', async (t) => {
  const at = scratch(t);
  await writeSite(join(at, 'one.warc.gz'), 'one', 20);
  await pinakes(at, 'init');
  assert.match((await pinakes(at, 'add', '--in-place', '.')).out, /^1 file: 20 new captures\n.*nothing was copied/);
  assert.match(
    (await pinakes(at, 'add', '--in-place', 'one.warc.gz')).out,
    /^1 file, 1 of them added before: 0 new captures/,
  );
  assert.deepEqual(
    readdirSync(join(at, 'archive/volumes/main')).filter((name) => !name.startsWith('.')),
    [],
  );
  assert.match((await pinakes(at, 'get', 'http://one.test/3')).out, /Page 3 of one/);
  assert.equal((await pinakes(at, 'verify')).code, 0);
  writeFileSync(join(at, 'one.warc.gz'), 'other');
  const changed = await pinakes(at, 'get', 'http://one.test/3');
  assert.match(changed.err, /one\.warc\.gz.*OBJECT_CHANGED/);
});

test('segments of an archive are not slimmed in place, and not added in place to the same archive', async (t) => {
  const at = scratch(t);
  await writeSite(join(at, 'one.warc.gz'), 'one', 3);
  await pinakes(at, 'init');
  await pinakes(at, 'add', 'one.warc.gz');
  await pinakes(at, 'volume', 'set', 'main', 'read-only');
  const folder = join(at, 'archive/volumes/main/default');
  const [name] = readdirSync(folder);
  const before = readFileSync(join(folder, name!));
  const slimmed = await pinakes(at, 'slim', 'run', '--in-place', '.');
  assert.equal(slimmed.code, 2);
  assert.match(slimmed.err, /belongs to the volume of an archive in .*main.*--to/);
  assert.ok(readFileSync(join(folder, name!)).equals(before));
  const linked = await pinakes(at, 'add', '--in-place', '.');
  assert.equal(linked.code, 0, linked.err);
  assert.match(linked.out, /^1 file: 3 new captures/);
  assert.match(linked.out, /^1 file of the archive itself was skipped$/m);
});

test('add skips the segments of the archive itself: deleted captures stay deleted, and collections do not mix', async (t) => {
  const at = scratch(t);
  await pinakes(at, 'init');
  for (const [name, collection] of [
    ['one.warc.gz', 'spring'],
    ['two.warc.gz', 'autumn'],
  ] as const) {
    await writeSite(join(at, name), name.slice(0, 3), 3);
    await pinakes(at, 'add', '--collection', collection, name);
  }
  await pinakes(at, 'delete', '--url', 'http://one.test/0', '--yes');
  const [again] = await pinakesJson(at, 'add', '--collection', 'spring', '--json', '.');
  assert.deepEqual([again!.files, again!.filesOwn, again!.captures], [2, 3, 3]);
  const urls = async () => (await pinakesJson(at, 'export', '--collection', 'spring', '--json')).map(({ url }) => url);
  assert.deepEqual(
    await urls(),
    ['one.test/1', 'one.test/2', 'two.test/0', 'two.test/1', 'two.test/2'].map((page) => `http://${page}`),
  );
  const itself = await pinakes(at, 'add', '--collection', 'winter', 'archive');
  assert.deepEqual([itself.code, itself.out], [0, 'nothing was added\n3 files of the archive itself were skipped\n']);
});

test('a file that cannot be read is reported and shown by the exit code, and the others are added', async (t) => {
  const at = scratch(t);
  await writeSample(join(at, 'a.warc.gz'));
  writeFileSync(join(at, 'picture.wacz'), JPEG);
  await pinakes(at, 'init');
  const { code, out, err } = await pinakes(at, 'add', 'absent.warc.gz', 'picture.wacz', 'a.warc.gz');
  assert.equal(code, 2);
  assert.match(out, /5 new captures/);
  assert.match(err, /absent\.warc\.gz: .*FILE_MISSING/);
  assert.match(err, /picture\.wacz: this is not a WACZ file that can be read.*NOT_WACZ/);
});

test('without an archive every command says how to create one', async (t) => {
  const at = scratch(t);
  const verbs = [
    'add .',
    'get http://a.test/',
    'verify',
    'volume ls',
    'rebuild',
    'search word',
    'links http://a.test/',
  ];
  for (const args of verbs.map((verb) => verb.split(' '))) {
    const { code, err } = await pinakes(at, ...args);
    assert.equal(code, 2, args.join(' '));
    assert.match(err, /ARCHIVE_MISSING.*pinakes init/s, args.join(' '));
  }
  await pinakes(at, 'init');
  assert.match((await pinakes(at, 'init')).err, /ARCHIVE_EXISTS/);
  assert.match((await pinakes(at, 'get', 'http://a.test/')).err, /CONTENT_MISSING/);
  assert.match((await pinakes(at, 'cat', 'nonsense')).err, /CONTENT_KEY_INVALID/);
  assert.match((await pinakes(at, 'put', 'absent')).err, /FILE_MISSING/);
  assert.match((await pinakes(at, 'verify')).out, /^0 segments/);
  assert.equal(existsSync(join(at, 'archive/owner.json')), false);
});

test('PINAKES_ARCHIVE names the archive', async (t) => {
  const at = scratch(t);
  await pinakes(at, 'init', 'elsewhere');
  process.env.PINAKES_ARCHIVE = join(at, 'elsewhere');
  t.after(() => delete process.env.PINAKES_ARCHIVE);
  assert.equal(linesOf(pinakesProcess(at, 'volume', 'ls').out).length, 2);
});
