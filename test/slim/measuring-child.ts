/** Slims the collection in a directory in place, and prints the summary and the peak memory as JSON. */
import { slimRun } from '../../src/slim/index.ts';
import { runOptions } from './slim-options.ts';

if (import.meta.main) {
  const { options, failures } = runOptions(process.argv[2]!);
  const summary = await slimRun(options);
  if (failures.length > 0) throw failures[0];
  process.stdout.write(JSON.stringify({ summary, memoryBytes: process.resourceUsage().maxRSS * 1024 }));
}
