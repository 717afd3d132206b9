/**
 * A catalog on a real PostgreSQL beside the catalog of a simulated world. Each call is made on both, as one step of the
 * schedule, and the answers must be equal; the processes get those of PostgreSQL. So the ledger's real code drives the
 * database through the same schedules, and the judge looks at the world's catalog.
 *
 * Time is the world's: a lease on PostgreSQL has no end, and is ended by SQL when it ends in the world.
 */
import { deepStrictEqual } from 'node:assert';
import {
  type CatalogContents,
  type CatalogView,
  type CopyableCatalog,
  type Lease,
  type LeaseRow,
  MemoryCatalog,
  type SavedCatalog,
} from '../../src/catalog/index.ts';
import type { World } from './world.ts';

/** So long no lease on PostgreSQL ends by itself. */
const LIFE_MS = 1e10;

const ASKED = [
  'findBlocks',
  'getBlocks',
  'countReferences',
  'findAliases',
  'findCaptures',
  'capturesOf',
  'nearest',
  'segments',
  'segment',
  'segmentByName',
  'notes',
  'totals',
  'findDeleted',
  'findBarred',
  'bars',
  'deadRecords',
  'surplusRecords',
  'incarnation',
  'isAdopting',
] as const;
const PAGED = ['captures', 'blocks', 'notePages'] as const;
const CHANGED = ['commit', 'listSegment', 'collectionNumber', 'endAdoption', 'endLease', 'beginIncarnation'] as const;

type Call = (...values: unknown[]) => Promise<unknown>;
type Calls = Record<string, Call>;
type Pages = Record<string, (...values: unknown[]) => AsyncIterable<unknown[]>>;

/** Puts PostgreSQL beside the catalog of the world, with the same contents. The catalog is emptied first. */
export async function joinPostgres(world: World, postgres: CopyableCatalog): Promise<void> {
  const { query } = postgres.database!;
  const { schema } = postgres.database!;
  await query(`truncate ${schema}.captures, ${schema}.blocks, ${schema}.segments, ${schema}.notes, ${schema}.leases`);
  await query(`update ${schema}.counters set next = 1`);
  await query(`update ${schema}.state set incarnation = 1, is_adopting = false`);
  await postgres.fill(new SavedContents(world.catalog.save()));
  for (const { name, isLiving } of await world.catalog.leases())
    if (isLiving) await query(`update ${schema}.leases set expires = 'infinity' where name = $1`, [name]);
  world.twin = twinOf(world.catalog, postgres);
}

function twinOf(memory: MemoryCatalog, postgres: CopyableCatalog): MemoryCatalog {
  const { query, schema } = postgres.database!;
  /** Ends the leases that have ended in the world. */
  const endLeases = async () => {
    const rows = await query(`select name from ${schema}.leases where expires > clock_timestamp()`);
    const living = memory.livingLeases();
    for (const { name } of rows)
      if (!living.includes(String(name)))
        await query(`update ${schema}.leases set expires = clock_timestamp() where name = $1`, [name]);
  };
  const both = async (name: string, own: readonly unknown[], given: readonly unknown[] = own) => {
    await endLeases();
    const wanted = await (memory as unknown as Calls)[name]!(...own);
    const found = await (postgres as unknown as Calls)[name]!(...given);
    assertSame(name, comparable(found), comparable(wanted));
    return found;
  };
  const calls: Record<string, unknown> = { ...readingBoth(memory, postgres) };
  for (const name of CHANGED) calls[name] = (...values: unknown[]) => both(name, values);
  calls.takeLease = (name: string, holder: string, lifeMs?: number) =>
    both('takeLease', [name, holder, lifeMs], [name, holder]);
  calls.renewLease = (lease: Lease, lifeMs: number) => both('renewLease', [lease, lifeMs], [lease, LIFE_MS]);
  calls.leases = async () => {
    await endLeases();
    const [wanted, found] = [await memory.leases(), await postgres.leases()];
    const named = (rows: readonly LeaseRow[]) =>
      rows.map(({ name, epoch, isLiving }) => `${name} ${epoch} ${isLiving}`);
    assertSame('leases', named(found).sort(), named(wanted).sort());
    return wanted;
  };
  for (const name of ['view', 'longView'] as const)
    calls[name] = async () => {
      const [own, other] = [await memory[name](), await postgres[name]()];
      return { ...readingBoth(own, other), [Symbol.asyncDispose]: () => other[Symbol.asyncDispose]() };
    };
  return new Proxy(memory, {
    get: (target, name) => {
      const call = calls[name as string];
      if (call) return call;
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function readingBoth(memory: CatalogView, postgres: CatalogView): Record<string, unknown> {
  const calls: Record<string, unknown> = {};
  for (const name of ASKED)
    calls[name] = async (...values: unknown[]) => {
      if (!(name in memory)) return undefined;
      const wanted = await (memory as unknown as Calls)[name]!(...values);
      const found = await (postgres as unknown as Calls)[name]!(...values);
      assertSame(name, comparable(found), comparable(wanted));
      return found;
    };
  for (const name of PAGED)
    calls[name] = async function* (...values: unknown[]) {
      const all = async (pages: AsyncIterable<unknown[]>) => {
        const rows: unknown[] = [];
        for await (const page of pages) rows.push(...page);
        return rows;
      };
      const wanted = await all((memory as unknown as Pages)[name]!(...values));
      const found = await all((postgres as unknown as Pages)[name]!(...values));
      assertSame(name, comparable(found), comparable(wanted));
      if (found.length > 0) yield found;
    };
  return calls;
}

function assertSame(name: string, found: unknown, wanted: unknown): void {
  deepStrictEqual(found, wanted, `PostgreSQL answers otherwise to ${name}`);
}

/** Without what two right catalogs need not have in common. */
function comparable(answer: unknown): unknown {
  return JSON.parse(
    JSON.stringify(answer ?? null, (name, value: unknown) => {
      if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
      if (name === 'references' || value === null) return undefined;
      if (typeof value !== 'object' || Array.isArray(value)) return value;
      return Object.fromEntries(Object.entries(value as object).sort(([one], [other]) => (one < other ? -1 : 1)));
    }) ?? 'null',
  ) as unknown;
}

/** The contents of a saved catalog, for a copy. */
class SavedContents extends MemoryCatalog implements CatalogContents {
  readonly #saved: SavedCatalog['contents'];

  constructor(state: SavedCatalog) {
    super({ clock: () => 0, state });
    this.#saved = state.contents;
  }

  async *aliases() {
    if (this.#saved.aliases.size > 0) yield [...this.#saved.aliases.values()];
  }

  async *deletedMarks() {
    if (this.#saved.deletedMarks.size > 0)
      yield [...this.#saved.deletedMarks].map((mark) => new Uint8Array(Buffer.from(mark, 'hex')));
  }

  async numbers() {
    const { nextNumber, nextSequence, nextCollection, incarnation, isAdopting } = this.#saved;
    return { segment: nextNumber, sequence: nextSequence, collection: nextCollection, incarnation, isAdopting };
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
