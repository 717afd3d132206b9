/** Many rounds of killed and stopped writers on a bucket: see test/faults/zombie-round.ts. */
import { parseArgs } from 'node:util';
import { zombieRounds } from '../faults/zombie-round.ts';

export async function tryZombies(argv: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...argv],
    options: { rounds: { type: 'string', default: '100' }, seed: { type: 'string' } },
  });
  const seed = Number(values.seed ?? Math.floor(Math.random() * 1e9));
  const report = await zombieRounds(Number(values.rounds), seed, (line) => process.stdout.write(`${line}\n`));
  process.stdout.write(`${JSON.stringify({ seed, ...report })}\n`);
}
