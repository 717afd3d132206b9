/**
 * Slims a collection on a disk that is too small for a second copy of its file, then again with enough space, and
 * prints the results as JSON.
 *
 * Arguments: a directory on the small disk, a sample to copy there, and the number of bytes to leave free. With 0, the
 * journal is on the small disk too, where it does not fit.
 */
import { copyFileSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { equal, type PinakesError } from '../../src/base/index.ts';
import { slimRun } from '../../src/slim/index.ts';
import { runOptions } from './slim-options.ts';

export type SmallDisk = {
  readonly codes: readonly string[];
  /** True if the file was unchanged after the failure. */
  readonly isIntact: boolean;
  readonly revisitsAfterwards: number;
};

async function main(directory: string, sample: string, freeBytes: number): Promise<SmallDisk> {
  const file = join(directory, 'one.warc.gz');
  copyFileSync(sample, file);
  const original = readFileSync(file);
  // The ballast leaves less free space than the new file needs.
  const { bavail, bsize } = statfsSync(directory);
  const ballast = join(directory, 'ballast');
  writeFileSync(ballast, Buffer.alloc(bavail * bsize - freeBytes, 1));
  // With the journal on another disk, only the writing of the new file fails.
  const workDirectory = freeBytes > 0 ? `${sample}-work` : join(directory, '.work');
  const { options, failures } = runOptions(directory, { workDirectory });
  await slimRun(options).catch((error: PinakesError) => failures.push(error));
  const isIntact = equal(readFileSync(file), original);
  rmSync(ballast);
  const summary = await slimRun(runOptions(directory, { workDirectory }).options);
  return { codes: failures.map(({ code }) => code), isIntact, revisitsAfterwards: summary.revisits };
}

if (import.meta.main)
  process.stdout.write(JSON.stringify(await main(process.argv[2]!, process.argv[3]!, Number(process.argv[4]))));
