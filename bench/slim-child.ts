/** Slims the given directory, and prints the peak memory in megabytes. */
import { runOn } from './slim-run.ts';

await runOn(process.argv[2]!);
process.stdout.write(String(process.resourceUsage().maxRSS / 1000));
