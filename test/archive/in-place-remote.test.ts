/** Files on a web server that are added in place. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Archive, remoteInputs } from '../../src/archive/index.ts';
import { PinakesError } from '../../src/base/index.ts';
import {
  lostDays,
  openSample,
  problemsOf,
  samplePages,
  scratch,
  textOf,
  timeOf,
  writePages,
} from './archive-sample.ts';
import { type RangeServer, startRangeServer } from './range-server.ts';

const PAGES = samplePages(24);
const FIRST = PAGES.slice(0, 12);
const SECOND = PAGES.slice(12);

async function served(t: TestContext, server: RangeServer, name: string, pages = FIRST): Promise<string> {
  const file = join(scratch(t), 'file.warc.gz');
  await writePages(file, pages, name.endsWith('.zst') ? 'zstd' : name.endsWith('.gz') ? 'gzip' : 'none');
  server.files.set(`/${name}`, readFileSync(file));
  return `${server.origin}/${name}`;
}

async function sample(t: TestContext): Promise<{ directory: string; archive: Archive }> {
  const directory = join(scratch(t), 'archive');
  const archive = await openSample(directory);
  t.after(() => archive.close());
  return { directory, archive };
}

const add = (archive: Archive, ...urls: string[]) => archive.add(urls, { inPlace: true });

/** The code of the error with which the first record that is at a URL is read. */
async function codeOf(archive: Archive, [page]: typeof PAGES): Promise<string> {
  const error = await archive
    .get(page!.url, timeOf(page!))
    .then(({ payload }) => textOf(payload))
    .catch((thrown: unknown) => thrown);
  assert.ok(error instanceof PinakesError, String(error));
  return error.code;
}

/** Changes one byte without changing the length. */
function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at]! ^= 1;
  return copy;
}

test('files on a web server are readable, verified, exported, rebuilt and not copied', async (t) => {
  const server = await startRangeServer(t);
  const urls = [await served(t, server, 'one.warc.gz'), await served(t, server, 'two.warc.zst', SECOND)];
  const { directory, archive } = await sample(t);
  const report = await add(archive, ...urls);
  assert.deepEqual([report.files, report.captures, report.failures], [2, 24, []]);
  assert.deepEqual(await lostDays(archive, PAGES), []);
  assert.deepEqual(await problemsOf(archive), []);
  let records = 0;
  for await (const _ of await archive.stream()) records++;
  assert.ok(records >= 24);
  await archive.rebuild();
  assert.deepEqual(await lostDays(archive, PAGES), []);
  await archive.close();
  const again = await openSample(directory);
  t.after(() => again.close());
  server.asked.length = 0;
  assert.deepEqual(await lostDays(again, FIRST.slice(0, 1)), []);
  assert.equal(server.asked.length, 1, 'a record is read by one request');
  const lines = readFileSync(join(directory, 'volumes/linked.jsonl'), 'utf8');
  assert.match(lines, /"url":"http:\/\/127\.0\.0\.1:\d+\/one\.warc\.gz"/);
});

test('adding an address again adds nothing', async (t) => {
  const server = await startRangeServer(t);
  const url = await served(t, server, 'one.warc.gz');
  const { archive } = await sample(t);
  await add(archive, url);
  server.asked.length = 0;
  const again = await add(archive, url, `${url}#fragment`);
  assert.deepEqual([again.files, again.filesKnown, again.captures], [2, 2, 0]);
  assert.ok(
    server.asked.every((range) => /bytes=0-(0|65535)$/.test(range)),
    'the file is not read again',
  );
  assert.equal((await archive.segments()).length, 1);
});

test('a server that does not know ranges is refused, and the address is named', async (t) => {
  const server = await startRangeServer(t);
  const url = await served(t, server, 'one.warc.gz');
  server.knowsRanges = false;
  const { archive } = await sample(t);
  const { failures, captures } = await add(archive, url);
  assert.deepEqual([failures.map(({ code, where }) => [code, where]), captures], [[['NOT_LINKABLE', url]], 0]);
  assert.equal(server.asked.length, 1, 'the request is not repeated');
  assert.equal((await archive.segments()).length, 0);
});

