import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { LAUNCHER, linesOf, pinakes as pinakesProcess } from './pinakes-process.ts';
import { pinakes, pinakesBytes, pinakesJson } from './pinakes-runner.ts';
import { CODED_TEXT, PAGE, PAGE_HTTP_HEAD, scratch, writePackage, writeSample, writeSite } from './warc-sample.ts';

test('an archive is created, files are added, and a page is printed as it was captured', async (t) => {
  const at = scratch(t);
  await writeSample(join(at, 'a.warc.gz'));
  assert.deepEqual(pinakesProcess(at, 'init').out, 'created an archive in archive\n');
  const added = pinakesProcess(at, 'add', 'a.warc.gz');
  assert.equal(added.code, 0, added.err);
  assert.match(added.out, /^1 file: 5 new captures\n/);
  assert.equal(pinakesProcess(at, 'get', 'http://www.example.test/a').out, PAGE);
  // A revisit has its own head, and the payload of the record with its content.
  const revisit = (await pinakes(at, 'get', 'http://cdn.example.test/copy?id=7', '--headers')).out;
  assert.match(revisit, /^WARC\/1\.1\r\nWARC-Type: revisit\r\n/);
  assert.match(revisit, /Date: Sat, 02 Mar 2024 10:00:00 GMT/);
  assert.equal((await pinakes(at, 'get', 'http://cdn.example.test/copy?id=7')).out, PAGE);
});

test('the next command that init shows can be copied, whatever the name of the directory', async (t) => {
  const at = scratch(t);
  await writeSample(join(at, 'a.warc.gz'));
  const { err } = pinakesProcess(at, 'init', "the library's $HOME; archive");
  const [, add, name] = /^Next: (pinakes add .*) FILES\.\.\. {3}\(or (export .*) first\)\n$/.exec(err) ?? [];
  const shell = (script: string) =>
    spawnSync('sh', ['-c', `pinakes() { "$LAUNCHER" "$@"; }; ${script}`], {
      cwd: at,
      env: { ...process.env, LAUNCHER },
    });
  assert.match(shell(`${add} a.warc.gz`).stdout.toString(), /^1 file: 5 new captures\n/, err);
  assert.match(shell(`${name}; pinakes add a.warc.gz`).stdout.toString(), /^1 file, 1 of them added before/, err);
});

test('get prints the capture nearest to a time, and the requested part of it', async (t) => {
  const at = scratch(t);
  await writeSample(join(at, 'a.warc.gz'));
  await pinakes(at, 'init');
  await pinakes(at, 'add', 'a.warc.gz');
  const url = 'http://www.example.test/a';
  const [first] = await pinakesJson(at, 'get', url, '--at', '20240301', '--json');
  assert.deepEqual(
    [first!.time, first!.kind, first!.status, first!.collection],
    ['2024-03-01T10:00:00.250Z', 'response', 200, 'default'],
  );
  assert.equal((await pinakesJson(at, 'get', url, '--at', '2024-03-09', '--json'))[0]!.kind, 'revisit');
  assert.ok((await pinakes(at, 'get', url, '--at', '2024', '--headers')).out.endsWith(PAGE_HTTP_HEAD));
  assert.match(gunzipSync(await pinakesBytes(at, 'get', url, '--at', '2024', '--raw')).toString(), /^WARC\/1\.1\r\n/);
  const coded = 'http://www.example.test/coded';
  assert.equal((await pinakes(at, 'get', coded)).out, CODED_TEXT);
  assert.equal(gunzipSync(await pinakesBytes(at, 'get', coded, '--payload')).toString(), CODED_TEXT);
  assert.equal((await pinakesBytes(at, 'cat', first!.key as string)).toString(), PAGE);
});

test('adding a file again adds nothing, and adding a package adds the files in it', async (t) => {
  const at = scratch(t);
  await writeSite(join(at, 'one.warc.gz'), 'one', 20);
  await writePackage(join(at, 'one.wacz'), [join(at, 'one.warc.gz')]);
  await pinakes(at, 'init', '--name', 'tour');
  const [first] = await pinakesJson(at, 'add', '--json', '--collection', 'spring', 'one.wacz');
  assert.deepEqual([first!.captures, first!.capturesKnown, first!.failed], [20, 0, []]);
  const [again] = await pinakesJson(at, 'add', '--json', '--collection', 'spring', 'one.warc.gz');
  assert.deepEqual([again!.captures, again!.filesKnown, again!.storedBytes], [0, 1, 0]);
  // Another collection gets its own captures, which share the contents.
  const [other] = await pinakesJson(at, 'add', '--json', '--collection', 'autumn', 'one.warc.gz');
  assert.equal(other!.captures, 20);
  assert.deepEqual(readdirSync(join(at, 'archive/spool')), []);
});

