/**
 * Compares a catalog with MemoryCatalog: both get the same random commits, leases and segments, and then the same
 * questions. Now and then the catalog is closed and opened again. `PINAKES_SEED=<seed>` repeats a run.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { seededRandom } from '../../src/base/index.ts';
import {
  ADOPTION_LEASE,
  type Bar,
  type BlockKey,
  type Capture,
  type Catalog,
  type CommitGroup,
  type CommitOutcome,
  type Lease,
  type Mark,
  MemoryCatalog,
  type NewBlock,
  type NewCapture,
  type SegmentChange,
} from '../../src/catalog/index.ts';
import { all, type CatalogUnderTest } from './catalog-fixture.ts';
import { CatalogWorld } from './catalog-world.ts';

const RUNS = 4;
const STEPS = 60;
/** Segments that exist from the beginning. All captures are in them, and are not in segments that are listed later. */
const SEGMENTS = 4;

/** So long a lease does not end during a test. */
const LIFE_MS = 1e9;

/** Mostly commits that a check does not refuse, since they are made of what the model has. */
class GroupWorld extends CatalogWorld {
  readonly leases: Lease[] = [];
  #commits = 0;

  /** Few hashes, so that captures are often the same. */
  override capture(): Capture {
    return { ...super.capture(), hash: this.below(3), place: { ...this.place(), segment: 1 + this.below(SEGMENTS) } };
  }

