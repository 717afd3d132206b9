/** Guarantees of retrieval, and the rule that only one process at a time has an archive open. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createArchive, openArchive, ownerOf } from '../../src/archive/index.ts';
import type { PinakesError } from '../../src/base/index.ts';
import { response, warcinfo, writeForeign } from './foreign-file.ts';
import { catalogOf } from './opened-parts.ts';
import {
  allCaptures,
  answers,
  audit,
  bytesOf,
  contentOf,
  makeArchive,
  NOON,
  page,
  payloadAt,
  temporaryDirectory,
  trialOptions,
} from './trial-archive.ts';

test('captures are found by exact time, by nearest time, by a range of times, and the latest without a time', async (t) => {
  const archive = await makeArchive(t);
  const url = 'http://a.example/';
  for (const day of [1, 2, 4]) await archive.store(page(url, NOON + day * 86_400_000, contentOf(`day ${day}`)));
  const at = async (days: number) => (await archive.get(url, NOON + days * 86_400_000)).capture.time;
  assert.equal(await at(2), NOON + 2 * 86_400_000);
  assert.equal(await at(2.4), NOON + 2 * 86_400_000);
  assert.equal(await at(3.6), NOON + 4 * 86_400_000);
  assert.equal(await at(3), NOON + 2 * 86_400_000, 'the earlier of two equally near');
  assert.equal(await at(-100), NOON + 86_400_000);
  assert.equal((await archive.get(url)).capture.time, NOON + 4 * 86_400_000);
  const range: number[] = [];
  for await (const { time } of archive.capturesOfUrl(url, { from: NOON + 1.5 * 86_400_000 })) range.push(time);
  assert.deepEqual(range, [NOON + 2 * 86_400_000, NOON + 4 * 86_400_000]);
  const missing = (error: PinakesError) => error.code === 'CONTENT_MISSING';
  await assert.rejects(archive.get('http://nowhere.example/'), missing);
});

test('a capture of exactly the requested URL is preferred to others of the same visit', async (t) => {
  const archive = await makeArchive(t);
  const minute = 60_000;
  const stored: readonly (readonly [string, number])[] = [
    ['http://a.example/Page', -24 * 60],
    ['https://a.example/Page', 0],
    ['http://a.example/Page', 1],
    ['https://a.example/page', 2],
    ['https://www.a.example/Page', 24 * 60],
  ];
  for (const [url, minutes] of stored) await archive.store(page(url, NOON + minutes * minute, contentOf(url)));
  const found = async (url: string, minutes?: number) => {
    const { capture } = await archive.get(url, minutes === undefined ? undefined : NOON + minutes * minute);
    return [capture.url, (capture.time - NOON) / minute];
  };
  assert.deepEqual(await found('https://a.example/Page', 2), ['https://a.example/Page', 0]);
  assert.deepEqual(await found('https://a.example/page', -1), ['https://a.example/page', 2]);
  assert.deepEqual(await found('http://a.example/Page', 2), ['http://a.example/Page', 1]);
  assert.deepEqual(await found('https://a.example/Page'), ['https://www.a.example/Page', 24 * 60], 'of another day');
  assert.deepEqual(await found('http://a.example/PAGE', 0), ['https://a.example/Page', 0], 'none has exactly this URL');
});

test('among very many captures of one visit, the exact URL is searched for only near the requested time', async (t) => {
  const archive = await makeArchive(t);
  const file = join(await temporaryDirectory(t), 'calls.warc.gz');
  const calls = Array.from({ length: 5000 }, (_, second) =>
    response(
      second === 10 ? 'http://a.example/Call' : 'https://a.example/call',
      NOON + second * 1000,
      contentOf('call'),
    ),
  );
  await writeForeign(file, [warcinfo(), ...calls]);
  await archive.add([file]);
  const catalog = catalogOf(archive);
  const captures = catalog.captures.bind(catalog);
  let looked = 0;
  catalog.captures = async function* (range, pageSize) {
    for await (const page of captures(range, pageSize)) {
      looked += page.length;
      yield page;
    }
  };
  const found = async (second: number) =>
    (await archive.get('http://a.example/Call', NOON + second * 1000)).capture.url;
  assert.equal(await found(900), 'http://a.example/Call');
  looked = 0;
  assert.equal(await found(2500), 'https://a.example/call');
  assert.ok(looked <= 2000, `${looked} captures were read`);
});

test('contents are found by their key, with or without the name of a volume', async (t) => {
  const archive = await makeArchive(t);
  const { key } = await archive.store(page('http://a.example/', NOON, contentOf('by key')));
  for (const text of [key, key.replace('main:', ''), key.replace('main:', 'elsewhere:')])
    assert.deepEqual(await bytesOf((await archive.content(text)).payload), Buffer.from(contentOf('by key')));
  const reject = (text: string, code: string) =>
    assert.rejects(
      async () => archive.content(text),
      (error: PinakesError) => error.code === code,
    );
  await reject('sha256:12', 'CONTENT_KEY_INVALID');
  await reject(`${key}~7`, 'CONTENT_MISSING');
});

test('many reads at the same time do not affect each other', async (t) => {
  const archive = await makeArchive(t);
  for (let n = 0; n < 40; n++)
    await archive.store(page(`http://a.example/${n}`, NOON, contentOf(`n ${n}`, 2000 + n * 50)));
  const opened = await Promise.all([...Array(40).keys()].map((n) => archive.get(`http://a.example/${n}`)));
  const payloads = await Promise.all(opened.map(({ payload }) => bytesOf(payload)));
  for (const [n, payload] of payloads.entries())
    assert.deepEqual(payload, Buffer.from(contentOf(`n ${n}`, 2000 + n * 50)));
});

test('a capture that compaction moves between look-up and read is read at its new place', async (t) => {
  const archive = await makeArchive(t);
  for (let n = 0; n < 6; n++) await archive.store(page(`http://a.example/${n}`, NOON, contentOf(`m ${n % 3}`)));
  const captures = await allCaptures(archive);
  await archive.delete({ url: 'http://a.example/0' });
  await archive.compact();
  for (const capture of captures.slice(1)) {
    const n = Number(capture.url.split('/').pop());
    assert.deepEqual(await bytesOf((await archive.open(capture)).payload), Buffer.from(contentOf(`m ${n % 3}`)));
  }
});

test('a large payload that is being read is read to its end while compaction removes its segment', async (t) => {
  const archive = await makeArchive(t);
  const large = contentOf('large', 6_000_000);
  await archive.store(page('http://a.example/large', NOON, large));
  await archive.store(page('http://a.example/small', NOON, contentOf('small')));
  const parts: Buffer[] = [];
  for await (const piece of (await archive.get('http://a.example/large')).payload) {
    parts.push(Buffer.from(piece));
    if (parts.length > 1) continue;
    await archive.delete({ url: 'http://a.example/small' });
    assert.equal((await archive.compact()).segments, 1);
  }
  assert.ok(Buffer.concat(parts).equals(large));
  assert.deepEqual(await payloadAt(archive, 'http://a.example/large'), Buffer.from(large));
});

test('different records with one id, URL and second are different captures, also after compaction and a rebuild', async (t) => {
  const archive = await makeArchive(t);
  const one = response('http://a.example/', NOON, contentOf('one'));
  const other = { ...response('http://a.example/', NOON, contentOf('other')) };
  const twin = { ...other, record: { ...other.record, recordId: one.record.recordId } };
  const third = response('http://b.example/', NOON, contentOf('third'));
  await archive.add([await writeForeign(join(archive.directory, 'a.warc.gz'), [warcinfo(), one, twin, third])]);
  const before = await answers(archive);
  assert.equal(before.length, 3);
  await archive.rebuild();
  assert.deepEqual(await answers(archive), before);
  await archive.delete({ url: 'http://b.example/' });
  await archive.compact();
  assert.deepEqual(await answers(archive), before.slice(0, 2));
  assert.deepEqual(await audit(archive), []);
});

test('opening an archive that is open fails with the number and purpose of the process that has it open', async (t) => {
  const archive = await makeArchive(t, { purpose: 'a test' });
  const isBusy = (error: PinakesError) =>
    error.code === 'ARCHIVE_BUSY' && error.message.includes(String(process.pid)) && error.message.includes('a test');
  await assert.rejects(openArchive(archive.directory, trialOptions()), isBusy);
  const owner = await ownerOf(archive.directory);
  assert.deepEqual([owner?.pid, owner?.host, owner?.purpose], [process.pid, hostname(), 'a test']);
  await archive.close();
  assert.equal(await ownerOf(archive.directory), undefined);
  const next = await openArchive(archive.directory, trialOptions());
  await next.close();
});

test('an archive that a process on another machine has open cannot be opened', async (t) => {
  const directory = await temporaryDirectory(t);
  await createArchive(directory);
  const path = join(directory, 'owner.json');
  const left = JSON.stringify({ pid: 1, host: `not-${hostname()}`, since: '', purpose: 'serve' });
  await writeFile(path, left);
  await assert.rejects(openArchive(directory, trialOptions()), { code: 'ARCHIVE_BUSY', message: /not-.*serve/ });
  assert.equal(await readFile(path, 'utf8'), left);
});

test('an archive can be opened when its owner process has ended or its owner file is damaged', async (t) => {
  const directory = await temporaryDirectory(t);
  await createArchive(directory);
  const gone = spawn(process.execPath, ['-e', '']);
  await new Promise((resolve) => gone.once('close', resolve));
  const path = join(directory, 'owner.json');
  for (const left of [
    JSON.stringify({ pid: gone.pid, host: hostname(), since: '', purpose: 'crashed' }),
    // In a container every run has the same process number. Elsewhere, another process may get the number of a killed
    // one.
    JSON.stringify({ pid: process.pid, host: hostname(), since: '', purpose: 'an earlier run' }),
    JSON.stringify({ pid: 1, host: hostname(), since: '', purpose: 'crashed long ago' }),
    '{"pid":',
    '',
  ]) {
    await writeFile(path, left);
    const archive = await openArchive(directory, trialOptions());
    assert.equal((JSON.parse(await readFile(path, 'utf8')) as { pid: number }).pid, process.pid);
    await archive.store(page('http://a.example/', NOON, contentOf('after')));
    assert.deepEqual(await payloadAt(archive, 'http://a.example/'), Buffer.from(contentOf('after')));
    await archive.close();
  }
});
