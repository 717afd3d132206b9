/**
 * What storing 10,000 captures costs on S3: requests and bytes, with the sealing of segments, beside a directory. And
 * how long it takes to seal a segment of small parts over a network with a round trip of half a second.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Archive, createArchive, openArchive, VolumeSet } from '../src/archive/index.ts';
import { seededRandom, utf8 } from '../src/base/index.ts';
import { openS3Volume, type S3Volume } from '../src/volume/index.ts';
import { BUCKET, type S3Server, startVolumeServer } from '../test/contract/s3-servers.ts';
import { randomBytes } from '../test/contract/volume.ts';
import { median, print } from './measure.ts';
import { SamplePages } from './sample-pages.ts';
import { writeSampleWarc } from './sample-warc.ts';
import { startSlowProxy } from './slow-proxy.ts';

const CAPTURES = 10_000;
/** Captures a second of the crawl. */
const RATE = 400;
const DUPLICATES = 0.3;
/** Small, so that some segments are sealed. */
const SEGMENT_BYTES_MAX = 16 * 1024 * 1024;
const RUNS = 3;
const ROUND_TRIP_MS = 500;
const SEALED_PARTS = [
  { count: 40, bytes: 100 * 1024 },
  { count: 40, bytes: 1024 * 1024 },
  { count: 400, bytes: 100 * 1024 },
  { count: 20, bytes: 8 * 1024 * 1024 },
];

type Counts = Omit<ReturnType<S3Volume['counts']>, 'pending' | 'lastError' | 'retries'>;
type Way = { readonly title: string; readonly run: (archive: Archive) => Promise<unknown> };

/** With `seal` or `requests`, only that is measured. */
export async function benchS3Store(argv: readonly string[]): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-bench-s3-store-'));
  const server = await startVolumeServer();
  try {
    if (argv[0] !== 'requests') await benchSeal(server);
    if (argv[0] !== 'seal') await benchRequests(server, directory);
  } finally {
    await server.close();
    rmSync(directory, { recursive: true });
  }
}

async function benchSeal(server: S3Server): Promise<void> {
  const proxy = await startSlowProxy(server.endpoint, ROUND_TRIP_MS);
  const volume = await openVolume({ ...server, endpoint: proxy.endpoint }, 'seal');
  try {
    print(`joining parts, with a round trip of ${ROUND_TRIP_MS} ms, medians of ${RUNS} runs`);
    for (const { count, bytes } of SEALED_PARTS) {
      const names = Array.from({ length: count }, (_, index) => `parts/${bytes}/${count}/${index}`);
      await Promise.all(names.map((name) => volume.put(name, [randomBytes(bytes)])));
      const ranges = names.map((name) => ({ name, offset: 0, length: bytes }));
      const before = volume.counts();
      const times: number[] = [];
      for (let run = 0; run < RUNS; run++) {
        const begun = performance.now();
        await volume.join(`joined/${bytes}/${count}/${run}`, ranges);
        times.push(performance.now() - begun);
      }
      const { gets, puts, heads } = volume.counts();
      const each = (now: number, then: number) => ((now - then) / RUNS).toFixed(0);
      print(
        `  ${count} of ${bytes / 1024} KiB: ${(median(times) / ROUND_TRIP_MS).toFixed(1)} round trips, ${median(times).toFixed(0)} ms; ` +
          `${each(gets, before.gets)} GET, ${each(puts, before.puts)} PUT, ${each(heads, before.heads)} HEAD`,
      );
    }
  } finally {
    await volume.close();
    await proxy.close();
  }
}

async function benchRequests(server: S3Server, directory: string): Promise<void> {
  const file = join(directory, 'pages.warc.gz');
  const { records } = await writeSampleWarc(file, { bytes: 40e6, duplicates: DUPLICATES });
  const added = (records - 1) / 2;
  const ways: Way[] = [
    { title: `stores of a crawl, ${RATE} a second`, run: crawl },
    { title: 'add', run: (archive) => archive.add([file], { workers: 2 }) },
  ];
  print(
    `for each ${CAPTURES} captures, ${DUPLICATES * 100} % of them duplicates, segments of ${SEGMENT_BYTES_MAX / 1024 / 1024} MiB`,
  );
  print(`  ${'volume'.padEnd(42)}   PUT   GET  HEAD  LIST   DEL   MB out   MB in   sealed   seconds`);
  for (const [index, { title, run }] of ways.entries()) {
    const share = index === 0 ? 1 : CAPTURES / added;
    await benchWay(`a directory: ${title}`, share, join(directory, `near-${index}`), run);
    const volume = await openVolume(server, `archive-${index}`);
    await benchWay(`S3: ${title}`, share, join(directory, `far-${index}`), run, volume);
  }
}

async function benchWay(
  title: string,
  share: number,
  directory: string,
  run: Way['run'],
  volume?: S3Volume,
): Promise<void> {
  await createArchive(directory, { policies: { segmentBytesMax: SEGMENT_BYTES_MAX } });
  const newId = () => `<urn:uuid:${crypto.randomUUID()}>`;
  const volumes = volume && (await VolumeSet.ofBucket(volume, { directory, clock: Date.now, newId }));
  const archive = await openArchive(directory, {
    clock: Date.now,
    newId,
    purpose: 'bench',
    ...(volumes && { volumes }),
  });
  const before: Counts | undefined = volume?.counts();
  const begun = performance.now();
  await run(archive);
  const seconds = (performance.now() - begun) / 1000;
  const after: Counts | undefined = volume?.counts();
  const sealed = (await archive.segments()).filter(({ state }) => state === 'sealed').length;
  await archive.close();
  const count = (key: keyof Counts, unit = 1) =>
    before && after ? (((after[key] - before[key]) / unit) * share).toFixed(0) : '';
  const columns = [
    count('puts').padStart(6),
    count('gets').padStart(6),
    count('heads').padStart(6),
    count('lists').padStart(6),
    count('deletes').padStart(6),
    count('bytesWritten', 1e6).padStart(9),
    count('bytesRead', 1e6).padStart(8),
    String(sealed).padStart(9),
    (seconds * share).toFixed(1).padStart(10),
  ];
  print(`  ${title.padEnd(42)}${columns.join('')}`);
}

/** Pages come at a rate, and the crawl does not wait for their stores. */
async function crawl(archive: Archive): Promise<void> {
  const pages = new SamplePages(1);
  const random = seededRandom(2);
  const bodies: string[] = [];
  const stores: Promise<unknown>[] = [];
  const begun = performance.now();
  for (let number = 0; number < CAPTURES; number++) {
    const { url, head, body: own } = pages.page(number);
    const isDuplicate = bodies.length > 0 && random() < DUPLICATES;
    const body = isDuplicate ? bodies[Math.floor(random() * bodies.length)]! : own;
    if (!isDuplicate && bodies.length < 2000) bodies.push(body);
    const early = (number / RATE) * 1000 - (performance.now() - begun);
    if (early > 5) await delay(early);
    stores.push(
      archive.store(
        { kind: 'http', url, time: 1_700_000_000_000 + number, responseHead: utf8(head), body: utf8(body) },
        { mayWait: true },
      ),
    );
  }
  await Promise.all(stores);
}

function openVolume({ endpoint, credentials }: Pick<S3Server, 'endpoint' | 'credentials'>, prefix: string) {
  return openS3Volume('main', `s3://${BUCKET}/${prefix}`, { endpoint, credentials, clock: Date.now, writable: true });
}