  async group(model: MemoryCatalog): Promise<CommitGroup> {
    const captures = await all(model.captures({}));
    const blocks = await all(model.blocks());
    const known = () => (captures.length > 0 && this.below(4) > 0 ? this.pick(captures) : this.capture());
    const key = () => (blocks.length > 0 && this.below(3) > 0 ? this.pick(blocks).key : this.blockKey());
    const referent = () => {
      const block = this.pick(blocks);
      return this.below(8) > 0 ? block : { ...block, holder: this.place() };
    };
    const isDeleting = this.below(3) === 0;
    const isCompacting = this.below(3) === 0;
    const isEdge = this.below(4) === 0;
    return {
      ...(this.below(6) > 0 && { id: `commit ${this.below(8) > 0 ? ++this.#commits : this.#commits}` }),
      ...(this.below(4) > 0 && this.#lease()),
      segments: this.below(3) > 0 ? await this.#segmentChanges(model) : [],
      referents: blocks.length > 0 ? this.some(2, referent) : [],
      ...(isDeleting && {
        deletions: this.some(4, known).map((now) => {
          // Seen before its content was found.
          const capture = this.below(6) === 0 ? { ...now, block: undefined } : now;
          return { capture, mark: markOf(capture) };
        }),
        removeCaptures: this.some(1, known),
      }),
      ...(isCompacting && {
        moves: distinct(this.some(4, known)).map((from) => ({ from, to: this.#moved(from) })),
        holderMoves: distinctKeys(this.some(3, key)).map((moved) => ({
          key: moved,
          from: blocks.find((block) => idOf(block.key) === idOf(moved))?.holder ?? this.place(),
          to: this.place(),
        })),
        removeSurplus: this.some(1, () => ({ segment: 1 + this.below(SEGMENTS), offset: this.below(6) * 100 })),
      }),
      ...(isEdge && {
        deletedMarks: this.some(1, () => markOf(this.capture())),
        bars: this.below(8) === 0 ? this.some(1, () => this.#bar()) : [],
        dead: this.some(2, () => ({ ...this.capture().place, block: this.below(2) ? this.blockKey() : undefined })),
        surplus: this.some(1, () => ({ ...this.capture().place, block: this.blockKey() })).map(
          ({ length: _, ...record }) => record,
        ),
        sweep: this.some(2, key),
        keepsUnreferenced: this.below(3) === 0,
      }),
      blocks: this.some(3, (): NewBlock => {
        const { holder } = this.block();
        // Mostly of the same size, so that few groups have another content under the key of a block.
        const size = this.below(20) === 0 ? 2000 : 1000;
        const isDistinct = this.below(20) === 0;
        return { key: key(), size, holder, isDistinct, ...(this.below(4) === 0 && { isSpare: true }) };
      }),
      captures: this.some(5, () => this.#newCapture(known)),
      aliases: this.some(2, () => this.alias()),
      removeAliases: this.some(1, () => this.alias()),
      putNotes: this.below(2) === 0 ? { [`note/${this.below(3)}`]: String(this.below(100)) } : {},
      removeNotes: this.some(1, () => `note/${this.below(3)}`),
    };
  }

  #newCapture(known: () => Capture): NewCapture {
    const capture = this.below(4) === 0 ? { ...known(), place: this.capture().place } : this.capture();
    if (this.below(2) === 0) return { capture };
    return { capture, marks: [markOf(capture), ...(capture.block ? [markOf({ ...capture, block: undefined })] : [])] };
  }

  /** Mostly the lease that was taken last, which is often living. */
  #lease(): Pick<CommitGroup, 'lease'> {
    if (this.leases.length === 0) return {};
    return { lease: this.below(6) > 0 ? this.leases[0]! : this.pick(this.leases) };
  }

  #moved(from: Capture): Capture {
    const place = this.capture().place;
    return this.below(3) === 0 ? { ...from, place, kind: 'response', block: this.blockKey() } : { ...from, place };
  }

  #bar(): Bar {
    if (this.below(2) === 0) return { kind: 'content', digest: this.digest() };
    return { kind: 'url', urlKey: this.capture().urlKey };
  }

  async #segmentChanges(model: MemoryCatalog): Promise<SegmentChange[]> {
    const segments = await model.segments();
    if (segments.length === 0) return [];
    const { number, state, bytes, volume } = this.pick(segments);
    const from = this.below(10) === 0 ? { state, bytes: bytes + 1, volume } : { state, bytes, volume };
    if (this.below(12) === 0) return [{ number, from, to: undefined }];
    const more = { bytes: bytes + this.below(100), records: this.below(50) };
    const to = this.pick<NonNullable<SegmentChange['to']>>([
      more,
      more,
      { ...more, parts: [{ name: `part ${this.below(9)}`, offset: bytes }] },
      { state: 'sealing' },
      { state: 'sealed', volume: 'other' },
      { roots: [{ name: 'root', sequence: this.below(9) }] },
      ...this.leases.slice(0, 1).map((lease) => ({ lease })),
    ]);
    return [{ number, from, to }];
  }

  /** A change that is not a commit. All random choices are made here, so that both catalogs make the same change. */
  change(incarnation: number): (catalog: Catalog) => Promise<unknown> {
    const name = this.pick(['writer 1', 'writer 2', ADOPTION_LEASE]);
    const lease: Lease =
      this.leases.length > 0 ? this.pick(this.leases) : { name: 'writer 1', epoch: this.below(3), incarnation: 1 };
    const lifeMs = this.below(2) === 0 ? LIFE_MS : undefined;
    const segment = { volume: 'main', name: `s${this.below(6)}`, collection: 1 };
    const isWithLease = this.below(3) > 0;
    const sequence = this.below(4) === 0 ? this.below(20) : undefined;
    const collection = `collection ${this.below(3)}`;
    const take = async (catalog: Catalog) => {
      const taken = await catalog.takeLease(name, 'holder', lifeMs);
      if (taken && !this.leases.some((known) => known.name === taken.name && known.epoch === taken.epoch))
        this.leases.unshift(taken);
      return taken;
    };
    const list = (catalog: Catalog) => catalog.listSegment({ ...segment, sequence }, isWithLease ? lease : undefined);
    const isRare = this.below(10) === 0;
    return this.pick<(catalog: Catalog) => Promise<unknown>>([
      take,
      take,
      list,
      list,
      (catalog) => catalog.renewLease(lease, LIFE_MS),
      (catalog) => (isRare ? catalog.endLease(lease) : catalog.leases().then((rows) => rows.length)),
      (catalog) => catalog.collectionNumber(collection),
      (catalog) => (isRare ? catalog.beginIncarnation(incarnation + 1) : catalog.incarnation()),
      (catalog) => catalog.endAdoption(lease),
    ]);
  }
}

function distinct(captures: readonly Capture[]): Capture[] {
  return [...new Map(captures.map((capture) => [captureIdOf(capture), capture])).values()];
}

function distinctKeys(keys: readonly BlockKey[]): BlockKey[] {
  return [...new Map(keys.map((key) => [idOf(key), key])).values()];
}

function captureIdOf({ urlKey, time, place }: Capture): string {
  return `${time} ${place.segment} ${place.offset} ${urlKey}`;
}

function idOf(key: BlockKey): string {
  return `${Buffer.from(key.digest).toString('hex')} ${key.overflow}`;
}

/** A mark over what identifies a capture (C5). */
function markOf({ collection, urlKey, time, hash, block }: Capture): Mark {
  const identity = JSON.stringify([collection, urlKey, time, hash, block && idOf(block)]);
  return new Uint8Array(createHash('sha256').update(identity).digest().subarray(0, 16));
}

/** A block that was lost has other references while a commit is being made than after it. */
function comparable(outcome: CommitOutcome): unknown {
  if (outcome.kind !== 'committed') return outcome;
  return { ...outcome, lost: outcome.lost.map(({ references: _, ...block }) => block) };
}

/** Everything that a catalog can be asked for without a question. */
async function contentsOf(catalog: Catalog) {
  const segments = await catalog.segments();
  const numbers = [1, 2, 3, 4, 5, 6];
  const leases = await catalog.leases();
  const bars = await catalog.bars();
  return {
    captures: await all(catalog.captures({})),
    blocks: await all(catalog.blocks()),
    segments,
    notes: await catalog.notes(),
    totals: await catalog.totals(),
    dead: await Promise.all(numbers.map((number) => catalog.deadRecords(number))),
    surplus: await Promise.all(numbers.map((number) => catalog.surplusRecords(number))),
    bars: bars.map((bar) => JSON.stringify(bar)).sort(),
    leases: leases.map(({ name, epoch, holder, isLiving }) => `${name} ${epoch} ${holder} ${isLiving}`).sort(),
    incarnation: await catalog.incarnation(),
    isAdopting: await catalog.isAdopting(),
  };
}

async function compareWithModel(
  seed: number,
  subject: CatalogUnderTest,
  { endsLeases }: CatalogModelOptions,
): Promise<Record<string, number>> {
  let catalog = await subject.open();
  const world = new GroupWorld(seededRandom(seed));
  const model = new MemoryCatalog({ clock: () => 0 });
  const outcomes: Record<string, number> = {};
  for (let number = 0; number < SEGMENTS; number++) {
    const segment = { volume: 'main', name: `s${number}`, collection: 1 };
    assert.deepEqual(await catalog.listSegment(segment), await model.listSegment(segment));
  }
  for (let step = 0; step < STEPS; step++) {
    const where = `seed ${seed}, step ${step}`;
    await using modelView = await model.view();
    await using view = await catalog.view();
    for (let count = world.below(3); count > 0; count--) {
      const change = world.change(await model.incarnation());
      const wanted = await change(model);
      assert.deepEqual(await change(catalog), wanted, where);
    }
    const group = await world.group(model);
    const outcome = await model.commit(group);
    assert.deepEqual(comparable(await catalog.commit(group)), comparable(outcome), where);
    const name = outcome.kind === 'fenced' ? `fenced ${outcome.why}` : outcome.kind;
    outcomes[name] = (outcomes[name] ?? 0) + 1;
    assert.deepEqual(await contentsOf(catalog), await contentsOf(model), where);
    const marks = world.some(3, () => markOf(world.capture()));
    assert.deepEqual(await catalog.findDeleted(marks), await model.findDeleted(marks), where);
    const captures = world.some(3, () => world.capture());
    assert.deepEqual(await catalog.findBarred(captures), await model.findBarred(captures), where);
    const segment = `s${world.below(6)}`;
    assert.deepEqual(await catalog.segmentByName(segment), await model.segmentByName(segment), where);
    for (let count = 0; count < 3; count++) {
      const ask = world.question();
      assert.deepEqual(await ask(catalog), await ask(model), where);
      assert.deepEqual(await ask(view), await ask(modelView), `${where}, in a view`);
    }
    if (world.below(12) > 0) continue;
    await view[Symbol.asyncDispose]();
    await catalog.close();
    catalog = await subject.open();
    if (endsLeases) for (const lease of model.livingLeases()) model.expireLease(lease);
  }
  await catalog.close();
  return outcomes;
}

export type CatalogModelOptions = {
  /** Whether leases end with the process that has the catalog open. */
  readonly endsLeases: boolean;
};

/** Registers the comparison. `make` makes a new, empty catalog. */
export function catalogModel(name: string, make: () => Promise<CatalogUnderTest>, options: CatalogModelOptions): void {
  test(`a ${name} gives the same outcomes and answers as a MemoryCatalog`, async (t) => {
    const given = process.env.PINAKES_SEED;
    const seeds = given ? [Number(given)] : Array.from({ length: RUNS }, () => Math.floor(Math.random() * 2 ** 32));
    t.diagnostic(`seeds ${seeds.join(' ')}`);
    for (const seed of seeds) {
      const subject = await make();
      t.diagnostic(JSON.stringify(await compareWithModel(seed, subject, options)));
      await subject.dispose();
    }
  });
}
