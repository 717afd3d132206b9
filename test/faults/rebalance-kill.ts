/**
 * A rebalance as a process that is killed at random moments, and run again until it is done. What moves is computed
 * here from the rendezvous hash as the documents describe it, and read from the files of the volumes without a catalog.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { type Archive, createArchive, openArchive } from '../../src/archive/index.ts';
import { seededIds, seededRandom } from '../../src/base/index.ts';
import { readRecords } from '../../src/warc/index.ts';
import { bytesOf, contentOf, NOON, page } from '../archive/trial-archive.ts';
import { problemsOf } from '../archive/two-volumes.ts';
import { LAUNCHER } from '../journeys/pinakes-process.ts';

const FORMER = ['main', 'second', 'third', 'fourth'];
const ADDED = 'fifth';
const AT_ONCE = 200;

export type RebalanceKills = {
  readonly seed: number;
  readonly records: number;
  readonly kills: number;
  readonly segmentBytesMax: number;
  /** The longest time from the moment when a process has begun to move something until it is killed. */
  readonly killWithinMs: number;
};

export type RebalanceKillReport = {
  moved: number;
  /** 1/(n+1) of the records. */
  expected: number;
  /** How many of the killed processes had moved something. */
  readonly movedBy: number[];
  readsBetween: number;
  readsDuring: number;
  bytes: number;
};

const urlOf = (number: number) => `http://site.example/${String(number).padStart(6, '0')}`;
const bodyOf = (number: number) => contentOf(`content ${number}`, 600 + ((number * 7919) % 3000));

/** The rendezvous hash, computed with big integers and without the code of the archive. */
export function homeOf(body: Uint8Array, volumes: readonly string[]): string {
  const low = (value: bigint) => BigInt.asUintN(32, value);
  const mix = (value: bigint) => {
    let mixed = low(value ^ (value >> 16n));
    mixed = low(mixed * 0x85ebca6bn);
    mixed ^= mixed >> 13n;
    mixed = low(mixed * 0xc2b2ae35n);
    return mixed ^ (mixed >> 16n);
  };
  const halves = (digest: string) => [BigInt(`0x${digest.slice(0, 8)}`), BigInt(`0x${digest.slice(8, 16)}`)] as const;
  const [x, y] = halves(createHash('sha256').update(body).digest('hex'));
  const scores = volumes.map((name) => {
    const [a, b] = halves(createHash('sha256').update(name).digest('hex'));
    return { name, score: mix(mix(mix(x ^ a) ^ y) ^ b) };
  });
  return scores.reduce((best, one) => (one.score > best.score ? one : best)).name;
}

/** Fails when anything is lost, doubled, wrong, or where it should not be. */
export async function killRebalances(
  directory: string,
  options: RebalanceKills,
  say: (line: string) => void = () => {},
): Promise<RebalanceKillReport> {
  const { seed, records, kills, segmentBytesMax, killWithinMs } = options;
  const random = seededRandom(seed);
  const report: RebalanceKillReport = {
    moved: 0,
    expected: Math.round(records / (FORMER.length + 1)),
    movedBy: [],
    readsBetween: 0,
    readsDuring: 0,
    bytes: 0,
  };
  let opened = 0;
  const open = () => openArchive(directory, { clock: Date.now, newId: seededIds(seededRandom(seed + ++opened)) });
  await createArchive(directory, { policies: { distribution: 'hash', segmentBytesMax } });
  const first = await open();
  for (const name of FORMER.slice(1)) await first.addVolume({ name, path: join(directory, 'volumes', name) });
  for (let number = 0; number < records; number += AT_ONCE)
    await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, records - number) }, (_, index) =>
        first.store(page(urlOf(number + index), NOON, bodyOf(number + index)), { mayWait: true }),
      ),
    );
  await first.addVolume({ name: ADDED, path: join(directory, 'volumes', ADDED) });
  await first.close();
  say(`${records} records are stored`);
  for (let kill = 0; kill < kills; kill++) {
    const { isDone } = await rebalanceProcess(directory, Math.ceil(random() * killWithinMs));
    assert.ok(!isDone || kill > 0, 'the first rebalance was done before it was killed: kill it earlier');
    const archive = await open();
    await readAll(archive, records);
    report.readsBetween += records;
    const there = (await placesOf(archive)).filter((volume) => volume === ADDED).length;
    report.movedBy.push(there - report.movedBy.reduce((sum, count) => sum + count, 0));
    await archive.close();
    say(`kill ${kill + 1}: ${there} records in the new volume, all ${records} read`);
    if (isDone) break;
  }
  await finishWhileReading(await open(), records, report);
  say(`the rest moved, with ${report.readsDuring} reads meanwhile`);
  assert.deepEqual(await rebalanceProcess(directory), { isDone: true, moves: [] });
  const archive = await open();
  await archive.compact();
  await readAll(archive, records);
  await assertPlaces(archive, records, report);
  assert.deepEqual(await problemsOf(archive), []);
  await archive.close();
  return report;
}

