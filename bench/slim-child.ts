/** Slims the directory it is given, and says how much memory that took at most, in megabytes. */
import { runOn } from './slim-run.ts';

await runOn(process.argv[2]!);
process.stdout.write(String(process.resourceUsage().maxRSS / 1000));