for (const validator of ['etag', 'date', 'none'] as const)
  test(`a file that changed is not read, and other files are; what shows the change: ${validator}`, async (t) => {
    const server = await startRangeServer(t);
    server.validator = validator;
    const urls = [await served(t, server, 'one.warc.gz'), await served(t, server, 'two.warc.gz', SECOND)];
    const { archive, directory } = await sample(t);
    await add(archive, ...urls);
    await archive.close();
    const file = server.files.get('/one.warc.gz')!;
    server.files.set('/one.warc.gz', flipped(file, file.length - 1));
    const again = await openSample(directory);
    t.after(() => again.close());
    assert.equal(await codeOf(again, FIRST), 'OBJECT_CHANGED');
    assert.deepEqual(await lostDays(again, SECOND), []);
    const { failures } = await add(again, urls[0]!);
    assert.deepEqual(
      failures.map(({ code, where }) => [code, where]),
      [['OBJECT_CHANGED', urls[0]]],
    );
    server.files.set('/one.warc.gz', Buffer.concat([file, file]));
    assert.equal(await codeOf(again, FIRST), 'OBJECT_CHANGED');
    server.files.set('/one.warc.gz', file);
    assert.deepEqual(await lostDays(again, PAGES), []);
  });

test('the same file with another ETag is read, after a comparison of its ends', async (t) => {
  const server = await startRangeServer(t);
  const url = await served(t, server, 'one.warc.gz');
  const { archive } = await sample(t);
  await add(archive, url);
  server.etagPrefix = 'moved-';
  server.asked.length = 0;
  assert.deepEqual(await lostDays(archive, FIRST), []);
  const whole = `/one.warc.gz bytes=0-${server.files.get('/one.warc.gz')!.length - 1}`;
  assert.equal(server.asked.filter((range) => range === whole).length, 2, 'both ends are compared, once');
});

test('answers that are cut and a server that is busy are tried again', async (t) => {
  const server = await startRangeServer(t);
  const url = await served(t, server, 'one.warc');
  server.cuts = 4;
  server.busy = 2;
  const { archive } = await sample(t);
  const report = await add(archive, url);
  assert.deepEqual([report.failures, report.captures], [[], 12]);
  assert.deepEqual([server.cuts, server.busy], [0, 0]);
  server.cuts = 3;
  assert.deepEqual(await lostDays(archive, FIRST), []);
  assert.deepEqual(await problemsOf(archive), []);
});

test('a server that is away, silent or lacks the file costs only its own contents', async (t) => {
  const away = await startRangeServer(t);
  const silent = await startRangeServer(t);
  const here = await startRangeServer(t);
  const { archive, directory } = await sample(t);
  const pages = samplePages(36);
  const parts = [away, silent, here].map((_, index) => pages.slice(index * 12, index * 12 + 12));
  const urls = await Promise.all(
    [away, silent, here].map((server, index) => served(t, server, `${index}.warc.gz`, parts[index])),
  );
  await add(archive, ...urls);
  await archive.close();
  await away.stop();
  silent.isSilent = true;
  const again = await openSample(directory);
  t.after(() => again.close());
  assert.deepEqual(await Promise.all([codeOf(again, parts[0]!), codeOf(again, parts[1]!)]), [
    'FILE_UNREACHABLE',
    'FILE_UNREACHABLE',
  ]);
  assert.deepEqual(await lostDays(again, parts[2]!), []);
  silent.isSilent = false;
  silent.files.clear();
  assert.equal(await codeOf(again, parts[1]!), 'FILE_MISSING');
  const problems = await problemsOf(again);
  assert.deepEqual(
    problems.filter(({ code }) => code === 'segment-unreadable').length,
    2,
    JSON.stringify(problems.slice(0, 3)),
  );
  assert.ok(problems.every(({ code }) => code !== 'volume-missing'));
});

test('a mirror copies files of servers, and goes on when a server is away', async (t) => {
  const [away, here] = [await startRangeServer(t), await startRangeServer(t)];
  const { archive } = await sample(t);
  await add(archive, await served(t, away, 'one.warc.gz'), await served(t, here, 'two.warc.gz', SECOND));
  const mirrors = ['early', 'late'].map((name) => ({ name, target: join(scratch(t), name), withLinked: true }));
  for (const mirror of mirrors) await archive.mirrors.add(mirror);
  assert.equal((await archive.mirrors.sync('early')).absent, 0);
  await away.stop();
  assert.equal((await archive.mirrors.sync('early')).absent, 0);
  assert.equal((await archive.mirrors.sync('late')).absent, 1);
  assert.match((await archive.mirrors.check('late')).absent[0]!.why, /FILE_UNREACHABLE|does not answer/);
});

