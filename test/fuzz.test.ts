/** A fuzzing campaign short enough for every test run. `npm run fuzz` runs longer ones. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { runAddCampaign } from './fuzz/add-campaign.ts';
import { type Campaign, type Failure, reproducer, runCampaign } from './fuzz/campaign.ts';
import { runPageCampaign } from './fuzz/page-campaign.ts';

const RUNS = 20_000;
const PAGE_RUNS = 300;
const FILE_RUNS = 50;
const WARM_UP_RUNS = 500;
const HELD_BYTES_MAX = 32 * 1024 * 1024;
const RESIDENT_BYTES_MAX = 160 * 1024 * 1024;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function memory(): { held: number; resident: number } {
  // The memory of buffers is freed in the background. The second collection waits for what the first one started.
  collectGarbage();
  collectGarbage();
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  return { held: heapUsed + arrayBuffers, resident: rss };
}

const SEED = Number(process.env.FUZZ_SEED ?? 20_240_301);

function described({ failures }: Pick<Campaign, 'failures'>, rerun: (failure: Failure) => string = reproducer): string {
  return failures
    .map((failure) => [rerun(failure), failure.input, ...failure.damages, failure.fault].join('\n  '))
    .join('\n');
}

test(`${PAGE_RUNS} damaged pages and ${FILE_RUNS} damaged files are read and added without exception or hang (I10)`, async (context) => {
  context.diagnostic(`seed ${SEED}; set FUZZ_SEED for another`);
  const rerunOf = (kind: string) => (failure: Failure) =>
    `npm run fuzz -- --kind ${kind} --runs 50 --seed ${failure.seed}`;
  const pages = await runPageCampaign(SEED, PAGE_RUNS);
  assert.equal(pages.failures.length, 0, described(pages, rerunOf('pages')));
  const files = await runAddCampaign(SEED, FILE_RUNS);
  assert.equal(files.failures.length, 0, described(files, rerunOf('files')));
});

test(`${RUNS} damaged inputs are read without exception, hang, leak, or loss of undamaged records (I9, I10)`, async (context) => {
  const seed = SEED;
  context.diagnostic(`seed ${seed}; set FUZZ_SEED for another`);
  await runCampaign(seed, WARM_UP_RUNS);
  const before = memory();
  const campaign = await runCampaign(seed, RUNS);
  const after = memory();
  assert.equal(campaign.failures.length, 0, described(campaign));
  assert.equal(campaign.runs, RUNS);
  // Every kind of finding must have occurred, since a fuzzer without effective damage proves nothing.
  for (const code of [
    'content-length-long',
    'content-length-short',
    'garbage-skipped',
    'gzip-crc',
    'gzip-length',
    'head-truncated',
    'member-damaged',
    'member-shared',
    'member-truncated',
    'padding-skipped',
    'record-truncated',
    'trailer-missing',
    'zstd-dictionary-missing',
  ]) {
    assert.ok(campaign.findings.get(code), `${code} was never reported`);
  }
  const growth = { held: after.held - before.held, resident: after.resident - before.resident };
  context.diagnostic(`${campaign.steps} steps; growth in bytes ${JSON.stringify(growth)}`);
  assert.ok(growth.held < HELD_BYTES_MAX, `${growth.held} bytes more are held than before`);
  assert.ok(growth.resident < RESIDENT_BYTES_MAX, `${growth.resident} bytes more are resident than before`);
});
