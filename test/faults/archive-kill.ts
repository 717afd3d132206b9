/**
 * Kills a process that works on an archive at a random moment, opens the archive, and compares it with a simple model:
 * acknowledged captures are there, deleted captures stay deleted, and a call in progress is complete or has no effect.
 * Then the next process continues with the same archive.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { type Archive, createArchive, dropCatalog, openArchive } from '../../src/archive/index.ts';
import { type Clock, PinakesError, type Random, seededIds, seededRandom } from '../../src/base/index.ts';
import { allCaptures, answers, audit, bytesOf } from '../archive/trial-archive.ts';
import { bodyOf, numberOf, trialOf } from './trial.ts';

/** Enough for about twenty calls. More calls would only enlarge the archive that is checked after every kill. */
const AFTER_MS_MAX = 300;

/** The known state of a capture. `open`: a call that stores or deletes the capture was in progress. */
type State = 'there' | 'gone' | 'open';

/** What the lines of writers say that an archive must have. */
export class WriterModel {
  readonly states = new Map<number, State>();
  next = 0;
  acknowledged = 0;

  /** A kill can cut off the last line, and an incomplete number would be another capture. */
  takeAll(lines: readonly string[]): void {
    for (const line of lines)
      if (/^(begin|done) (put|remove|compact|recompress|rebuild)( \d+)* ?$/.test(line)) this.#take(line);
  }

  #take(line: string): void {
    const [step, kind, ...texts] = line.split(' ');
    const numbers = texts.filter((text) => text !== '').map(Number);
    for (const number of numbers) this.next = Math.max(this.next, number + 1);
    if (step === 'done') this.acknowledged++;
    for (const number of numbers) {
      if (kind === 'put') this.states.set(number, step === 'done' ? 'there' : 'open');
      // A removal can begin before the store of the same capture was acknowledged. Then the outcome of the removal is
      // the later one.
      if (kind === 'remove') this.states.set(number, step === 'done' ? 'gone' : 'open');
    }
  }

  /** Compares the archive with the model, and learns the outcome of the calls in progress. */
  async compare(archive: Archive): Promise<void> {
    const captures = await allCaptures(archive);
    const found = new Map(captures.map((capture) => [numberOf(capture.url), capture]));
    const doubled = captures.flatMap((capture) => (found.get(numberOf(capture.url)) === capture ? [] : [capture.url]));
    assert.deepEqual(doubled, [], 'captures are there twice');
    for (const [number, state] of this.states) {
      if (state === 'there') assert.ok(found.has(number), `capture ${number} was acknowledged and is lost`);
      if (state === 'gone') assert.ok(!found.has(number), `capture ${number} was deleted and is back`);
      this.states.set(number, found.has(number) ? 'there' : 'gone');
    }
    for (const [number, capture] of found) {
      assert.ok(this.states.has(number), `capture ${number} was never stored`);
      const payload = await bytesOf((await archive.open(capture)).payload);
      assert.ok(payload.equals(bodyOf(trialOf(number))), `capture ${number} has another content`);
    }
  }
}

/** Runs a child, kills it, and returns the lines that it printed. */
async function runAndKill(directory: string, seed: number, first: number, afterMs: number): Promise<string[]> {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'archive-child.ts'), directory, String(seed), String(first)],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let errors = '';
  child.stderr.on('data', (data: Buffer) => {
    errors += data.toString();
  });
  const ended = new Promise<NodeJS.Signals | null>((resolve) => child.once('close', (_, signal) => resolve(signal)));
  const lines: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    if (line === 'open') void setTimeout(afterMs).then(() => child.kill('SIGKILL'));
    else lines.push(line);
  }
  assert.equal(await ended, 'SIGKILL', `the child ended by itself: ${errors}`);
  return lines;
}

/** An unfinished rebuild is reported at the opening. Then the catalog is rebuilt, as the advice of the error says. */
export async function reopen(
  directory: string,
  random: Random,
  lines: readonly string[],
  clock: Clock = Date.now,
): Promise<Archive> {
  const options = { clock, newId: seededIds(random) };
  try {
    return await openArchive(directory, options);
  } catch (error) {
    const isUnfinished = error instanceof PinakesError && error.code === 'CATALOG_DAMAGED';
    if (!isUnfinished || !lines.at(-1)?.startsWith('begin rebuild')) throw error;
    await dropCatalog(directory);
    return openArchive(directory, options);
  }
}

export type KillReport = { rounds: number; acknowledged: number; captures: number };

export async function killRounds(
  rounds: number,
  seed: number,
  tell: (text: string) => void = () => {},
): Promise<KillReport> {
  const random = seededRandom(seed);
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-kill-'));
  const model = new WriterModel();
  try {
    await createArchive(directory, { policies: { segmentBytesMax: 20_000 } });
    for (let round = 0; round < rounds; round++) {
      const afterMs = Math.floor(random() * AFTER_MS_MAX);
      const lines = await runAndKill(directory, seed + round, model.next, afterMs);
      model.takeAll(lines);
      try {
        const archive = await reopen(directory, random, lines);
        try {
          await model.compare(archive);
          assert.deepEqual(await audit(archive), []);
          assert.equal((await archive.verify()).errors, 0);
          if (round % 4 === 3 || round === rounds - 1) {
            const before = await answers(archive);
            await archive.rebuild();
            assert.deepEqual(await answers(archive), before, 'a rebuild changes the answers');
            assert.deepEqual(await audit(archive), []);
          }
        } finally {
          await archive.close();
        }
      } catch (error) {
        throw new Error(`seed ${seed}, round ${round}, after: ${lines.slice(-5).join('; ')}`, { cause: error });
      }
      tell(`round ${round}: killed after ${afterMs} ms, ${model.acknowledged} calls acknowledged so far`);
    }
    const captures = [...model.states.values()].filter((state) => state === 'there').length;
    return { rounds, acknowledged: model.acknowledged, captures };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
