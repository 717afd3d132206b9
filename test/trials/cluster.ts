/** A cluster whose machines fail: see test/cluster/cluster-trial.ts. */
import { parseArgs } from 'node:util';
import { ClusterTrial } from '../cluster/cluster-trial.ts';

export async function tryCluster(argv: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      captures: { type: 'string', default: '100000' },
      events: { type: 'string', default: '100' },
      seed: { type: 'string' },
    },
  });
  const seed = Number(values.seed ?? Math.floor(Math.random() * 1e9));
  const options = { captures: Number(values.captures), events: Number(values.events), seed };
  process.stdout.write(`${JSON.stringify(options)}\n`);
  const report = await ClusterTrial.run(options, (line) => process.stdout.write(`${line}\n`));
  process.stdout.write(`${JSON.stringify({ seed, ...report })}\n`);
}
