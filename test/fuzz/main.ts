/**
 * Damages sound files at random and reads them. There must be no exception, no endless loop and no loss of undamaged
 * records, and memory must be bounded.
 *
 *     npm run fuzz -- --runs 100000 --processes 3000 --seed 1 [--kind records|pages|files] [--keep DIRECTORY]
 *
 * All `--runs` of a kind are in one process, so that its memory is that of one reader. Most runs damage WARC and ARC
 * files and read their records, a quarter damage pages, and some add files to an archive. `--processes` are runs of the
 * program itself and uploads, bombs first. `--kind` runs only this kind. `--keep` writes the input of every failure to
 * a file.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { limitHeapGrowth, limitYoungSpace } from '../../src/base/index.ts';
import { runAddCampaign } from './add-campaign.ts';
import { type Failure, runCampaign } from './campaign.ts';
import { runPageCampaign } from './page-campaign.ts';
import { runProcessCampaign } from './process-campaign.ts';

const RESIDENT_BYTES_MAX = 400 * 1024 * 1024;
const SHARES = { records: 0.7, pages: 0.25, files: 0.05 } as const;
type Kind = keyof typeof SHARES;

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '100000' },
    processes: { type: 'string', default: '3000' },
    seed: { type: 'string', default: '1' },
    kind: { type: 'string' },
    keep: { type: 'string' },
  },
});
const seed = Number(values.seed);
const runs = Number(values.runs);
console.log(`seed ${seed}, ${runs} runs, ${values.processes} processes`);
let failed = 0;
// The program sets the same limit.
limitHeapGrowth();
limitYoungSpace();

/** Runs each kind with its share of the runs, in a separate process. */
function runKinds(): void {
  for (const [kind, share] of Object.entries(SHARES)) {
    const args = [
      '--kind',
      kind,
      '--runs',
      String(Math.round(runs * share)),
      '--processes',
      '0',
      '--seed',
      String(seed),
    ];
    if (values.keep !== undefined) args.push('--keep', values.keep);
    const { status } = spawnSync(process.execPath, [import.meta.filename, ...args], { stdio: 'inherit' });
    if (status !== 0) failed++;
  }
}

function printResult(kind: Kind | 'processes', done: number, failures: readonly Failure[], started: number): void {
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const peak = Math.round(process.resourceUsage().maxRSS / 1024);
  console.log(
    `${kind}: ${done} inputs, ${seconds} s, ${failures.length} failures, at most ${peak} MiB in this process so far`,
  );
  for (const { seed: at, input, damages, fault, bytes } of failures) {
    const again =
      kind === 'processes'
        ? `--runs 0 --processes ${values.processes} --seed ${seed}`
        : `--kind ${kind} --runs 1 --processes 0 --seed ${at}`;
    console.log(`\nnpm run fuzz -- ${again}\n  ${[input, ...damages, fault].join('\n  ')}`);
    if (values.keep !== undefined) writeFileSync(join(values.keep, `fuzz-${kind}-${at}.bin`), bytes);
  }
  failed += failures.length;
}

async function runKind(kind: Kind): Promise<void> {
  const started = performance.now();
  if (kind === 'records') {
    const { runs: done, failures, findings } = await runCampaign(seed, runs);
    printResult(kind, done, failures, started);
    for (const [code, count] of [...findings].sort((a, b) => b[1] - a[1])) console.log(`  ${code} ${count}`);
  } else {
    const run = kind === 'pages' ? runPageCampaign : runAddCampaign;
    const { runs: done, failures } = await run(seed, runs);
    printResult(kind, done, failures, started);
  }
  const residentBytes = process.resourceUsage().maxRSS * 1024;
  if (residentBytes <= RESIDENT_BYTES_MAX) return;
  console.log(`this process took ${Math.round(residentBytes / 1024 ** 2)} MiB`);
  failed++;
}

const isKind = (kind: string): kind is Kind => Object.hasOwn(SHARES, kind);

if (values.kind === undefined) {
  if (runs > 0) runKinds();
} else if (isKind(values.kind)) await runKind(values.kind);
else throw new Error(`--kind is one of ${Object.keys(SHARES).join(', ')}`);

const started = performance.now();
const processes = await runProcessCampaign(seed, Number(values.processes));
if (processes.runs > 0) printResult('processes', processes.runs, processes.failures, started);
for (const [way, { bytes, input }] of processes.peaks)
  console.log(`  ${way}: at most ${Math.round(bytes / 1024 ** 2)} MiB, with ${input}`);
process.exitCode = failed > 0 ? 1 : 0;
