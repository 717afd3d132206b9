/**
 * Scans and hashes a generated `.warc.gz`, compared with `zcat` piped into `openssl dgst -sha256` on the same bytes.
 *
 * The first ratio compares CPU time: the user time of zcat and openssl together, divided by the CPU time of our process
 * that scans on one thread. The second ratio compares the elapsed time of one and two worker threads: in this process,
 * which reuses the threads of the previous scan, and in separate processes, which start and warm up the threads for one
 * scan.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scanFiles } from '../src/warc/index.ts';
import { median, print, ratio } from './measure.ts';
import { writeSampleWarc } from './sample-warc.ts';

const RUNS = 5;

export async function benchScan(argv: readonly string[]): Promise<void> {
  const megabytes = Number(argv[0] ?? 500);
  const directory = join(tmpdir(), 'pinakes-bench');
  mkdirSync(directory, { recursive: true });
  const file = join(directory, `scan-${megabytes}.warc.gz`);
  if (!existsSync(file)) await writeSampleWarc(file, { bytes: megabytes * 1e6 });
  const bytes = statSync(file).size;

  const peer: number[] = [];
  const ours: number[] = [];
  const one: number[] = [];
  const two: number[] = [];
  let records = 0;
  for (let run = 0; run < RUNS; run++) {
    peer.push(userSecondsOfPeer(file));
    const before = process.cpuUsage();
    records = await scan(file, 0);
    const spent = process.cpuUsage(before);
    ours.push((spent.user + spent.system) / 1e6);
    one.push(await elapsed(() => scan(file, 1)));
    two.push(await elapsed(() => scan(file, 2)));
  }
  const alone = [1, 2].map((workers) => scanAlone(file, workers));
  print(`scan: ${(bytes / 1e6).toFixed(0)} MB, ${records} records, ${RUNS} alternating runs, medians`);
  print(`  zcat + openssl dgst -sha256   ${median(peer).toFixed(2)} s user`);
  print(`  pinakes scan, one thread      ${median(ours).toFixed(2)} s CPU (user and system)`);
  print(`  ratio                         ${ratio(peer, ours)}   (bar 1.3, goal 2)`);
  print(`  one worker ${median(one).toFixed(2)} s, two workers ${median(two).toFixed(2)} s elapsed`);
  print(`  two workers / one             ${ratio(one, two)}   (bar 1.7)`);
  print(`  the same with new threads     ${(alone[0]!.seconds / alone[1]!.seconds).toFixed(2)}, one run each`);
  print(
    `  resident memory               ${alone.map(({ megabytes }) => megabytes.toFixed(0)).join(' and ')} MB with one and two workers   (bar 300)`,
  );
}

async function scan(file: string, workers: number): Promise<number> {
  let records = 0;
  for await (const item of scanFiles([file], { workers })) if (item.kind === 'batch') records += item.batch.count;
  return records;
}

/** Scans in a separate process, and returns the time and the peak memory of the process. */
function scanAlone(file: string, workers: number): { readonly seconds: number; readonly megabytes: number } {
  const module = JSON.stringify(new URL('../src/warc/index.ts', import.meta.url).href);
  const script = `import(${module}).then(async ({ scanFiles }) => {
    const start = performance.now();
    for await (const _ of scanFiles([${JSON.stringify(file)}], { workers: ${workers} }));
    const seconds = (performance.now() - start) / 1000;
    process.stdout.write(JSON.stringify({ seconds, megabytes: process.resourceUsage().maxRSS / 1000 }));
  });`;
  const env = { ...process.env, NODE_COMPILE_CACHE: getCompileCacheDir() };
  const { stdout } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8', env });
  return JSON.parse(stdout) as { seconds: number; megabytes: number };
}

async function elapsed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
}

function userSecondsOfPeer(file: string): number {
  const script = 'zcat "$0" | openssl dgst -sha256 >/dev/null; times';
  const { stdout, status } = spawnSync('bash', ['-c', script, file], { encoding: 'utf8' });
  const match = /\n(\d+)m([\d.]+)s /.exec(stdout);
  if (status !== 0 || !match) throw new Error('the bench needs bash, zcat and openssl');
  return Number(match[1]) * 60 + Number(match[2]);
}
