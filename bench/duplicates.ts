/**
 * What it costs to store contents that the archive has already, with eight volumes against one volume. The archives
 * have the same contents, and take turns. Processor time is that of this process with all of its threads.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Archive, createArchive, openArchive } from '../src/archive/index.ts';
import { median, print, ratio } from './measure.ts';

const RUNS = 15;
const CONTENTS = 4000;
const VOLUMES = 8;
/** The number of stores that run at the same time. */
const TOGETHER = [500, 64, 1];
/** Fewer stores in a turn when each has a commit of its own. */
const STORES_OF_ONE = 400;

type Way = { readonly title: string; readonly volumes: number; readonly distribution: 'uniform' | 'hash' };
type Times = { readonly wall: number[]; readonly processor: number[] };

const WAYS: readonly Way[] = [
  { title: 'one volume', volumes: 1, distribution: 'uniform' },
  { title: `${VOLUMES} volumes, uniform`, volumes: VOLUMES, distribution: 'uniform' },
  { title: `${VOLUMES} volumes, hash`, volumes: VOLUMES, distribution: 'hash' },
];

export async function benchDuplicates(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-bench-duplicates-'));
  const archives: Archive[] = [];
  try {
    for (const [index, way] of WAYS.entries()) archives.push(await filledArchive(join(directory, `${index}`), way));
    print(`duplicates: contents of 1 KB that the archive has, ${RUNS} alternating runs, medians, against one volume`);
    for (const together of TOGETHER) await benchTogether(archives, together);
  } finally {
    for (const archive of archives) await archive.close();
    rmSync(directory, { recursive: true });
  }
}

async function benchTogether(archives: readonly Archive[], together: number): Promise<void> {
  const stores = together === 1 ? STORES_OF_ONE : CONTENTS;
  const times: Times[] = archives.map(() => ({ wall: [], processor: [] }));
  for (const archive of archives) await storeContents(archive, stores, together);
  for (let run = 0; run < RUNS; run++) {
    // Each archive comes first equally often.
    for (let turn = 0; turn < archives.length; turn++) {
      const at = (turn + run) % archives.length;
      globalThis.gc?.();
      const before = process.cpuUsage();
      const begun = performance.now();
      await storeContents(archives[at]!, stores, together);
      times[at]!.wall.push((performance.now() - begun) / 1000);
      const { user, system } = process.cpuUsage(before);
      times[at]!.processor.push((user + system) / 1e6);
    }
  }
  const [one, ...others] = times as [Times, ...Times[]];
  print(`  ${together} at a time`);
  for (const [index, way] of others.entries()) {
    const bar = WAYS[index + 1]!.distribution === 'uniform' ? '   (bar at most 1.05)' : '';
    print(
      `    ${WAYS[index + 1]!.title.padEnd(20)} processor time ${ratio(way.processor, one.processor)}, time ${ratio(way.wall, one.wall)}${bar}`,
    );
  }
  const each = (values: readonly number[]) => ((median(values) / stores) * 1e6).toFixed(0);
  print(`    a store with one volume takes ${each(one.processor)} us of processor time, ${each(one.wall)} us`);
}

async function filledArchive(directory: string, { volumes, distribution }: Way): Promise<Archive> {
  await createArchive(directory, { policies: { distribution } });
  const archive = await openArchive(directory, {
    clock: Date.now,
    newId: () => `<urn:uuid:${crypto.randomUUID()}>`,
    stopwatch: () => performance.now(),
    purpose: 'bench',
  });
  for (let number = 2; number <= volumes; number++)
    await archive.addVolume({ name: `v${number}`, path: join(directory, `volumes/v${number}`) });
  await storeContents(archive, CONTENTS, CONTENTS);
  return archive;
}

/** Stores the first contents, some at a time. */
async function storeContents(archive: Archive, stores: number, together: number): Promise<void> {
  for (let start = 0; start < stores; start += together) {
    await Promise.all(
      Array.from({ length: Math.min(together, stores - start) }, (_, index) =>
        archive.store({
          kind: 'bytes',
          time: 1_700_000_000_000,
          body: Buffer.from(`content ${start + index} `.repeat(90)),
        }),
      ),
    );
  }
}
