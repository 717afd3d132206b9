/** Files in a bucket that are added in place, over our own volume server. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { remoteInputs } from '../../src/archive/index.ts';
import { startVolumeServerProcess, type VolumeServerProcess } from '../volume-server/volume-server-process.ts';
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

const PAGES = samplePages(24);
let server: VolumeServerProcess;

before(async () => {
  server = await startVolumeServerProcess();
  process.env.AWS_ACCESS_KEY_ID = server.accessKeyId;
  process.env.AWS_SECRET_ACCESS_KEY = server.secretAccessKey;
});

after(async () => {
  await server[Symbol.asyncDispose]();
});

async function put(key: string, pages: readonly (typeof PAGES)[number][]): Promise<string> {
  const path = join(server.directory, server.bucket, key);
  mkdirSync(dirname(path), { recursive: true });
  await writePages(path, pages);
  return path;
}

test('WARC files in a bucket are found, readable and verified, and one that changed is reported', async (t) => {
  const { endpoint, bucket } = server;
  await put('old-crawls/2009/one+two.warc.gz', PAGES.slice(0, 12));
  const second = await put('old-crawls/zwei drei=4.warc.gz', PAGES.slice(12));
  writeFileSync(join(server.directory, bucket, 'old-crawls/notes.txt'), 'not a WARC file');
  const directory = join(scratch(t), 'archive');
  const clock = () => Date.now();
  const archive = await openSample(directory, { clock });
  const remote = { endpoint, region: 'us-east-1' };
  const { files, failures } = await remoteInputs(archive, [`s3://${bucket}/old-crawls/`], remote);
  assert.deepEqual(failures, []);
  const urls = files.map(({ path }) => path);
  assert.deepEqual(urls, [
    `s3://${bucket}/old-crawls/2009/one+two.warc.gz`,
    `s3://${bucket}/old-crawls/zwei drei=4.warc.gz`,
  ]);
  const report = await archive.add(urls, { inPlace: true, remote });
  assert.deepEqual([report.failures, report.captures], [[], 24]);
  assert.deepEqual(await lostDays(archive, PAGES), []);
  assert.deepEqual(await problemsOf(archive), []);
  const again = await archive.add(urls, { inPlace: true, remote });
  assert.deepEqual([again.filesKnown, again.captures], [2, 0]);
  await archive.rebuild();
  assert.deepEqual(await lostDays(archive, PAGES), []);
  await archive.close();
  const manifest = readFileSync(join(directory, 'volumes/linked.jsonl'), 'utf8');
  assert.ok(!manifest.includes(server.accessKeyId) && !manifest.includes(server.secretAccessKey));

  const opened = await openSample(directory, { clock });
  t.after(() => opened.close());
  writeFileSync(second, Buffer.concat([readFileSync(second), Buffer.from('more')]));
  assert.deepEqual(
    await lostDays(opened, PAGES),
    PAGES.slice(12).map(({ day }) => day),
  );
  const changed = await opened.add(urls, { inPlace: true, remote });
  assert.deepEqual(
    changed.failures.map(({ code, where }) => [code, where]),
    [['OBJECT_CHANGED', urls[1]]],
  );
});

test('an empty prefix, a missing bucket and a missing key are reported', async (t) => {
  const { endpoint, bucket } = server;
  const archive = await openSample(join(scratch(t), 'archive'), { clock: () => Date.now() });
  t.after(() => archive.close());
  const remote = { endpoint, region: 'us-east-1' };
  const urls = [`s3://${bucket}/nothing/`, `s3://${bucket}/missing.warc.gz`, 's3://elsewhere/a.warc.gz'];
  const { failures } = await remoteInputs(archive, urls, remote);
  assert.deepEqual(
    failures.map(({ code, where }) => [code, where]),
    [
      ['NO_WARCS', urls[0]],
      ['FILE_MISSING', urls[1]],
      ['FILE_UNREADABLE', urls[2]],
    ],
  );
});

test('segments of a volume of the archive are not added in place', async (t) => {
  const { endpoint, bucket } = server;
  const archive = await openSample(join(scratch(t), 'archive'), { clock: () => Date.now() });
  t.after(() => archive.close());
  await archive.addVolume({ name: 'far', path: `s3://${bucket}/own`, endpoint, region: 'us-east-1' });
  await put('own/default/a.warc.gz', PAGES.slice(0, 12));
  const report = await archive.add([`s3://${bucket}/own/default/a.warc.gz`], { inPlace: true });
  assert.deepEqual([report.filesOwn, report.files, report.captures], [1, 0, 0]);
});

test('a server that was killed costs only its own files', async (t) => {
  const { endpoint, bucket } = server;
  const directory = join(scratch(t), 'archive');
  const clock = () => Date.now();
  const archive = await openSample(directory, { clock });
  await put('late/a.warc.gz', PAGES.slice(0, 12));
  const local = join(directory, '../b.warc.gz');
  await writePages(local, PAGES.slice(12));
  const remote = { endpoint, region: 'us-east-1' };
  await archive.add([`s3://${bucket}/late/a.warc.gz`, local], { inPlace: true, remote });
  await archive.close();
  await server.kill();
  const again = await openSample(directory, { clock });
  t.after(() => again.close());
  const [page] = PAGES as [(typeof PAGES)[number]];
  await assert.rejects(
    again.get(page.url, timeOf(page)).then(({ payload }) => textOf(payload)),
    { code: 'FILE_UNREACHABLE' },
  );
  assert.deepEqual(await lostDays(again, PAGES.slice(12)), []);
});