/** `pinakes volume rebalance`, killed after a time unless it has ended. */
async function rebalanceProcess(
  directory: string,
  killAfterMs?: number,
): Promise<{ readonly isDone: boolean; readonly moves?: unknown }> {
  const args = ['volume', 'rebalance', '--archive', directory, '--json'];
  // The launcher starts node as a child of its own in some environments, so the whole group is killed.
  const child = spawn(LAUNCHER, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const out = child.stdout.toArray();
  const err = child.stderr.toArray();
  if (killAfterMs !== undefined) {
    const before = filesIn(directory);
    while (child.exitCode === null && filesIn(directory) === before) await setTimeout(2);
    await Promise.race([ended, setTimeout(killAfterMs, undefined, { ref: false })]);
    if (child.exitCode === null) process.kill(-child.pid!, 'SIGKILL');
  }
  const code = await ended;
  const said = Buffer.concat(await err).toString();
  if (code === null) return { isDone: false };
  assert.equal(code, 0, said);
  return { isDone: true, moves: (JSON.parse(Buffer.concat(await out).toString()) as { moves: unknown }).moves };
}

/** How many files the new volume has. */
function filesIn(directory: string): number {
  return readdirSync(join(directory, 'volumes', ADDED), { recursive: true }).length;
}

async function assertRead(archive: Archive, number: number): Promise<void> {
  const payload = await bytesOf((await archive.get(urlOf(number))).payload);
  assert.deepEqual(payload, Buffer.from(bodyOf(number)), urlOf(number));
}

async function readAll(archive: Archive, records: number): Promise<void> {
  for (let number = 0; number < records; number++) await assertRead(archive, number);
}

async function placesOf(archive: Archive): Promise<string[]> {
  const found: string[] = [];
  for await (const captures of archive.captures({}))
    for (const place of await archive.records.locate(captures.map((one) => one.place))) found.push(place!.volume);
  return found;
}

/** Reads every record at least once while the last rebalance runs in this process. */
async function finishWhileReading(archive: Archive, records: number, report: RebalanceKillReport): Promise<void> {
  let isOver = false;
  const reading = (async () => {
    for (let read = 0; !isOver || read < records; read++, report.readsDuring++) {
      await assertRead(archive, (read * 7) % records);
      if (read % 16 === 0) archive.forgetRecentRecords();
      await setImmediate();
    }
  })();
  const { staying } = await archive.rebalance().finally(() => (isOver = true));
  await reading;
  assert.deepEqual(staying, []);
  await archive.close();
}

/** Every record is in exactly one file, of the volume that its hash chooses: no bytes are left where it was. */
async function assertPlaces(archive: Archive, records: number, report: RebalanceKillReport): Promise<void> {
  const volumes = [...FORMER, ADDED];
  const found = new Map<string, string[]>();
  for (const volume of volumes) {
    const root = join(archive.directory, 'volumes', volume);
    for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
      if (!/\.warc(\.gz|\.zst)?(\.open)?$/.test(name) || !statSync(join(root, name)).isFile()) continue;
      for await (const { head } of readRecords(createReadStream(join(root, name)), { name })) {
        if (head.type !== 'response') continue;
        found.set(head.targetUri!, [...(found.get(head.targetUri!) ?? []), volume]);
      }
    }
  }
  for (let number = 0; number < records; number++) {
    const home = homeOf(bodyOf(number), volumes);
    assert.deepEqual(found.get(urlOf(number)), [home], urlOf(number));
    if (home !== homeOf(bodyOf(number), FORMER)) {
      assert.equal(home, ADDED);
      report.moved++;
    }
    found.delete(urlOf(number));
  }
  assert.deepEqual([...found.keys()], []);
  report.bytes = (await archive.segments()).reduce((sum, { bytes }) => sum + bytes, 0);
}
