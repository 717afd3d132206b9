/** Takes a content down in a larger archive with a mirror, and prints figures. Argument: pages (default 20,000). */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { takeDownEverywhere } from '../archive/takedown-everywhere.ts';

export async function tryTakedowns([pages = '20000']: readonly string[]): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-mirror-'));
  try {
    console.log(JSON.stringify(await takeDownEverywhere(directory, Number(pages), 20_000_000), undefined, 2));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
