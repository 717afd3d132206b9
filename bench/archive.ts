/**
 * The archive against its limits, in the same run: `add` against a two-worker scan of the same file, random retrieval against pread and inflate of the
 * same members, and the duplicate check with eight volumes against one.
 */
import { closeSync, existsSync, mkdirSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { createArchive, openArchive } from '../src/archive/index.ts';
import { seededIds, seededRandom } from '../src/base/index.ts';
import type { Capture } from '../src/catalog/index.ts';
import { scanFiles } from '../src/warc/index.ts';
import { median, print, ratio } from './measure.ts';
import { writeSampleWarc } from './sample-warc.ts';

const RUNS = 5;
const RETRIEVALS = 4000;

export async function benchArchive(argv: readonly string[]): Promise<void> {
  const megabytes = Number(argv[0] ?? 200);
  const directory = join(tmpdir(), 'pinakes-bench');
  mkdirSync(directory, { recursive: true });
  const file = join(directory, `archive-${megabytes}.warc.gz`);
  if (!existsSync(file)) await writeSampleWarc(file, { bytes: megabytes * 1e6, duplicates: 0.3 });
  const at = join(directory, 'archive');
  await benchAdd(file, at);
  await benchRetrieve(at);
  await benchVolumes(directory);
  rmSync(at, { recursive: true, force: true });
}

async function benchAdd(file: string, at: string): Promise<void> {
  const scans: number[] = [];
  const adds: number[] = [];
  let rssMax = 0;
  for (let run = 0; run < RUNS; run++) {
    scans.push(await elapsed(() => scan(file)));
    rmSync(at, { recursive: true, force: true });
    await createArchive(at);
    const archive = await open(at);
    const watch = setInterval(() => {
      rssMax = Math.max(rssMax, process.memoryUsage().rss);
    }, 50);
    adds.push(await elapsed(() => archive.add([file], { workers: 2 })));
    clearInterval(watch);
    await archive.close();
  }
  print(`add: ${(statSync(file).size / 1e6).toFixed(0)} MB with 30 % duplicates, ${RUNS} alternating runs, medians`);
  print(`  two-worker scan ${median(scans).toFixed(2)} s, add ${median(adds).toFixed(2)} s`);
  print(`  ratio                         ${ratio(scans, adds)}   (bar 0.6)`);
  print(`  resident memory               ${(rssMax / 1e6).toFixed(0)} MB   (bar 500)`);
}

async function benchRetrieve(at: string): Promise<void> {
  const archive = await open(at);
  const captures: Capture[] = [];
  for await (const page of archive.catalog.captures({}))
    captures.push(...page.filter((capture) => capture.kind === 'response'));
  const random = seededRandom(3);
  const chosen = Array.from({ length: RETRIEVALS }, () => captures[Math.floor(random() * captures.length)]!);
  const raw: number[] = [];
  const ours: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    raw.push(await elapsed(async () => rawRead(at, archive, chosen)));
    ours.push(
      await elapsed(async () => {
        for (const capture of chosen) for await (const _ of (await archive.open(capture)).payload);
      }),
    );
  }
  await archive.close();
  print(`retrieve: ${RETRIEVALS} random captures`);
  print(`  pread + inflate ${median(raw).toFixed(2)} s, retrieve ${median(ours).toFixed(2)} s`);
  print(`  ratio                         ${ratio(raw, ours)}   (bar 0.5)`);
}

function rawRead(at: string, archive: Awaited<ReturnType<typeof open>>, captures: readonly Capture[]): void {
  const descriptors = new Map<number, number>();
  for (const { place } of captures) {
    let descriptor = descriptors.get(place.segment);
    if (descriptor === undefined) {
      const { name, state } = archive.segments().find((segment) => segment.number === place.segment)!;
      const path = join(at, 'volumes/main', name);
      descriptor = openSync(state === 'open' && !existsSync(path) ? `${path}.open` : path, 'r');
      descriptors.set(place.segment, descriptor);
    }
    const member = Buffer.allocUnsafe(place.length);
    readSync(descriptor, member, 0, place.length, place.offset);
    gunzipSync(member);
  }
  for (const descriptor of descriptors.values()) closeSync(descriptor);
}

/** Asks whether digests are held, in archives of one and of eight volumes with the same contents. */
async function benchVolumes(directory: string): Promise<void> {
  const times = new Map<number, number[]>([
    [1, []],
    [8, []],
  ]);
  const archives = new Map<number, Awaited<ReturnType<typeof open>>>();
  for (const volumes of times.keys()) {
    const at = join(directory, `volumes-${volumes}`);
    rmSync(at, { recursive: true, force: true });
    await createArchive(at);
    let archive = await open(at);
    for (let number = 2; number <= volumes; number++)
      await archive.addVolume({ name: `v${number}`, path: join(at, `volumes/v${number}`) });
    await archive.close();
    archive = await open(at);
    for (let start = 0; start < 4000; start += 500) {
      await Promise.all(
        Array.from({ length: 500 }, (_, index) =>
          archive.store({
            kind: 'bytes',
            time: 1_700_000_000_000,
            body: Buffer.from(`content ${start + index} `.repeat(90)),
          }),
        ),
      );
    }
    archives.set(volumes, archive);
  }
  const digests = new Map<number, Uint8Array[]>();
  for (const [volumes, archive] of archives) {
    const found: Uint8Array[] = [];
    for await (const page of archive.catalog.blocks()) found.push(...page.map((block) => block.key.digest));
    digests.set(volumes, found);
  }
  for (let run = 0; run < RUNS * 2; run++) {
    for (const [volumes, archive] of archives) {
      const all = digests.get(volumes)!;
      times.get(volumes)!.push(
        await elapsed(async () => {
          for (let round = 0; round < 5; round++)
            for (let at = 0; at < all.length; at += 500) await archive.catalog.findBlocks(all.slice(at, at + 500));
        }),
      );
    }
  }
  for (const archive of archives.values()) await archive.close();
  print('duplicate check: 4,000 contents, 500 a call');
  print(`  cost with 8 volumes / with 1  ${ratio(times.get(8)!, times.get(1)!)}   (bar at most 1.05)`);
}

function open(at: string) {
  return openArchive(at, { clock: Date.now, newId: seededIds(seededRandom(5)), purpose: 'bench' });
}

async function scan(file: string): Promise<void> {
  for await (const _ of scanFiles([file], { workers: 2 }));
}

async function elapsed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
}
