/**
 * Runs all tests, or those of the named files (`npm test -- test/archive/add.test.ts`).
 *
 * The tests start hundreds of processes, and each would compile the same sources. With a shared cache of compiled code,
 * they start in a third of the time. Slow files start first, so that no core is idle at the end. The number of files at
 * a time is one more than the number of cores, since many tests wait for disks, browsers and clocks.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';

const ROOT = resolve(import.meta.dirname, '..');
const SOURCES = ['src', 'scripts', 'ui', 'test'].map((directory) => `${directory}/**/*.test.ts`);
/** At most eight, because every browser needs memory. */
const CONCURRENCY = Math.min(availableParallelism() + 1, 8);

/**
 * The slowest files, approximately in order, with files that mostly wait between files that compute. Other files run
 * later. A slow file that is missing here makes the run longer.
 */
const LONGEST = [
  'test/fuzz.test.ts',
  'test/server/slow-clients.test.ts',
  'test/browser/ui-work.test.ts',
  'test/faults/zombie.test.ts',
  'test/crawl/snapshots.test.ts',
  'test/contract/s3-volume-faults.test.ts',
  'test/contents/contents.test.ts',
  'test/faults/archive-io.test.ts',
  'test/browser/attacks.test.ts',
  'test/slim/kill.test.ts',
  'test/faults/archive-kill.test.ts',
  'test/crawl/browser.test.ts',
  'test/archive/takedown.test.ts',
  'test/contents/private-contents.test.ts',
  'test/crawl/kill.test.ts',
  'test/faults/rebalance-kill.test.ts',
  'test/browser/ui-search.test.ts',
  'scripts/build.test.ts',
  'test/contract/directory-volume.test.ts',
  'test/browser/ui-screens.test.ts',
  'test/stream/http.test.ts',
  'test/server/memento.test.ts',
  'test/browser/replay.test.ts',
  'test/slim/large.test.ts',
  'test/journeys/slim-corpora.test.ts',
  'test/server/serve-command.test.ts',
  'test/api/command-line.test.ts',
  'test/archive/recompress.test.ts',
  'test/api/search.test.ts',
  'test/faults/stream-compaction.test.ts',
  'test/crawl/stall.test.ts',
  'test/conformance/index-cdxj-indexer.test.ts',
  'test/stream/ranking.test.ts',
  'test/archive/export.test.ts',
  'test/archive/stream.test.ts',
];

process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/pinakes', import.meta.url));

const named = process.argv.slice(2);
if (named.length > 0) {
  const options = ['--test', `--test-concurrency=${CONCURRENCY}`, '--test-reporter=spec'];
  const files = named.some((argument) => !argument.startsWith('-')) ? named : [...named, ...SOURCES];
  const child = spawn(process.execPath, [...options, ...files], { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  process.exitCode = code ?? 1;
} else {
  const files = [...new Set([...LONGEST, ...globSync(SOURCES, { cwd: ROOT }).sort()])];
  const tests = run({ cwd: ROOT, files: files.map((file) => resolve(ROOT, file)), concurrency: CONCURRENCY });
  tests.on('test:fail', () => {
    process.exitCode = 1;
  });
  tests.compose(spec).pipe(process.stdout);
}
