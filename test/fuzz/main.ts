/**
 * Damages sound files at random and reads them: no exception, no endless loop, no record lost that was not touched.
 *
 *     npm run fuzz -- --runs 100000 --seed 1 [--keep DIRECTORY]
 *
 * `--keep` writes the input of every failure to a file.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { reproducer, runCampaign } from './campaign.ts';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '20000' },
    seed: { type: 'string', default: '1' },
    keep: { type: 'string' },
  },
});
const seed = Number(values.seed);
const started = performance.now();
console.log(`seed ${seed}, ${values.runs} runs`);
const { runs, failures, steps, bytes, findings } = runCampaign(seed, Number(values.runs));
const seconds = (performance.now() - started) / 1000;
console.log(`${runs} inputs, ${bytes} bytes, ${steps} steps, ${seconds.toFixed(1)} s, ${failures.length} failures`);
for (const [code, count] of [...findings].sort((a, b) => b[1] - a[1])) console.log(`  ${code} ${count}`);
for (const failure of failures) {
  console.log(`\n${reproducer(failure)}\n  ${failure.input}\n  ${failure.damages.join('\n  ')}\n  ${failure.fault}`);
  if (values.keep !== undefined) writeFileSync(join(values.keep, `fuzz-${failure.seed}.bin`), failure.bytes);
}
process.exitCode = failures.length > 0 ? 1 : 0;
