/** Runs `slim` on a directory, with the options of the bench. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { slimRun } from '../src/slim/index.ts';

export const WORKERS = 2;

export function pathsIn(directory: string): string[] {
  const names = readdirSync(directory).filter((name) => name.endsWith('.warc.gz'));
  return names.sort().map((name) => join(directory, name));
}

export async function runOn(directory: string): Promise<string> {
  const summary = await slimRun({
    inputs: pathsIn(directory).map((path) => ({ path, root: directory })),
    workDirectory: join(directory, '.work'),
    algorithm: 'sha256',
    verify: 'digest',
    minSavingBytes: 1,
    workers: WORKERS,
    clock: Date.now,
    software: 'pinakes/bench',
    onFinding: () => {},
    onFailure: (error) => {
      throw error;
    },
  });
  const { records, duplicates, revisits, bytesBefore, bytesAfter } = summary;
  return `${records} records, ${duplicates} duplicates, ${revisits} revisits, ${bytesBefore} bytes before, ${bytesAfter} after`;
}
