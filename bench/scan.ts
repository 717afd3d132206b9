/**
 * Scan and hash of a generated `.warc.gz`, against `zcat` piped into `openssl dgst -sha256` on the same bytes.
 *
 * The ratio compares CPU time: user time of zcat and openssl together, over CPU time of our own process scanning on one thread. The second
 * ratio compares elapsed time of one and two worker threads.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, statSync } from 'node:fs';
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
  const memory = [1, 2].map((workers) => residentMemory(file, workers));
  print(`scan: ${(bytes / 1e6).toFixed(0)} MB, ${records} records, ${RUNS} alternating runs, medians`);
  print(`  zcat + openssl dgst -sha256   ${median(peer).toFixed(2)} s user`);
  print(`  pinakes scan, one thread      ${median(ours).toFixed(2)} s CPU (user and system)`);
  print(`  ratio                         ${ratio(peer, ours)}   (bar 1.3, goal 2)`);
  print(`  one worker ${median(one).toFixed(2)} s, two workers ${median(two).toFixed(2)} s elapsed`);
  print(`  two workers / one             ${ratio(one, two)}   (bar 1.7)`);
  print(`  resident memory               ${memory.join(' and ')} MB with one and two workers   (bar 300)`);
}

async function scan(file: string, workers: number): Promise<number> {
  let records = 0;
  for await (const item of scanFiles([file], { workers })) if (item.kind === 'batch') records += item.batch.count;
  return records;
}

/** The most memory that a process of its own had while it scanned, in megabytes. */
function residentMemory(file: string, workers: number): string {
  const module = JSON.stringify(new URL('../src/warc/index.ts', import.meta.url).href);
  const script = `import(${module}).then(async ({ scanFiles }) => {
    for await (const _ of scanFiles([${JSON.stringify(file)}], { workers: ${workers} }));
    process.stdout.write(String(process.resourceUsage().maxRSS / 1000));
  });`;
  const { stdout } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
  return Number(stdout).toFixed(0);
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
