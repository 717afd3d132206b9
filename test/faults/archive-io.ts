/**
 * An operation of a volume that changes something fails while an archive stores, adds, deletes, compacts and recompresses: the call says so, it goes
 * on, and what was acknowledged is there, in the same process, in the next one, and after a rebuild.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Archive, createArchive, type DeleteReport, openArchive, VolumeSet } from '../../src/archive/index.ts';
import { PinakesError, seededRandom } from '../../src/base/index.ts';
import { MemoryCatalog } from '../../src/catalog/index.ts';
import { CHANGES, type Effect, FaultyVolume, openMemoryVolume } from '../../src/volume/index.ts';
import { response, revisitOf, warcinfo, writeForeign } from '../archive/foreign-file.ts';
import {
  allCaptures,
  answers,
  audit,
  bytesOf,
  page,
  type TrialOptions,
  trialOptions,
} from '../archive/trial-archive.ts';
import { bodyOf, numberOf, trialOf } from './trial.ts';

const SETTING = { name: 'main', kind: 'directory', path: 'volumes/main', writable: true } as const;

type Outcome = {
  readonly there: Set<number>;
  readonly gone: Set<number>;
  readonly unsure: Set<number>;
  failures: unknown[];
};

type Work = (archive: Archive, file: string) => Promise<Outcome>;

/** Calls that fail are noted; the rest goes on. */
function begin(archive: Archive) {
  const outcome: Outcome = { there: new Set(), gone: new Set(), unsure: new Set(), failures: [] };
  const attempt = async (numbers: readonly number[], target: Set<number>, call: () => Promise<unknown>) => {
    try {
      const report = await call();
      // A deletion that found nothing says nothing about a store whose outcome is not known.
      const found = target === outcome.gone && (report as DeleteReport).captures === 0 ? [] : numbers;
      for (const number of found) {
        outcome.there.delete(number);
        outcome.unsure.delete(number);
        target.add(number);
      }
    } catch (error) {
      outcome.failures.push(error);
      for (const number of numbers) {
        outcome.there.delete(number);
        outcome.unsure.add(number);
      }
    }
  };
  const store = (number: number) => {
    const trial = trialOf(number);
    const input = page(trial.url, trial.time, bodyOf(trial), [`X-Number: ${number}`]);
    return attempt([number], outcome.there, () => archive.store(input, { collection: `c${number % 2}` }));
  };
  const remove = (number: number) =>
    attempt([number], outcome.gone, () => archive.delete({ url: trialOf(number).url }));
  const group = (from: number) => Promise.all([0, 1, 2, 3].map((one) => store(from + one)));
  const compact = () => attempt([], outcome.gone, () => archive.compact());
  const recompress = () => attempt([], outcome.gone, () => archive.recompress({ worthwhileShare: 2 }));
  return { outcome, attempt, store, group, remove, compact, recompress };
}

/** Every kind of change to what comes one by one, some of it more than once. */
const ofStores: Work = async (archive) => {
  const { outcome, store, group, remove, compact } = begin(archive);
  for (const from of [0, 4, 8, 40, 44, 48]) await group(from);
  for (const number of [0, 1, 2, 3, 4, 41]) await remove(number);
  await compact();
  for (const number of [60, 61, 80, 81]) await store(number);
  for (const number of [5, 40, 42]) await remove(number);
  await compact();
  return outcome;
};

/** The same for what comes in a file, with revisits of another crawler in it. */
const ofFiles: Work = async (archive, file) => {
  const { outcome, attempt, group, remove, compact } = begin(archive);
  await group(60);
  const add = () => archive.add([file], { collection: 'c0', workers: 1 });
  await attempt([100, 140, 180], outcome.there, add);
  if (outcome.failures.length > 0) await attempt([100, 140, 180], outcome.there, add);
  for (const number of [60, 100]) await remove(number);
  await compact();
  return outcome;
};

