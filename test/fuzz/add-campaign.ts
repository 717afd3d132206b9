/** Adds damaged files to an archive. Every add must finish, and the archive must be sound afterwards. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createArchive, openArchive } from '../../src/archive/index.ts';
import { seededIds, seededRandom } from '../../src/base/index.ts';
import type { Failure } from './campaign.ts';
import { damagedFile } from './file-input.ts';

export type AddCampaign = { readonly runs: number; readonly failures: readonly Failure[] };

const TOGETHER = 50;
const START_MS = Date.UTC(2026, 0, 1);

export async function runAddCampaign(seed: number, runs: number): Promise<AddCampaign> {
  const failures: Failure[] = [];
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-fuzz-'));
  try {
    await createArchive(join(directory, 'archive'), {});
    let now = START_MS;
    const options = { clock: () => (now += 1000), newId: seededIds(seededRandom(seed)) };
    const archive = await openArchive(join(directory, 'archive'), options);
    try {
      for (let run = 0; run < runs && failures.length === 0; run += TOGETHER) {
        const count = Math.min(TOGETHER, runs - run);
        const paths: string[] = [];
        for (let at = 0; at < count; at++) {
          const { name, bytes } = damagedFile(seed + run + at);
          paths.push(join(directory, `${at}-${name}`));
          await writeFile(paths.at(-1)!, bytes);
        }
        try {
          await archive.add(paths);
        } catch (error) {
          failures.push({ ...failed(error), seed: seed + run, input: `${count} files from this seed on` });
        }
      }
    } finally {
      await archive.close();
    }
    // The archive can be opened again with all added captures.
    await (await openArchive(join(directory, 'archive'), options)).close();
  } catch (error) {
    failures.push({ ...failed(error), seed, input: 'the whole archive' });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
  return { runs, failures };
}

function failed(error: unknown): Pick<Failure, 'damages' | 'fault' | 'bytes'> {
  return { damages: [], fault: String((error as Error).stack ?? error), bytes: Buffer.alloc(0) };
}
