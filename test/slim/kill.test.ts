/**
 * Kills a run at random, again and again, and resumes it. The result equals that of an uninterrupted run, and no
 * content is missing at any moment.
 *
 * The collection is as small as possible: two files of one compression, one of each other compression, several
 * checkpoints in each. Only the steps of a run matter for a kill, and more records would only repeat the same step.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { digestOf, type Random, seededRandom, toHex } from '../../src/base/index.ts';
import { capturesOf, readAll } from './archived-captures.ts';
import { type SampleFile, writeSampleCollection } from './sample-collection.ts';
import { filesBelow } from './slim-options.ts';

/** `PINAKES_KILLS=500` kills more often, `PINAKES_SEED=n` repeats a run. */
const KILLS = Number(process.env.PINAKES_KILLS ?? 20);
const SEED = Number(process.env.PINAKES_SEED ?? Math.floor(Math.random() * 2 ** 31));
const CHILD = join(import.meta.dirname, 'slimming-child.ts');

const FILES: readonly SampleFile[] = Array.from({ length: 4 }, (_, number) => ({
  name: `part-${number}.warc${['.gz', '', '.zst'][number % 3]}`,
  coding: (['gzip', 'none', 'zstd'] as const)[number % 3]!,
}));

type Ended = { readonly isKilled: boolean; readonly lines: readonly string[]; readonly err: string };

/** Runs the child and kills it after some lines and a moment; without `killAfter` it is not killed. */
async function slim(collection: string, kept: string, killAfter?: number, momentMs = 0): Promise<Ended> {
  const child = spawn(process.execPath, [CHILD, collection, kept], { stdio: ['ignore', 'pipe', 'pipe'] });
  const lines: string[] = [];
  let err = '';
  child.stderr.on('data', (bytes) => {
    err += String(bytes);
  });
  const ended = new Promise<NodeJS.Signals | null>((resolve) => child.once('close', (_, signal) => resolve(signal)));
  if (killAfter === 0) void setTimeout(momentMs * 10).then(() => child.kill('SIGKILL'));
  for await (const line of createInterface(child.stdout)) {
    lines.push(line);
    if (lines.length === killAfter) void setTimeout(momentMs).then(() => child.kill('SIGKILL'));
  }
  return { isKilled: (await ended) === 'SIGKILL', lines, err };
}

/** The files below a directory by name and digest, without journals, which contain the interruptions. */
function imageOf(directory: string): Record<string, string> {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8', withFileTypes: true });
  const files = names.filter((entry) => entry.isFile() && !entry.parentPath.includes('.pinakes-slim'));
  return Object.fromEntries(
    files
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map((path) => [path.slice(directory.length), toHex(digestOf('sha256', readFileSync(path)).bytes)]),
  );
}

/** True if the killed run was already finished. */
function isFinished(collection: string): boolean {
  const journal = join(collection, '.pinakes-slim/run-0001/journal.jsonl');
  return existsSync(journal) && readFileSync(journal, 'utf8').includes('{"kind":"finished"}\n');
}

/** A random moment for the kill: some milliseconds after a line of progress, and each line has the same chance. */
function aim(random: Random, lines: number): { after: number; momentMs: number } {
  return { after: Math.floor(random() * (lines + 1)), momentMs: random() * 40 };
}

test('a run that is killed at random and resumed gives the result of an uninterrupted run', async (t) => {
  t.diagnostic(`seed ${SEED}, ${KILLS} kills`);
  const random = seededRandom(SEED);
  const base = mkdtempSync(join(tmpdir(), 'pinakes-slim-kill-'));
  try {
    const pristine = join(base, 'pristine');
    await writeSampleCollection(pristine, SEED % 1000, { files: FILES, pages: 8, captures: 12 });
    const captures = capturesOf(await readAll(filesBelow(pristine)));

    const collection = join(base, 'collection');
    const kept = join(base, 'kept');
    cpSync(pristine, collection, { recursive: true });
    const unbroken = await slim(collection, kept);
    assert.equal(unbroken.isKilled, false, unbroken.err);
    const expected = { collection: imageOf(collection), kept: imageOf(kept) };
    const summary = unbroken.lines.at(-1);

    let kills = 0;
    const phases = new Map<string, number>();
    while (kills < KILLS) {
      for (const path of [collection, kept]) rmSync(path, { recursive: true, force: true });
      cpSync(pristine, collection, { recursive: true });
      for (let attempt = 0; ; attempt++) {
        const isLast = kills >= KILLS || attempt > 30;
        const { after, momentMs } = aim(random, unbroken.lines.length - 1);
        const ended = isLast ? await slim(collection, kept) : await slim(collection, kept, after, momentMs);
        assert.deepEqual(capturesOf(await readAll(filesBelow(collection))), captures, `after kill ${kills}`);
        if (!ended.isKilled) {
          assert.equal(ended.err, '');
          assert.equal(ended.lines.at(-1), summary);
          break;
        }
        kills++;
        const phase = ended.lines.at(-1) ?? 'start';
        phases.set(phase, (phases.get(phase) ?? 0) + 1);
        if (isFinished(collection)) break;
      }
      assert.deepEqual({ collection: imageOf(collection), kept: imageOf(kept) }, expected);
    }
    t.diagnostic(`killed during ${JSON.stringify(Object.fromEntries(phases))}`);
  } finally {
    rmSync(base, { recursive: true });
  }
});