/** Segments that are packed anew, before and after deletions, with contents that others lean on. */
const ofPacking: Work = async (archive) => {
  const { outcome, store, group, remove, compact, recompress } = begin(archive);
  for (const from of [0, 40]) await group(from);
  await recompress();
  for (const number of [0, 41, 4, 80]) await (number < 4 || number === 41 ? remove(number) : store(number));
  await compact();
  await recompress();
  return outcome;
};

async function compare(archive: Archive, outcome: Outcome): Promise<void> {
  const found = new Map((await allCaptures(archive)).map((capture) => [numberOf(capture.url), capture]));
  for (const number of outcome.there) assert.ok(found.has(number), `capture ${number} was acknowledged and is lost`);
  for (const number of outcome.gone) assert.ok(!found.has(number), `capture ${number} was deleted and is there`);
  for (const [number, capture] of found) {
    const payload = await bytesOf((await archive.open(capture)).payload);
    assert.ok(payload.equals(bodyOf(trialOf(number))), `capture ${number} has another content`);
  }
}

export const EFFECTS = ['io-error', 'io-error-after', 'disk-full', 'power-loss'] as const satisfies Effect[];
const WORKS: Readonly<Record<string, Work>> = { stores: ofStores, files: ofFiles, packing: ofPacking };
export const WORK_NAMES: readonly string[] = Object.keys(WORKS);

/** Lets the change number `first` fail, then the one `step` further, and so on to the last; says how many failed. */
export async function failChanges(effect: Effect, workName: string, first: number, step: number): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-io-'));
  try {
    await createArchive(directory, { policies: { segmentBytesMax: 9000 } });
    const original = response(trialOf(100).url, trialOf(100).time, bodyOf(trialOf(100)));
    const file = await writeForeign(join(directory, 'foreign.warc.gz'), [
      warcinfo(),
      original,
      ...[140, 180].map((number) => revisitOf(original, trialOf(number).url, trialOf(number).time)),
    ]);
    for (let fired = 0, nth = first; ; fired++, nth += step) {
      try {
        if (!(await failChange(directory, effect, (archive) => WORKS[workName]!(archive, file), nth))) return fired;
      } catch (error) {
        throw new Error(`the change number ${nth} of the work ${workName} failed with ${effect}`, { cause: error });
      }
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** False when the work makes fewer changes than that. */
async function failChange(
  directory: string,
  effect: Effect,
  work: (archive: Archive) => Promise<Outcome>,
  nth: number,
): Promise<boolean> {
  const random = seededRandom(nth);
  const inner = openMemoryVolume('main');
  const catalog = new MemoryCatalog();
  const open = (volume: FaultyVolume, options: TrialOptions) =>
    openArchive(directory, trialOptions({ volumes: VolumeSet.of([{ setting: SETTING, volume }]), ...options }));
  const faulty = new FaultyVolume(inner, random, [{ nth, on: CHANGES, effect }]);
  const archive = await open(faulty, { catalog, seed: nth });
  const outcome = await work(archive);
  const hasFired = faulty.fired.length > 0;
  if (!hasFired) assert.deepEqual(outcome.failures, []);
  for (const error of outcome.failures)
    assert.ok(error instanceof PinakesError, `a failure that is no PinakesError: ${String(error)}`);
  if (effect === 'power-loss') await faulty.crash();
  else await compare(archive, outcome);
  await archive.close();
  // The next process, with the catalog as it was and, as after the loss of the disk it lay on, without it.
  for (const kept of [catalog, new MemoryCatalog()]) {
    const again = await open(new FaultyVolume(inner, random), { catalog: kept, seed: nth + 1000 });
    await compare(again, outcome);
    assert.deepEqual(await audit(again), []);
    if (kept === catalog) {
      const before = await answers(again);
      await again.rebuild();
      assert.deepEqual(await answers(again), before);
      await again.compact();
      await compare(again, outcome);
      assert.deepEqual(await audit(again), []);
    }
    await again.close();
  }
  return hasFired;
}
