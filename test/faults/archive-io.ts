/**
 * One changing operation of a volume fails while an archive stores, adds, deletes, compacts and recompresses. The call
 * fails with an error and the archive continues. All acknowledged captures are there in the same process, in the next
 * one, and after a rebuild.
 *
 * The works come in two sizes. The small ones make every kind of change with few calls, so that every run of the tests
 * can let each change fail in turn. The large ones make the same changes more often, with more segments and more
 * captures around them.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Archive, createArchive, type DeleteReport, VolumeSet } from '../../src/archive/index.ts';
import { PinakesError, seededRandom } from '../../src/base/index.ts';
import { MemoryCatalog } from '../../src/catalog/index.ts';
import { CHANGES, type Effect, FaultyVolume, openMemoryVolume } from '../../src/volume/index.ts';
import { response, revisitOf, warcinfo, writeForeign } from '../archive/foreign-file.ts';
import { openWithParts } from '../archive/opened-parts.ts';
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

/** Small enough that each work fills more than one segment. */
const SEGMENT_BYTES: Readonly<Record<Size, number>> = { small: 4000, large: 9000 };

const SETTING = { name: 'main', kind: 'directory', path: 'volumes/main', writable: true } as const;

type Outcome = {
  readonly there: Set<number>;
  readonly gone: Set<number>;
  readonly unsure: Set<number>;
  failures: unknown[];
};

export type Size = 'small' | 'large';
type Work = (archive: Archive, file: string, size: Size) => Promise<Outcome>;

/** Runs calls of a work, records which of them fail, and continues. */
function begin(archive: Archive) {
  const outcome: Outcome = { there: new Set(), gone: new Set(), unsure: new Set(), failures: [] };
  const attempt = async (numbers: readonly number[], target: Set<number>, call: () => Promise<unknown>) => {
    try {
      const report = await call();
      // A deletion that found nothing proves nothing about a store with an unknown outcome.
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

/**
 * Every kind of change to captures that are stored one by one. Contents repeat every forty captures, so that a deleted
 * capture leaves another one that refers to its record.
 */
const ofStores: Work = async (archive, _, size) => {
  const { outcome, store, group, remove, compact } = begin(archive);
  const isLarge = size === 'large';
  for (const from of isLarge ? [0, 4, 8, 40, 44, 48] : [0, 40]) await group(from);
  for (const number of isLarge ? [0, 1, 2, 3, 4, 41] : [0, 41]) await remove(number);
  await compact();
  for (const number of isLarge ? [60, 61, 80, 81] : [80]) await store(number);
  for (const number of isLarge ? [5, 40, 42] : [40]) await remove(number);
  await compact();
  return outcome;
};

/** The same for captures that are added with a file, which has revisits of another crawler. */
const ofFiles: Work = async (archive, file, size) => {
  const { outcome, attempt, store, group, remove, compact } = begin(archive);
  await (size === 'large' ? group(60) : store(60));
  const add = () => archive.add([file], { collection: 'c0', workers: size === 'large' ? 1 : 0 });
  await attempt([100, 140, 180], outcome.there, add);
  if (outcome.failures.length > 0) await attempt([100, 140, 180], outcome.there, add);
  for (const number of [60, 100]) await remove(number);
  await compact();
  return outcome;
};

/** Recompression before and after deletions, of segments with contents that other captures share. */
const ofPacking: Work = async (archive, _, size) => {
  const { outcome, store, group, remove, compact, recompress } = begin(archive);
  await group(0);
  await (size === 'large' ? group(40) : store(40));
  await recompress();
  for (const number of size === 'large' ? [0, 41] : [0]) await remove(number);
  for (const number of size === 'large' ? [4, 80] : [80]) await store(number);
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

/**
 * Repeats a work and lets its first change fail, then its second, and so on. Returns the number of changes that failed.
 */
export async function failChanges(effect: (typeof EFFECTS)[number], workName: string, size: Size): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-io-'));
  try {
    await createArchive(directory, { policies: { segmentBytesMax: SEGMENT_BYTES[size] } });
    const original = response(trialOf(100).url, trialOf(100).time, bodyOf(trialOf(100)));
    const file = await writeForeign(join(directory, 'foreign.warc.gz'), [
      warcinfo(),
      original,
      ...[140, 180].map((number) => revisitOf(original, trialOf(number).url, trialOf(number).time)),
    ]);
    for (let nth = 1; ; nth++) {
      try {
        const work = (archive: Archive) => WORKS[workName]!(archive, file, size);
        if (!(await failChange(directory, effect, work, nth))) return nth - 1;
      } catch (error) {
        throw new Error(`the change number ${nth} of the ${size} work ${workName} failed with ${effect}`, {
          cause: error,
        });
      }
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** False when the work makes fewer changes than `nth`. */
async function failChange(
  directory: string,
  effect: (typeof EFFECTS)[number],
  work: (archive: Archive) => Promise<Outcome>,
  nth: number,
): Promise<boolean> {
  const random = seededRandom(nth);
  const inner = openMemoryVolume('main');
  const catalog = new MemoryCatalog({ clock: () => 0 });
  const open = (volume: FaultyVolume, options: TrialOptions) =>
    openWithParts(directory, trialOptions({ volumes: VolumeSet.of([{ setting: SETTING, volume }]), ...options }));
  const faulty = new FaultyVolume(inner, random, [{ nth, on: CHANGES, effect }]);
  const archive = await open(faulty, { catalog, seed: nth });
  const outcome = await work(archive);
  const hasFired = faulty.fired.length > 0;
  if (!hasFired) assert.deepEqual(outcome.failures, []);
  for (const error of outcome.failures)
    assert.ok(error instanceof PinakesError, `a failure that is not a PinakesError: ${String(error)}`);
  if (effect === 'power-loss') await faulty.crash();
  else await compare(archive, outcome);
  await archive.close();
  const reopened = async (kept: MemoryCatalog) => {
    const again = await open(new FaultyVolume(inner, random), { catalog: kept, seed: nth + 1000 });
    await compare(again, outcome);
    assert.deepEqual(await audit(again), []);
    return again;
  };
  const next = await reopened(catalog);
  // Half of the changes are tested with a new catalog, the other half with the next process. The two effects alternate,
  // so every change is tested both ways.
  if ((nth + EFFECTS.indexOf(effect)) % 2 === 0) {
    await next.close();
    // As if the disk with the catalog was lost.
    await (await reopened(new MemoryCatalog({ clock: () => 0 }))).close();
    return hasFired;
  }
  const before = await answers(next);
  await next.rebuild();
  assert.deepEqual(await answers(next), before);
  await next.compact();
  await compare(next, outcome);
  assert.deepEqual(await audit(next), []);
  await next.close();
  return hasFired;
}
