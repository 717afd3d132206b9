/** A rebalance of four volumes and a fifth that is killed again and again: see test/faults/rebalance-kill.ts. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { killRebalances } from '../faults/rebalance-kill.ts';

export async function tryRebalance(argv: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      records: { type: 'string', default: '20000' },
      kills: { type: 'string', default: '6' },
      within: { type: 'string', default: '3000' },
      seed: { type: 'string' },
    },
  });
  const seed = Number(values.seed ?? Math.floor(Math.random() * 1e9));
  const options = { seed, records: Number(values.records), kills: Number(values.kills) };
  const more = { segmentBytesMax: 1_000_000, killWithinMs: Number(values.within) };
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-trial-rebalance-'));
  try {
    process.stdout.write(`seed ${seed}\n`);
    const say = (line: string) => void process.stdout.write(`${line}\n`);
    const report = await killRebalances(join(directory, 'archive'), { ...options, ...more }, say);
    process.stdout.write(`${report.moved} of ${options.records} moved; 1/(n+1) would be ${report.expected}\n`);
    process.stdout.write(`${JSON.stringify(report)}\n`);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
