/**
 * `slim run` and `slim assess` on a generated collection of which 40 % of the responses are duplicates.
 *
 * The limit for a run is the work that it cannot avoid: scanning everything once on two threads, and copying the bytes
 * that remain. The limit for an assessment is the scan alone. Times are elapsed times; every run works on a fresh copy.
 */

import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { slimAssess } from '../src/slim/index.ts';
import { scanFiles } from '../src/warc/index.ts';
import { median, print, ratio } from './measure.ts';
import { writeSampleWarc } from './sample-warc.ts';
import { pathsIn, runOn, WORKERS } from './slim-run.ts';

const RUNS = 5;
const FILES = 8;

/** Argument: megabytes of the collection (1000 for the documented bar). */
export async function benchSlim(argv: readonly string[]): Promise<void> {
  const megabytes = Number(argv[0] ?? 200);
  const runs = Number(argv[1] ?? RUNS);
  const base = join(tmpdir(), 'pinakes-bench');
  const source = join(base, `slim-${megabytes}`);
  await makeCollection(source, megabytes);
  const copy = join(base, 'slim-copy');
  const output = join(base, 'slim-output');
  const bytes = pathsIn(source).reduce((sum, path) => sum + statSync(path).size, 0);

  const scan: number[] = [];
  const limit: number[] = [];
  const run: number[] = [];
  const assess: number[] = [];
  let summary = '';
  for (let round = 0; round < runs; round++) {
    fresh(source, copy);
    const scanSeconds = await elapsed(() => scanAll(pathsIn(source)));
    scan.push(scanSeconds);
    assess.push(await elapsed(() => assessAll(source)));
    run.push(
      await elapsed(async () => {
        summary = await runOn(copy);
      }),
    );
    rmSync(output, { recursive: true, force: true });
    mkdirSync(output);
    limit.push(scanSeconds + (await elapsed(async () => copyWithCp(pathsIn(copy), output))));
  }
  fresh(source, copy);
  const memory = residentMemory(copy);
  rmSync(copy, { recursive: true, force: true });
  rmSync(output, { recursive: true, force: true });
  print(`slim: ${(bytes / 1e6).toFixed(0)} MB in ${FILES} files, ${runs} alternating runs, medians`);
  print(`  ${summary}`);
  print(`  scan, two workers             ${median(scan).toFixed(2)} s`);
  print(`  scan + cp of the output       ${median(limit).toFixed(2)} s`);
  print(`  slim run                      ${median(run).toFixed(2)} s`);
  print(`  ratio                         ${ratio(limit, run)}   (bar 0.5)`);
  print(`  slim assess                   ${median(assess).toFixed(2)} s`);
  print(`  ratio to the scan             ${ratio(scan, assess)}   (bar 0.9)`);
  print(`  resident memory of a run      ${memory} MB in a process of its own   (bar 700)`);
}

async function makeCollection(directory: string, megabytes: number): Promise<void> {
  if (existsSync(directory)) return;
  const making = `${directory}.making`;
  rmSync(making, { recursive: true, force: true });
  mkdirSync(making, { recursive: true });
  for (let file = 0; file < FILES; file++) {
    const options = { bytes: (megabytes * 1e6) / FILES, seed: 1 + file * 10, duplicates: 0.4 };
    await writeSampleWarc(join(making, `sample-${file}.warc.gz`), options);
  }
  cpSync(making, directory, { recursive: true });
  rmSync(making, { recursive: true });
}

function fresh(source: string, copy: string): void {
  rmSync(copy, { recursive: true, force: true });
  cpSync(source, copy, { recursive: true });
}

async function scanAll(paths: readonly string[]): Promise<void> {
  for await (const _ of scanFiles(paths, { workers: WORKERS }));
}

async function assessAll(directory: string): Promise<void> {
  await slimAssess({
    files: pathsIn(directory).map((path) => ({ path, bytes: statSync(path).size })),
    sample: 1,
    algorithm: 'sha256',
    workers: WORKERS,
    directory: join(tmpdir(), 'pinakes-bench', 'assess'),
    onFinding: () => {},
    onFailure: (error) => {
      throw error;
    },
  });
}

function copyWithCp(paths: readonly string[], output: string): void {
  const { status } = spawnSync('cp', [...paths, output]);
  if (status !== 0) throw new Error('the bench needs cp');
}

/** The peak memory, in megabytes, of a separate process that slims the directory. */
function residentMemory(directory: string): string {
  const child = fileURLToPath(new URL('slim-child.ts', import.meta.url));
  const { stdout } = spawnSync(process.execPath, [child, directory], { encoding: 'utf8' });
  return Number(stdout).toFixed(0);
}

async function elapsed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
}