test('a rebuild enters the files whose servers answer, and an opening enters the others later', async (t) => {
  const [away, here] = [await startRangeServer(t), await startRangeServer(t)];
  const { archive, directory } = await sample(t);
  await add(archive, await served(t, away, 'one.warc.gz'), await served(t, here, 'two.warc.gz', SECOND));
  const [file] = [...away.files.values()];
  away.files.clear();
  await archive.rebuild().catch((error: unknown) => assert.ok(error instanceof PinakesError, String(error)));
  assert.deepEqual(
    await lostDays(archive, PAGES),
    FIRST.map(({ day }) => day),
  );
  away.files.set('/one.warc.gz', file!);
  await archive.close();
  const again = await openSample(directory);
  t.after(() => again.close());
  assert.deepEqual(await lostDays(again, PAGES), []);
});

test('files of a server are migrated into a volume of the archive', async (t) => {
  const server = await startRangeServer(t);
  const { archive } = await sample(t);
  await add(archive, await served(t, server, 'one.warc.gz'));
  await archive.migrate('linked', 'main');
  await server.stop();
  assert.deepEqual(await lostDays(archive, FIRST), []);
  assert.deepEqual(await problemsOf(archive), []);
});

test('redirects are followed up to a limit, and where they lead is not kept', async (t) => {
  const server = await startRangeServer(t);
  await served(t, server, 'one.warc.gz');
  server.redirects.set('/start', '/one.warc.gz?X-Amz-Signature=abc');
  server.redirects.set('/round', '/round');
  server.redirects.set('/file', 'file:///etc/passwd');
  const { archive, directory } = await sample(t);
  const report = await add(archive, `${server.origin}/start`, `${server.origin}/round`, `${server.origin}/file`);
  assert.deepEqual([report.captures, report.failures.map(({ code }) => code)], [12, ['NOT_LINKABLE', 'NOT_LINKABLE']]);
  assert.equal(server.asked.filter((range) => range.startsWith('/round')).length, 6);
  assert.doesNotMatch(readFileSync(join(directory, 'volumes/linked.jsonl'), 'utf8'), /Signature/);
  assert.deepEqual(await lostDays(archive, FIRST), []);
});

test('an address with a password or a signature is refused without repeating it, and so is plain HTTP elsewhere', async (t) => {
  const { archive, directory } = await sample(t);
  for (const url of [
    'https://ana:geheim@files.example/a.warc.gz',
    'https://files.example/a.warc.gz?X-Amz-Signature=geheim',
    'https://files.example/a.warc.gz?access_token=geheim',
    'https://files.example/a.warc.gz?sig=geheim&se=2026',
    'http://files.example/a.warc.gz',
  ]) {
    const { failures } = await remoteInputs(archive, [url]);
    assert.deepEqual(
      failures.map(({ code }) => code),
      ['BAD_ARGUMENT'],
      url,
    );
    assert.doesNotMatch(failures[0]!.message, /geheim/);
    await assert.rejects(add(archive, url), (error: PinakesError) => !error.message.includes('geheim'));
  }
  assert.doesNotMatch(readFileSync(join(directory, 'archive.yaml'), 'utf8'), /files\.example/);
});

test('an add that is interrupted leaves no copy, and is run again', async (t) => {
  const server = await startRangeServer(t);
  const url = await served(t, server, 'one.warc.gz');
  const { archive } = await sample(t);
  const stop = new AbortController();
  await assert.rejects(
    archive.add([url], { inPlace: true, signal: stop.signal, onProgress: () => stop.abort(new Error('stopped')) }),
    /stopped/,
  );
  assert.equal((await add(archive, url)).captures, 12);
  assert.deepEqual(await lostDays(archive, FIRST), []);
});

test('a page that is not an archive is refused with its address', async (t) => {
  const server = await startRangeServer(t);
  server.files.set('/index.html', Buffer.from('<p>Not a record.</p>'.repeat(50)));
  const { archive } = await sample(t);
  const { failures } = await add(archive, `${server.origin}/index.html`);
  assert.deepEqual(
    failures.map(({ code, where }) => [code, where]),
    [['NOT_WARC', `${server.origin}/index.html`]],
  );
});
