/**
 * Compares the archive with its limits in the same run: `add` with a two-worker scan of the same file, random retrieval
 * with pread and inflate of the same members, and the duplicate check over eight volumes with the check over one
 * volume.
 */
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { createArchive, openArchive } from '../src/archive/index.ts';
import { seededRandom } from '../src/base/index.ts';
import { type Capture, type Catalog, openLevelCatalog } from '../src/catalog/index.ts';
import { scanFiles } from '../src/warc/index.ts';
import { median, print, ratio } from './measure.ts';
import { writeSampleWarc } from './sample-warc.ts';

const RUNS = 5;
const RETRIEVALS = 4000;
/** The number of captures that one method retrieves before the next method has its turn. */
const TURN = 1000;
/** The number of captures that are retrieved concurrently, as a server does. */
const TOGETHER = 16;

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
  for (let run = 0; run < RUNS; run++) {
    scans.push(await elapsed(() => scan(file)));
    rmSync(at, { recursive: true, force: true });
    await createArchive(at);
    const archive = await open(at);
    adds.push(await elapsed(() => archive.add([file], { workers: 2 })));
    await archive.close();
  }
  const memory = residentMemory(file, `${at}-memory`);
  print(`add: ${(statSync(file).size / 1e6).toFixed(0)} MB with 30 % duplicates, ${RUNS} alternating runs, medians`);
  print(`  two-worker scan ${median(scans).toFixed(2)} s, add ${median(adds).toFixed(2)} s`);
  print(`  ratio                         ${ratio(scans, adds)}   (bar 0.6)`);
  print(`  resident memory               ${memory} MB in a process of its own   (bar 500)`);
}

/** The peak memory, in megabytes, of a separate process that adds the file to a new archive. */
function residentMemory(file: string, at: string): string {
  rmSync(at, { recursive: true, force: true });
  const module = JSON.stringify(new URL('../src/archive/index.ts', import.meta.url).href);
  const script = `import(${module}).then(async ({ createArchive, openArchive }) => {
    await createArchive(${JSON.stringify(at)});
    const newId = () => '<urn:uuid:' + crypto.randomUUID() + '>';
    const archive = await openArchive(${JSON.stringify(at)}, { clock: Date.now, newId });
    await archive.add([${JSON.stringify(file)}], { workers: 2 });
    await archive.close();
    process.stdout.write(String(process.resourceUsage().maxRSS / 1000));
  });`;
  const { stdout } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
  rmSync(at, { recursive: true, force: true });
  return Number(stdout).toFixed(0);
}

/**
 * Random retrieval of known captures by `open`, one after another or concurrently, and by URL and time, which includes
 * the search of the catalog for the nearest capture. The limit reads and inflates the same members without parsing
 * them. All methods take turns, some captures at a time, so that other work of the machine affects all of them.
 */
async function benchRetrieve(at: string): Promise<void> {
  const archive = await open(at);
  const captures: Capture[] = [];
  for await (const page of archive.captures({}))
    captures.push(...page.filter((capture) => capture.kind === 'response'));
  const random = seededRandom(3);
  const chosen = Array.from({ length: RETRIEVALS }, () => captures[Math.floor(random() * captures.length)]!);
  const ways: ((some: readonly Capture[]) => Promise<void>)[] = [
    async (some) => rawRead(at, archive, some),
    async (some) => {
      for (const capture of some) for await (const _ of (await archive.open(capture)).payload);
    },
    async (some) => {
      for (const { url, time } of some) for await (const _ of (await archive.get(url, time)).payload);
    },
    async (some) => {
      const left = some.values();
      const work = async () => {
        for (const capture of left) for await (const _ of (await archive.open(capture)).payload);
      };
      await Promise.all(Array.from({ length: TOGETHER }, work));
    },
  ];
  const walls: number[][] = ways.map(() => []);
  const processors: number[][] = ways.map(() => []);
  for (let run = 0; run < RUNS; run++) {
    const wall = ways.map(() => 0);
    const processor = ways.map(() => 0);
    for (let from = 0; from < chosen.length; from += TURN) {
      const some = chosen.slice(from, from + TURN);
      for (const [index, way] of ways.entries()) {
        // The garbage of the previous method is collected here, and the records that it cached are dropped.
        globalThis.gc?.();
        archive.forgetRecentRecords();
        const before = process.cpuUsage();
        wall[index]! += await elapsed(() => way(some));
        const { user, system } = process.cpuUsage(before);
        processor[index]! += (user + system) / 1e6;
      }
    }
    for (const index of ways.keys()) {
      walls[index]!.push(wall[index]!);
      processors[index]!.push(processor[index]!);
    }
  }
  for (const descriptor of descriptors.values()) closeSync(descriptor);
  descriptors.clear();
  await archive.close();
  const [raw, byCapture, byUrl, together] = walls as [number[], number[], number[], number[]];
  const [rawProcessor, byCaptureProcessor, byUrlProcessor] = processors as [number[], number[], number[]];
  print(`retrieve: ${RETRIEVALS} random captures, against pread and inflate of the same members`);
  print(
    `  raw ${median(raw).toFixed(2)} s, captures ${median(byCapture).toFixed(2)} s, by URL ${median(byUrl).toFixed(2)} s`,
  );
  print(`  ratio, ${TOGETHER} at a time           ${ratio(raw, together)}   (bar 0.5)`);
  print(`  ratio, one after another      ${ratio(raw, byCapture)}   (bar 0.5)`);
  print(`  ratio, by URL and time        ${ratio(raw, byUrl)}, of URLs asked for before`);
  print(
    `  the same in processor time    ${ratio(rawProcessor, byCaptureProcessor)}, ${ratio(rawProcessor, byUrlProcessor)}`,
  );
}

