/**
 * Random runs of a full verification beside stores, deletions and compaction. A sound archive never has a problem,
 * whenever the verification meets it. A real damage is always found. VERIFY_SEED repeats one run.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Archive, Problem } from '../../src/archive/index.ts';
import { PinakesError, type Random, seededRandom } from '../../src/base/index.ts';
import type { Capture, Segment } from '../../src/catalog/index.ts';
import { catalogOf } from './opened-parts.ts';
import { allCaptures, contentOf, makeArchive, NOON, page } from './trial-archive.ts';

const SEED = Number(process.env.VERIFY_SEED ?? Math.floor(Math.random() * 1e9));
const RUNS = 4;
/** Few records fit into a segment, so that there are always sealed ones. */
const POLICIES = { segmentBytesMax: 20_000 };
const CONTENTS = 40;
const KEPT = 60;
const VERIFICATIONS = 3;

test('a verification beside stores, deletions and compaction has no false problem', async (t) => {
  for (const [seed, random] of seeds(t)) {
    const archive = await filled(t, seed, random);
    const writers = new Writers(archive, random);
    const problems: Problem[] = [];
    await writers.beside(async () => {
      for (let count = 0; count < VERIFICATIONS; count++) problems.push(...(await verify(archive)));
    });
    problems.push(...(await verify(archive)));
    assert.deepEqual(problems, [], `seed ${seed}`);
    assert.ok(writers.stores > 0 && writers.deletions > 0 && writers.compactions > 0, `seed ${seed}`);
  }
});

const DAMAGES: Record<string, (archive: Archive, random: Random) => Promise<void>> = {
  'a changed byte in a sealed segment': changeByte,
  'a capture that the catalog lost': loseCapture,
};

for (const [name, damage] of Object.entries(DAMAGES))
  test(`${name} is found beside stores, deletions and compaction`, async (t) => {
    for (const [seed, random] of seeds(t)) {
      const archive = await filled(t, seed, random);
      const writers = new Writers(archive, random);
      await writers.beside(async () => {
        for (let rest = Math.floor(random() * 20); rest > 0; rest--) await setImmediate();
        await damage(archive, random);
        const errors = (await verify(archive)).filter(({ level }) => level === 'error');
        assert.notDeepEqual(errors, [], `seed ${seed}`);
      });
    }
  });

function* seeds(t: TestContext): Generator<[number, Random]> {
  const runs = process.env.VERIFY_SEED ? 1 : RUNS;
  for (let run = 0; run < runs; run++) {
    t.diagnostic(`seed ${SEED + run}`);
    yield [SEED + run, seededRandom(SEED + run)];
  }
}

/** An archive with captures that stay, below http://kept.test/, and others that may be deleted. */
async function filled(t: TestContext, seed: number, random: Random): Promise<Archive> {
  const archive = await makeArchive(t, { seed, policies: POLICIES });
  const content = () => contentOf(`content ${Math.floor(random() * CONTENTS)}`);
  const stores: Promise<unknown>[] = [];
  for (let n = 0; n < KEPT; n++) {
    stores.push(archive.store(page(`http://kept.test/${n}`, NOON + n, content())));
    stores.push(archive.store(page(`http://gone.test/${n}`, NOON + n, content())));
  }
  await Promise.all(stores);
  return archive;
}

class Writers {
  stores = 0;
  deletions = 0;
  compactions = 0;
  readonly #archive: Archive;
  readonly #random: Random;
  #isEnding = false;

  constructor(archive: Archive, random: Random) {
    this.#archive = archive;
    this.#random = random;
  }

  /** Stores, deletes and compacts until the work is done, and for a while before it begins. */
  async beside(work: () => Promise<void>): Promise<void> {
    const writing = Promise.all([this.#store(), this.#store(), this.#delete(), this.#compact()]);
    try {
      while (this.compactions === 0) await Promise.race([setImmediate(), writing]);
      await work();
    } finally {
      this.#isEnding = true;
      await writing;
    }
  }

  async #store(): Promise<void> {
    while (!this.#isEnding) {
      const n = this.stores++;
      const content = contentOf(`content ${Math.floor(this.#random() * CONTENTS * 2)}`);
      await this.#archive.store(page(`http://gone.test/new/${n % 50}`, NOON + 1000 + n, content));
    }
  }

  async #delete(): Promise<void> {
    while (!this.#isEnding) {
      const isNew = this.#random() < 0.7;
      const n = Math.floor(this.#random() * (isNew ? 50 : KEPT));
      await this.#archive.delete({ url: `http://gone.test/${isNew ? 'new/' : ''}${n}` });
      this.deletions++;
    }
  }

  async #compact(): Promise<void> {
    while (!this.#isEnding) {
      // A segment with a damaged record is not compacted.
      await this.#archive.compact().catch((error: unknown) => {
        if (!(error instanceof PinakesError)) throw error;
      });
      this.compactions++;
      await setImmediate();
    }
  }
}

async function verify(archive: Archive): Promise<Problem[]> {
  const problems: Problem[] = [];
  await archive.verify({ depth: 'full', onProblem: (problem) => void problems.push(problem) });
  return problems;
}

/** Changes a byte in the compressed payload of a capture that stays. Again, if a compaction replaced the segment. */
async function changeByte(archive: Archive, random: Random): Promise<void> {
  for (;;) {
    const { place } = await aKeptCapture(archive, random, ({ state }) => state === 'sealed');
    const { name } = (await archive.segments()).find(({ number }) => number === place.segment)!;
    const path = join(archive.directory, 'volumes/main', name);
    const bytes = readFileSync(path);
    // The first half of a member may be its head, in which not every byte has a meaning.
    const at = place.offset + Math.floor(place.length * (0.5 + random() * 0.45));
    bytes[at]! ^= 1 << Math.floor(random() * 8);
    writeFileSync(path, bytes);
    if ((await archive.segments()).some((segment) => segment.name === name)) return;
  }
}

/** Removes the row of a capture that stays. Its record is not deleted. */
async function loseCapture(archive: Archive, random: Random): Promise<void> {
  const capture = await aKeptCapture(archive, random, () => true);
  await catalogOf(archive).commit({ removeCaptures: [capture] });
}

async function aKeptCapture(
  archive: Archive,
  random: Random,
  isWanted: (segment: Segment) => boolean,
): Promise<Capture> {
  const segments = new Map((await archive.segments()).map((segment) => [segment.number, segment]));
  const kept = (await allCaptures(archive)).filter(({ url, place }) => {
    const segment = segments.get(place.segment);
    return url.startsWith('http://kept.test/') && segment !== undefined && isWanted(segment);
  });
  return kept[Math.floor(random() * kept.length)]!;
}
