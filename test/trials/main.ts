/** `npm run trial -- NAME`: runs one trial, a long run by hand; without a name lists all trials. */
import { tryAddMemory } from './add-memory.ts';
import { tryCluster } from './cluster.ts';
import { contentsTrial } from './contents.ts';
import { tryCopies } from './copies.ts';
import { tryCrawlers } from './crawlers.ts';
import { tryGrowth } from './growth.ts';
import { tryTakedowns } from './mirror.ts';
import { tryRebalance } from './rebalance.ts';
import { tryS3Faults } from './s3-faults.ts';
import { tryStoppedOwners } from './stopped-owner.ts';
import { tryZombies } from './zombie.ts';

const TRIALS: Record<string, (argv: readonly string[]) => Promise<void>> = {
  'add-memory': tryAddMemory,
  cluster: tryCluster,
  contents: contentsTrial,
  copies: tryCopies,
  growth: tryGrowth,
  crawlers: tryCrawlers,
  mirror: tryTakedowns,
  rebalance: tryRebalance,
  's3-faults': tryS3Faults,
  'stopped-owner': tryStoppedOwners,
  zombie: tryZombies,
};

const [name = '', ...rest] = process.argv.slice(2);
const trial = TRIALS[name];
if (trial) {
  await trial(rest);
} else {
  process.stdout.write(`trials: ${Object.keys(TRIALS).join(', ')}\nrun one with: npm run trial -- NAME\n`);
  process.exitCode = name === '' ? 0 : 2;
}
