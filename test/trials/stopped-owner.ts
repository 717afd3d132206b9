/** Stops the owner of a bucket before every one of its requests: see test/archive/stopped-owner.ts. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { STOPPED_IN, stopAfter } from '../archive/stopped-owner.ts';

export async function tryStoppedOwners(argv: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...argv], options: { in: { type: 'string' } } });
  for (const kind of values.in?.split(',') ?? Object.keys(STOPPED_IN)) {
    const made = await stop(kind, Number.POSITIVE_INFINITY);
    for (let requests = 0; requests < made; requests++) {
      await stop(kind, requests).catch((cause: unknown) => {
        throw new Error(`stopped in ${kind} after ${requests} requests`, { cause });
      });
    }
    process.stdout.write(`${kind}: stopped before each of ${made} requests\n`);
  }
}

async function stop(kind: string, requests: number): Promise<number> {
  const root = await mkdtemp(join(tmpdir(), 'pinakes-stopped-'));
  let machines = 0;
  try {
    const newDirectory = async () => mkdtemp(join(root, `machine-${machines++}-`));
    return await stopAfter({ newDirectory, kind, requests });
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}
