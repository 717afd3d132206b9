/**
 * Slims a collection in place and prints a line for every progress step, so that the parent test can choose the moment
 * of the kill.
 *
 * Arguments: the directory of the collection, and the one for old files.
 */
import { slimRun } from '../../src/slim/index.ts';
import { runOptions } from './slim-options.ts';

async function main(directory: string, keptDirectory: string): Promise<void> {
  const { options, failures } = runOptions(directory, {
    keptDirectory,
    workers: 2,
    checkpointBytes: 10_000,
    prefixDigits: 1,
    onProgress: (phase) => process.stdout.write(`${phase}\n`),
  });
  const summary = await slimRun(options);
  if (failures.length > 0) throw failures[0];
  process.stdout.write(`${JSON.stringify(summary)}\n`);
}

if (import.meta.main) await main(process.argv[2]!, process.argv[3]!);
