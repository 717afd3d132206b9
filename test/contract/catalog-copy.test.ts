/** A copy of a catalog has everything, from LevelDB to PostgreSQL and back. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { seededRandom } from '../../src/base/index.ts';
import {
  type Catalog,
  type CopyableCatalog,
  copyCatalog,
  type FillOptions,
  openLevelCatalog,
  openPostgresCatalog,
} from '../../src/catalog/index.ts';
import { all, capture, everythingIn } from './catalog-fixture.ts';
import { CatalogWorld } from './catalog-world.ts';
import { noPostgres, PostgresServer } from './postgres-server.ts';

const STEPS = 60;

/** Makes rows of every kind. */
async function populate(catalog: Catalog, seed: number): Promise<void> {
  const world = new CatalogWorld(seededRandom(seed));
  for (let number = 0; number < 4; number++)
    await catalog.listSegment({ volume: 'main', name: `s\0${number}`, collection: 1, sequence: number * 3 + 1 });
  const lease = (await catalog.takeLease('writer', 'test'))!;
  const open = (await catalog.listSegment(
    { volume: 'other', name: 'open', collection: 2, roots: [{ name: 'r', sequence: 4 }] },
    lease,
  ))!;
  const from = { state: 'open', bytes: 0, volume: 'other' } as const;
  const to = { bytes: 90, records: 1, parts: [{ name: 'p', offset: 0 }] };
  await catalog.commit({ id: 'commit', lease, segments: [{ number: open.number, from, to }] });
  await catalog.endLease(lease);
  for (let step = 0; step < STEPS; step++) {
    const block = () => {
      const key = world.blockKey();
      return { key, size: 100 + key.digest[0]! + 7 * key.overflow, holder: world.place() };
    };
    await catalog.commit({
      captures: world.some(5, () => ({ capture: world.capture() })),
      blocks: world.some(3, block),
      aliases: world.some(2, () => world.alias()),
      dead: world.some(2, () => ({
        ...world.place(),
        segment: 1 + world.below(4),
        block: world.below(2) ? world.blockKey() : undefined,
      })),
      surplus: world.some(2, () => ({
        segment: 1 + world.below(4),
        offset: world.below(90) * 1000 + 7,
        block: world.blockKey(),
      })),
      deletedMarks: world.some(2, () => new Uint8Array(16).fill(world.below(256))),
      putNotes: { [`note/${world.below(9)}`]: `text ${step} \u4e2d\0` },
      keepsUnreferenced: true,
    });
  }
  await catalog.collectionNumber('one');
  await catalog.commit({
    bars: [
      { kind: 'content', digest: world.digest() },
      { kind: 'url', urlKey: world.capture().urlKey },
    ],
  });
  await catalog.beginIncarnation(3);
}

async function everything(catalog: CopyableCatalog) {
  await using contents = await catalog.contents();
  const segments = await catalog.segments();
  return {
    ...(await everythingIn(catalog)),
    dead: await Promise.all(segments.map(({ number }) => catalog.deadRecords(number))),
    surplus: await Promise.all(segments.map(({ number }) => catalog.surplusRecords(number))),
    aliases: (await all(contents.aliases())).map((alias) => JSON.stringify(alias)).sort(),
    deleted: (await all(contents.deletedMarks())).map((mark) => Buffer.from(mark).toString('hex')).sort(),
    bars: (await catalog.bars()).map((bar) => JSON.stringify(bar)).sort(),
    numbers: await contents.numbers(),
    epochs: (await catalog.leases()).map(({ name, epoch, isLiving }) => `${name} ${epoch} ${isLiving}`).sort(),
  };
}

describe('a copy of a catalog', { skip: noPostgres }, () => {
  let server: PostgresServer;
  let directory: string;
  let places = 0;
  before(async () => {
    server = await PostgresServer.start();
    directory = mkdtempSync(join(tmpdir(), 'pinakes-copy-'));
  });
  after(async () => {
    await server.dispose();
    rmSync(directory, { recursive: true });
  });
  const onLevel = () => openLevelCatalog(join(directory, `level${++places}`), { clock: () => 0 });
  const onPostgres = (schema = `copy${++places}`) => openPostgresCatalog({ url: server.url, schema });

  test('has everything, on PostgreSQL and back on LevelDB', async (t) => {
    const seed = Number(process.env.PINAKES_SEED ?? Math.floor(Math.random() * 2 ** 32));
    t.diagnostic(`seed ${seed}`);
    const [level, postgres, back] = [await onLevel(), await onPostgres(), await onLevel()];
    await populate(level, seed);
    const sum = await copyCatalog(level, postgres);
    for (const [table, { rows }] of Object.entries(sum)) assert.ok(rows > 0, table);
    const wanted = await everything(level);
    assert.deepEqual(await everything(postgres), wanted);
    assert.deepEqual(await copyCatalog(postgres, back), sum);
    assert.deepEqual(await everything(back), wanted);
    for (const catalog of [postgres, back]) {
      assert.equal((await catalog.takeLease('writer', 'test'))!.epoch, 2);
      const listed = await catalog.listSegment({ volume: 'main', name: 'new', collection: 1 });
      assert.deepEqual([listed!.number, listed!.sequence], [wanted.numbers.segment, wanted.numbers.sequence]);
      assert.equal(
        (await catalog.commit({ captures: [{ capture: capture('http://new.example/') }] })).kind,
        'committed',
      );
      assert.equal((await catalog.totals()).captures, wanted.totals.captures + 1);
    }
    await Promise.all([level, postgres, back].map((catalog) => catalog.close()));
  });

  test('goes only into an empty catalog, and one that is interrupted leaves it empty', async () => {
    const [level, postgres] = [await onLevel(), await onPostgres('interrupted')];
    await populate(level, 1);
    const stop = new AbortController();
    const options: FillOptions = {
      signal: stop.signal,
      onProgress: (table) => {
        if (table === 'aliases') stop.abort(new Error('stopped'));
      },
    };
    await assert.rejects(copyCatalog(level, postgres, options));
    assert.equal((await postgres.totals()).captures, 0);
    assert.deepEqual(await postgres.segments(), []);
    await copyCatalog(level, postgres);
    await assert.rejects(copyCatalog(level, postgres), { code: 'ARCHIVE_EXISTS' });
    assert.deepEqual(await everything(postgres), await everything(level));
    // The indexes are there, under the names by which migrations know them.
    const indexes = await postgres.database!.query(
      `select indexname from pg_indexes where schemaname = 'interrupted' and tablename in ('captures', 'blocks') order by 1`,
    );
    assert.deepEqual(
      indexes.map(({ indexname }) => indexname),
      ['blocks_pkey', 'captures_of_content', 'captures_of_mark', 'captures_pkey'],
    );
    await Promise.all([level.close(), postgres.close()]);
  });

  test('that differs is refused', async () => {
    const [level, postgres] = [await onLevel(), await onPostgres('differs')];
    await populate(level, 2);
    const database = postgres.database!;
    const { fill } = postgres;
    postgres.fill = async (contents, options) => {
      await fill.call(postgres, contents, options);
      await database.query(
        'update differs.captures set status = status + 1 where ctid = (select min(ctid) from differs.captures)',
      );
    };
    await assert.rejects(copyCatalog(level, postgres), { code: 'CATALOG_DAMAGED' });
    await Promise.all([level.close(), postgres.close()]);
  });
});
