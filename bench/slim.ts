/**
 * `slim run` and `slim assess` on a generated collection of which 40 % of the responses are duplicates.
 *
 * The limit for a run is what it cannot do without: scanning everything once on two threads, and copying as many bytes as it leaves. The limit for
 * an assessment is the scan alone. Elapsed time; every run works on a fresh copy.
 */

import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { slimAssess, slimRun } from '../src/slim/index.ts';
import { scanFiles } from '../src/warc/index.ts';
import { median, print, ratio } from './measure.ts';
import { writeSampleWarc } from './sample-warc.ts';

const RUNS = 5;
const FILES = 8;
const WORKERS = 2;

/** Argument: megabytes of the collection (1000 for the stated bar). */
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
  print(`  resident memory at most       ${(process.resourceUsage().maxRSS / 1e3).toFixed(0)} MB   (bar 700)`);
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

function pathsIn(directory: string): string[] {
  const names = readdirSync(directory).filter((name) => name.endsWith('.warc.gz'));
  return names.sort().map((name) => join(directory, name));
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

async function runOn(directory: string): Promise<string> {
  const summary = await slimRun({
    inputs: pathsIn(directory).map((path) => ({ path, root: directory })),
    workDirectory: join(directory, '.work'),
    algorithm: 'sha256',
    verify: 'digest',
    minSavingBytes: 1,
    workers: WORKERS,
    clock: Date.now,
    software: 'pinakes/bench',
    onFinding: () => {},
    onFailure: (error) => {
      throw error;
    },
  });
  const { records, duplicates, revisits, bytesBefore, bytesAfter } = summary;
  return `${records} records, ${duplicates} duplicates, ${revisits} revisits, ${bytesBefore} bytes before, ${bytesAfter} after`;
}

function copyWithCp(paths: readonly string[], output: string): void {
  const { status } = spawnSync('cp', [...paths, output]);
  if (status !== 0) throw new Error('the bench needs cp');
}

async function elapsed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
}
