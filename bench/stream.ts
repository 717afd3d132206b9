/**
 * The speed of streaming the whole archive over loopback, compared with node:http sending the same files:
 *
 *     npm run bench -- stream [MB]
 *
 * - one client, WARC: at least 0.8 of the static server
 * - one client among 63 slow ones: at least 0.8 of its speed alone
 * - 64 clients at random speeds: at most 1.5 scans read from the volume, less than 300 MB of memory
 *
 * Each server runs in a separate process, and the clients run in this one.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createArchive, openArchive } from '../src/archive/index.ts';
import { seededIds, seededRandom, utf8 } from '../src/base/index.ts';
import { median, print, ratio } from './measure.ts';

const RUNS = 7;
const CLIENTS = 64;
const BODY_BYTES = 48 * 1024;
const MEGABYTE = 1_000_000;

export async function benchStream(argv: readonly string[]): Promise<void> {
  const megabytes = Number(argv[0] ?? 200);
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-bench-stream-'));
  try {
    const { files, bytes } = await fill(directory, megabytes * MEGABYTE);
    const ours = await start(['archive', directory]);
    const bare = await start(['files', ...files]);
    try {
      await compare(ours.address, bare.address, bytes);
      await crowd(ours, bytes);
    } finally {
      await Promise.all([ours.stop(), bare.stop()]);
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Bodies that do not compress, so that the files have the requested size. */
async function fill(directory: string, bytesMax: number): Promise<{ files: string[]; bytes: number }> {
  await createArchive(directory, { name: 'bench' });
  const archive = await openArchive(directory, { clock: () => 0, newId: seededIds(seededRandom(1)) });
  const random = seededRandom(7);
  const responseHead = utf8('HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\n\r\n');
  for (let stored = 0, n = 0; stored < bytesMax; ) {
    const batch = Array.from({ length: 64 }, () => {
      const words = new Uint32Array(BODY_BYTES / 4);
      for (let at = 0; at < words.length; at++) words[at] = random() * 2 ** 32;
      const time = Date.UTC(2024, 0, 1) + n * 1000;
      return archive.store({
        kind: 'http',
        url: `http://site.test/${n++}`,
        time,
        responseHead,
        body: new Uint8Array(words.buffer),
      });
    });
    await Promise.all(batch);
    stored += 64 * BODY_BYTES;
  }
  const segments = await archive.segments();
  await archive.close();
  const volume = join(directory, 'volumes', 'main');
  const found = await readdir(volume, { recursive: true });
  const files = found.filter((name) => name.includes('.warc.gz')).map((name) => join(volume, name));
  return { files, bytes: segments.reduce((sum, segment) => sum + segment.bytes, 0) };
}

async function compare(ours: string, bare: string, bytes: number): Promise<void> {
  const times: Record<'ours' | 'bare', number[]> = { ours: [], bare: [] };
  await take(ours);
  await take(bare);
  for (let run = 0; run < RUNS; run++) {
    times.bare.push((await take(bare)).seconds);
    times.ours.push((await take(ours)).seconds);
  }
  const speed = (values: number[]) => `${Math.round(bytes / MEGABYTE / median(values))} MB/s`;
  print(
    `whole archive as WARC, ${Math.round(bytes / MEGABYTE)} MB: ${speed(times.ours)}; node:http ${speed(times.bare)}`,
  );
  print(`  ratio ${ratio(times.bare, times.ours)}  (bar 0.8)`);
}

async function crowd(ours: Child, bytes: number): Promise<void> {
  const random = seededRandom(64);
  const alone = median(await several(RUNS, () => take(ours.address)));
  // Together the slow clients read a tenth of the speed of one alone, so only the sharing can slow down the fastest.
  const breakOff = new AbortController();
  const share = bytes / alone / 10 / (CLIENTS - 1);
  const slow = Array.from({ length: CLIENTS - 1 }, () =>
    take(ours.address, share * 2 * random(), breakOff.signal).catch(() => {}),
  );
  const among = median(await several(RUNS, () => take(ours.address)));
  breakOff.abort();
  await Promise.all(slow);
  print(`fastest of ${CLIENTS} clients, the others slow: ${(alone / among).toFixed(2)} of its speed alone  (bar 0.8)`);
  await ours.ask();
  const speeds = Array.from({ length: CLIENTS }, () => (20 + random() * 180) * MEGABYTE);
  const all = await Promise.all(speeds.map((speed) => take(ours.address, speed)));
  const { rssMax, readBytes } = await ours.ask();
  const wrong = all.filter((one) => one.bytes !== bytes).length;
  print(`${CLIENTS} clients at 20 to 200 MB/s; ${wrong} got other than all of it`);
  print(`  read ${(readBytes / bytes).toFixed(2)} scans  (bar 1.5)`);
  print(`  server's memory at most ${Math.round(rssMax / MEGABYTE)} MB  (bar 300)`);
}

async function several(runs: number, take: () => Promise<{ seconds: number }>): Promise<number[]> {
  const seconds: number[] = [];
  for (let run = 0; run < runs; run++) seconds.push((await take()).seconds);
  return seconds;
}

/** Reads a reply to its end, at a limited speed in bytes per second. */
async function take(
  address: string,
  speed = Number.POSITIVE_INFINITY,
  signal?: AbortSignal,
): Promise<{ bytes: number; seconds: number }> {
  const start = performance.now();
  const [response] = (await once(get(address, signal ? { signal } : {}), 'response')) as [IncomingMessage];
  let bytes = 0;
  for await (const piece of response) {
    bytes += (piece as Buffer).length;
    const ahead = (bytes / speed) * 1000 - (performance.now() - start);
    if (ahead > 5) await wait(ahead, undefined, signal && { signal });
  }
  return { bytes, seconds: (performance.now() - start) / 1000 };
}

type Child = {
  readonly address: string;
  ask(): Promise<{ rssMax: number; readBytes: number }>;
  stop(): Promise<void>;
};

async function start(argv: readonly string[]): Promise<Child> {
  const program = fileURLToPath(new URL('stream-child.ts', import.meta.url));
  const child = spawn(process.execPath, [program, ...argv], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const address = String((await lines.next()).value);
  return {
    address,
    ask: async () => {
      child.stdin.write('\n');
      return JSON.parse(String((await lines.next()).value)) as { rssMax: number; readBytes: number };
    },
    stop: async () => {
      child.stdin.end();
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}