test('put prints the same key for the same bytes, and cat prints the bytes', async (t) => {
  const at = scratch(t);
  const bytes = Buffer.from(Array.from({ length: 5000 }, (_, index) => (index * 7919) & 255));
  writeFileSync(join(at, 'scroll.bin'), bytes);
  await pinakes(at, 'init', 'shelf');
  const put = async (...more: string[]) => (await pinakes(at, 'put', '-a', 'shelf', 'scroll.bin', ...more)).out.trim();
  const key = pinakesProcess(at, 'put', '-a', 'shelf', 'scroll.bin').out.trim();
  assert.match(key, /^main:sha256:[0-9a-f]{64}$/);
  assert.equal(await put(), key);
  assert.equal(await put('--mode', 'compare'), key);
  assert.equal(await put('--mode', 'force-new'), `${key}~1`);
  assert.deepEqual(await pinakesBytes(at, 'cat', '-a', 'shelf', key), bytes);
  assert.deepEqual(await pinakesBytes(at, 'cat', '-a', 'shelf', `${key}~1`), bytes);
  assert.match((await pinakes(at, 'cat', '-a', 'shelf', key, '--json')).err, /unknown option '--json'/);
});

test('put refuses an invalid media type', async (t) => {
  const at = scratch(t);
  writeFileSync(join(at, 'scroll.bin'), 'scroll');
  await pinakes(at, 'init');
  for (const mime of ['scroll', 'a b/c', 'text/html\r\nX-Other: 1', '']) {
    const { code, err } = await pinakes(at, 'put', 'scroll.bin', '--mime', mime);
    assert.deepEqual([code, /BAD_ARGUMENT/.test(err)], [2, true], mime);
  }
  for (const mime of ['text/html', 'image/svg+xml', 'text/html; charset="utf-8"'])
    assert.equal((await pinakes(at, 'put', 'scroll.bin', '--mime', mime)).code, 0, mime);
});

test('put that waits for standard input stops when it is interrupted, and stores nothing', async (t) => {
  const at = scratch(t);
  await pinakes(at, 'init');
  const child = spawn(LAUNCHER, ['put', '-'], { cwd: at, stdio: ['pipe', 'pipe', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  child.stdin.write('the beginning');
  while (!existsSync(join(at, 'archive/owner.json'))) await setTimeout(20);
  child.kill('SIGINT');
  const [code] = await once(child, 'exit');
  assert.equal(code, 130);
  assert.equal((await pinakesJson(at, 'stats', '--json'))[0]!.captures, 0);
  assert.deepEqual(readdirSync(join(at, 'archive/spool')), []);
});

test('verify finds nothing in a sound archive, and names the damaged record and the affected captures in a damaged one', async (t) => {
  const at = scratch(t);
  await writeSample(join(at, 'a.warc.gz'));
  await pinakes(at, 'init');
  await pinakes(at, 'add', 'a.warc.gz');
  const sound = await pinakes(at, 'verify');
  assert.deepEqual([sound.code, linesOf(sound.out).length], [0, 1]);
  assert.match(sound.out, /5 captures, .*: 0 errors, 0 warnings/);
  assert.equal((await pinakes(at, 'verify', '--quick')).code, 0);
  const [where] = await pinakesJson(at, 'get', 'http://www.example.test/a', '--at', '20240301', '--json');
  const file = join(at, 'archive/volumes/main', `${where!.segment}.open`);
  const bytes = readFileSync(file);
  bytes[(where!.offset as number) + (where!.length as number) - 30]! ^= 4;
  writeFileSync(file, bytes);
  const damaged = pinakesProcess(at, 'verify');
  assert.equal(damaged.code, 1);
  assert.match(damaged.out, new RegExp(`:${where!.offset}: error content-`));
  assert.match(damaged.out, /3 captures depend on it: .*http:\/\/www\.example\.test\/a/);
  const summary = (await pinakesJson(at, 'verify', '--json')).at(-1)!;
  assert.ok((summary.errors as number) > 0 && summary.kind === 'summary' && summary.depth === 'full');
});

test('rebuild makes the same catalog again, also when it is missing or damaged', async (t) => {
  const at = scratch(t);
  await writeSample(join(at, 'a.warc.gz'));
  await pinakes(at, 'init');
  await pinakes(at, 'add', 'a.warc.gz');
  const before = await pinakesJson(at, 'get', 'http://www.example.test/a', '--json');
  assert.match((await pinakes(at, 'rebuild')).out, /^rebuilt from 1 segment of .*: 5 captures, 3 contents\n$/);
  assert.deepEqual(await pinakesJson(at, 'get', 'http://www.example.test/a', '--json'), before);
  rmSync(join(at, 'archive/catalog'), { recursive: true });
  assert.deepEqual(await pinakesJson(at, 'get', 'http://www.example.test/a', '--json'), before);
  const current = join(at, 'archive/catalog/CURRENT');
  assert.ok(existsSync(current));
  writeFileSync(current, 'nonsense\n');
  const refused = await pinakes(at, 'get', 'http://www.example.test/a');
  assert.equal(refused.code, 2);
  assert.match(refused.err, /CATALOG_DAMAGED.*pinakes rebuild/s);
  assert.equal(pinakesProcess(at, 'rebuild').code, 0);
  assert.deepEqual(await pinakesJson(at, 'get', 'http://www.example.test/a', '--json'), before);
  assert.equal((await pinakes(at, 'verify')).code, 0);
});
