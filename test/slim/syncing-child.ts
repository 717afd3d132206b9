/**
 * Brings a second copy in step and prints a line for every progress step, so that the parent test can choose the moment
 * of the kill.
 *
 * Arguments: the directory of the slimmed collection, and that of the second copy.
 */
import { slimSync } from '../../src/slim/index.ts';
import { syncOptions } from './slim-options.ts';

async function main(slimmed: string, second: string): Promise<void> {
  const { options, failures } = syncOptions(slimmed, second, {
    onProgress: (phase) => process.stdout.write(`${phase}\n`),
  });
  const report = await slimSync(options);
  if (failures.length > 0) throw failures[0];
  process.stdout.write(`${JSON.stringify(report)}\n`);
}

if (import.meta.main) await main(process.argv[2]!, process.argv[3]!);
