/**
 * Copies under a rank law: 10,000 contents, of which the most popular has 10,000 references, and the one of rank k
 * 10,000 / k^1.2. Prints what the suggested policy costs in bytes, and which part of the captures it protects. Then 100
 * members are damaged, half of them with a copy, and restored; and each volume is away once.
 */
import assert from 'node:assert/strict';
import { chmod, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Archive, createArchive, openArchive } from '../../src/archive/index.ts';
import { bytesOf, contentOf, NOON, page, trialOptions } from '../archive/trial-archive.ts';
import { problemsOf } from '../archive/two-volumes.ts';

const CONTENTS = 10_000;
const LARGEST = 10_000;
const EXPONENT = 1.2;
const AT_ONCE = 500;
const DAMAGED = 100;
const POPULAR_MIN = 10;
const VOLUMES = ['main', 'second'];

const urlOf = (rank: number, reference = 0) => `http://site.example/${rank}/${reference}`;
const bodyOf = (rank: number) => contentOf(`content ${rank}`, 2000 + ((rank * 7919) % 20_000));
const say = (line: string) => void process.stdout.write(`${line}\n`);

export async function tryCopies([
  contents = String(CONTENTS),
  largest = String(LARGEST),
]: readonly string[]): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-trial-copies-'));
  try {
    await createArchive(directory, { policies: { distribution: 'hash', copies: { 2: 10, 3: 1000 } } });
    const archive = await openArchive(directory, trialOptions());
    await archive.addVolume({ name: 'second', path: join(directory, 'volumes/second') });
    let captures = 0;
    let safe = 0;
    let popular = 0;
    let waiting: Promise<unknown>[] = [];
    for (let rank = 1; rank <= Number(contents); rank++) {
      const references = Math.max(1, Math.round(Number(largest) / rank ** EXPONENT));
      captures += references;
      if (references >= POPULAR_MIN) popular = rank;
      if (references >= POPULAR_MIN) safe += references;
      const body = bodyOf(rank);
      for (let reference = 0; reference < references; reference++) {
        waiting.push(archive.store(page(urlOf(rank, reference), NOON, body), { mayWait: true }));
        if (waiting.length < AT_ONCE) continue;
        await Promise.all(waiting);
        waiting = [];
      }
    }
    await Promise.all(waiting);
    const bytes = (await archive.segments()).reduce((sum, segment) => sum + segment.bytes, 0);
    const made = await archive.makeCopies();
    const share = (part: number, whole: number) => `${((100 * part) / whole).toFixed(1)} %`;
    process.stdout.write(`${contents} contents, ${captures} captures, ${bytes} bytes in segments\n`);
    process.stdout.write(`${made.copies} copies of ${made.bytes} bytes: ${share(made.bytes, bytes)} more\n`);
    process.stdout.write(
      `${safe} captures protected: ${share(safe, captures)}; ${made.lacking} contents lack a third volume\n`,
    );
    await restoreDamaged(archive, Number(contents), popular);
    await archive.close();
    for (const volume of VOLUMES) await readWithout(directory, volume, Number(contents), popular);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The file, place and bytes of the record that holds a content. */
async function memberOf(archive: Archive, rank: number) {
  const { capture } = await archive.get(urlOf(rank));
  const [block] = await archive.getBlocks([capture.block!]);
  const [location] = await archive.records.locate([block!.holder]);
  const { volume, segment, offset, length } = location!;
  const member = await bytesOf(archive.records.memberPieces(block!.holder));
  return { rank, file: join(archive.directory, 'volumes', volume, segment), segment, offset, length, member };
}

/** The first `popular` contents have copies. Half of the damaged ones are among them. */
async function restoreDamaged(archive: Archive, contents: number, popular: number): Promise<void> {
  for (const volume of VOLUMES)
    for (const isWritable of [false, true]) await archive.setVolumeWritable(volume, isWritable);
  const ranks = (count: number, from: number, to: number) =>
    Array.from({ length: count }, (_, index) => from + Math.floor((index * (to - from)) / count));
  const members = [];
  const chosen = [...ranks(DAMAGED / 2, 1, popular + 1), ...ranks(DAMAGED / 2, popular + 1, contents + 1)];
  for (const rank of new Set(chosen)) members.push(await memberOf(archive, rank));
  for (const [file, some] of Map.groupBy(members, (one) => one.file)) {
    const bytes = await readFile(file);
    for (const { offset, length } of some)
      for (let at = offset + (length >> 1); at < offset + (length >> 1) + 20; at++) bytes[at]! ^= 0xff;
    await chmod(file, 0o644);
    await writeFile(file, bytes);
  }
  archive.forgetRecentRecords();
  const { restored, left, checked } = await archive.restore();
  const protectedOnes = members.filter(({ rank }) => rank <= popular);
  for (const { rank, member } of protectedOnes) {
    assert.deepEqual((await memberOf(archive, rank)).member, member, `content ${rank} is restored byte for byte`);
    assert.deepEqual(await bytesOf((await archive.get(urlOf(rank))).payload), Buffer.from(bodyOf(rank)));
  }
  const errors = (await problemsOf(archive)).filter(({ code }) => code === 'content-changed');
  for (const { rank, segment, offset } of members.filter((one) => one.rank > popular))
    assert.ok(
      errors.some((error) => error.segment === segment && error.offset === offset),
      `content ${rank} is named`,
    );
  assert.deepEqual([restored, left.length, errors.length], [protectedOnes.length, 0, members.length - restored]);
  say(`${members.length} damaged: ${restored} restored byte for byte, ${errors.length} named; ${checked} checked`);
}

async function readWithout(directory: string, volume: string, contents: number, popular: number): Promise<void> {
  const [place, away] = [join(directory, 'volumes', volume), join(directory, 'away')];
  await rename(place, away);
  const archive = await openArchive(directory, trialOptions({ seed: 5 }));
  let missing = 0;
  for (let rank = 1; rank <= contents; rank++) {
    const payload = archive.get(urlOf(rank)).then((found) => bytesOf(found.payload));
    if (rank <= popular) assert.deepEqual(await payload, Buffer.from(bodyOf(rank)), `content ${rank}`);
    else await payload.catch(() => missing++);
  }
  await archive.close();
  await rename(away, place);
  say(`without ${volume}: all ${popular} contents above the threshold are read, ${missing} others are away`);
}