const descriptors = new Map<number, number>();

async function rawRead(
  at: string,
  archive: Awaited<ReturnType<typeof open>>,
  captures: readonly Capture[],
): Promise<void> {
  for (const { place } of captures) {
    let descriptor = descriptors.get(place.segment);
    if (descriptor === undefined) {
      const { name, state } = (await archive.segments()).find((segment) => segment.number === place.segment)!;
      const path = join(at, 'volumes/main', name);
      descriptor = openSync(state === 'open' && !existsSync(path) ? `${path}.open` : path, 'r');
      descriptors.set(place.segment, descriptor);
    }
    const member = Buffer.allocUnsafe(place.length);
    readSync(descriptor, member, 0, place.length, place.offset);
    gunzipSync(member);
  }
}

/** Looks up digests in archives of one and of eight volumes with the same contents. */
async function benchVolumes(directory: string): Promise<void> {
  const times = new Map<number, number[]>([
    [1, []],
    [8, []],
  ]);
  const catalogs = new Map<number, Catalog>();
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
    // After the archives are opened again, both catalogs have all rows in tables.
    await archive.close();
    catalogs.set(volumes, await openLevelCatalog(join(at, 'catalog')));
  }
  const digests = new Map<number, Uint8Array[]>();
  for (const [volumes, catalog] of catalogs) {
    const found: Uint8Array[] = [];
    for await (const page of catalog.blocks()) found.push(...page.map((block) => block.key.digest));
    digests.set(volumes, found);
  }
  for (let run = 0; run < RUNS * 6; run++) {
    const sums = new Map([...catalogs.keys()].map((volumes) => [volumes, 0]));
    for (let round = 0; round < 10; round++) {
      for (let at = 0; at < 4000; at += 500) {
        // The second lookup finds warm caches, so each catalog is looked up first equally often.
        const inTurn = round % 2 === 0 ? [...catalogs] : [...catalogs].reverse();
        for (const [volumes, catalog] of inTurn) {
          const some = digests.get(volumes)!.slice(at, at + 500);
          sums.set(volumes, sums.get(volumes)! + (await elapsed(() => catalog.findBlocks(some))));
        }
      }
    }
    for (const [volumes, sum] of sums) times.get(volumes)!.push(sum);
  }
  for (const catalog of catalogs.values()) await catalog.close();
  print('duplicate check: 4,000 contents, 500 a call');
  print(`  cost with 8 volumes / with 1  ${ratio(times.get(8)!, times.get(1)!)}   (bar at most 1.05)`);
}

/** The options of an archive, with random record ids like those of the program. */
function open(at: string) {
  const newId = () => `<urn:uuid:${crypto.randomUUID()}>`;
  return openArchive(at, { clock: Date.now, newId, stopwatch: () => performance.now(), purpose: 'bench' });
}

async function scan(file: string): Promise<void> {
  for await (const _ of scanFiles([file], { workers: 2 }));
}

async function elapsed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
}
