/**
 * An archive with a damaged list of snapshots opens and reports the file. It does not change the file, and removes no
 * segment that a snapshot may keep.
 */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { NamedSnapshots, openArchive } from '../../src/archive/index.ts';
import type { Finding } from '../../src/base/index.ts';
import { contentOf, makeArchive, NOON, page, payloadAt, trialOptions } from './trial-archive.ts';

const PAGES = 6;

/** A closed archive with a deleted page that a snapshot keeps. */
async function withSnapshot(t: TestContext): Promise<{ directory: string; file: string }> {
  const archive = await makeArchive(t);
  for (let number = 0; number < PAGES; number++)
    await archive.store(page(`http://a.example/${number}`, NOON, contentOf(`${number}`)));
  await archive.createSnapshot('first');
  await archive.delete({ url: 'http://a.example/0' });
  await archive.close();
  return { directory: archive.directory, file: join(archive.directory, 'snapshots.json') };
}

async function open(t: TestContext, directory: string) {
  const findings: Finding[] = [];
  const archive = await openArchive(
    directory,
    trialOptions({ seed: 2, onFinding: (finding) => void findings.push(finding) }),
  );
  t.after(() => archive.close());
  return { archive, findings };
}

test('an archive whose list of snapshots is damaged opens, names the file, and compacts nothing', async (t) => {
  const { directory, file } = await withSnapshot(t);
  const image = readFileSync(file);
  // A bit of the brace at the beginning of the file.
  image[0]! ^= 1;
  writeFileSync(file, image);
  const { archive, findings } = await open(t, directory);
  assert.deepEqual(
    findings.map(({ code, level, file: where }) => ({ code, level, where })),
    [{ code: 'snapshots-damaged', level: 'error', where: file }],
  );
  assert.match(findings[0]!.message, /snapshots\.json: .*JSON.*Restore it from a backup/s);
  assert.deepEqual(await payloadAt(archive, 'http://a.example/3'), Buffer.from(contentOf('3')));
  await archive.store(page('http://a.example/new', NOON, contentOf('new')));
  const damaged = { code: 'SNAPSHOTS_DAMAGED', where: file };
  await assert.rejects(archive.createSnapshot('second'), damaged);
  await assert.rejects(archive.removeSnapshot('first'), damaged);
  await assert.rejects(archive.stream({ snapshot: 'first' }), damaged);
  assert.throws(() => archive.listSnapshots(), damaged);
  const [segment] = await archive.segments();
  const { segments, waiting } = await archive.compact();
  assert.deepEqual({ segments, waiting }, { segments: 0, waiting: [segment!.name] });
  assert.match((await archive.recompress({ worthwhileShare: 2 })).left[0]!.why, /list of snapshots is damaged/);
  const codes: string[] = [];
  await archive.verify({ onProblem: ({ code }) => void codes.push(code) });
  assert.deepEqual(codes, ['snapshots-damaged']);
  assert.deepEqual(readFileSync(file), image, 'the file is left as it is');
  await archive.close();
  rmSync(file);
  const without = await open(t, directory);
  assert.deepEqual(without.findings, []);
  assert.equal((await without.archive.compact()).segments, 1);
});

test('every flipped bit in the list of snapshots is noticed, and the sound file is read again', async (t) => {
  const { directory, file } = await withSnapshot(t);
  const image = readFileSync(file);
  const snapshots = new NamedSnapshots(directory);
  const unnoticed: number[] = [];
  for (let at = 0; at < image.length; at++) {
    const damaged = Buffer.from(image);
    damaged[at]! ^= 1 << (at % 8);
    writeFileSync(file, damaged);
    await snapshots.load();
    if (snapshots.damage === undefined) unnoticed.push(at);
  }
  // A flipped bit in a blank between values, or in the name of an unused field, does not change the content.
  const text = image.toString('latin1');
  assert.deepEqual(
    unnoticed.filter((at) => !/\s/.test(text[at]!) && !isInName(text, at, 'sha256')),
    [],
  );
  writeFileSync(file, image);
  await snapshots.load();
  assert.equal(snapshots.damage, undefined);
  assert.deepEqual(
    snapshots.all().map(({ name }) => name),
    ['first'],
  );
});

function isInName(text: string, at: number, name: string): boolean {
  const from = text.indexOf(`"${name}"`);
  return at > from && at <= from + name.length;
}

test('a list of snapshots without a digest, as an earlier version wrote it, is read', async (t) => {
  const { directory, file } = await withSnapshot(t);
  const { sha256, ...earlier } = JSON.parse(readFileSync(file, 'utf8'));
  assert.match(sha256, /^[0-9a-f]{64}$/);
  writeFileSync(file, JSON.stringify(earlier));
  const { archive, findings } = await open(t, directory);
  assert.deepEqual(findings, []);
  assert.equal(archive.listSnapshots()[0]!.segments.length, 1);
  assert.deepEqual((await archive.compact()).segments, 0);
});
