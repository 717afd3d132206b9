/**
 * Errors of a database that is locked, has another version, or is damaged. Each of them can be cleared and filled
 * again.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ClassicLevel } from 'classic-level';
import { PinakesError } from '../../src/base/index.ts';
import { type Catalog, openLevelCatalog, removeLevelCatalog } from '../../src/catalog/index.ts';
import { all } from './catalog-fixture.ts';
import { numberedBatch } from './numbered-batch.ts';
import { write } from './write-by-commit.ts';

async function withDirectory(act: (directory: string) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-catalog-damage-'));
  try {
    await act(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function fill(directory: string, batches = 20): Promise<void> {
  const catalog = await openLevelCatalog(directory);
  for (let number = 1; number <= batches; number++) await write(catalog, numberedBatch(number));
  await catalog.close();
}

/** Opens the LevelDB database of the catalog directly, without any check. */
async function raw(directory: string, act: (database: ClassicLevel<Buffer, Buffer>) => Promise<void>): Promise<void> {
  const database = new ClassicLevel<Buffer, Buffer>(directory, { keyEncoding: 'buffer', valueEncoding: 'buffer' });
  await database.open();
  await act(database);
  await database.close();
}

function fails(code: string, directory: string): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof PinakesError, String(error));
    assert.equal(error.code, code, error.message);
    assert.equal(error.where, directory);
    if (code !== 'CATALOG_LOCKED') assert.match(error.advice, /pinakes rebuild/);
    return true;
  };
}

async function askEverything(catalog: Catalog): Promise<void> {
  await all(catalog.captures({}));
  await all(catalog.blocks());
  await catalog.segments();
  await catalog.totals();
}

async function openAndAsk(directory: string): Promise<void> {
  const catalog = await openLevelCatalog(directory);
  try {
    await askEverything(catalog);
  } finally {
    await catalog.close();
  }
}

async function canBeMadeAgain(directory: string): Promise<void> {
  await removeLevelCatalog(directory);
  await fill(directory, 1);
  await openAndAsk(directory);
}

const filesOf = (directory: string, pattern: RegExp) =>
  readdirSync(directory)
    .filter((name) => pattern.test(name))
    .map((name) => join(directory, name));

test('an open catalog cannot be opened again or removed', () =>
  withDirectory(async (directory) => {
    const catalog = await openLevelCatalog(directory);
    await write(catalog, numberedBatch(1));
    await assert.rejects(openLevelCatalog(directory), fails('CATALOG_LOCKED', directory));
    await assert.rejects(removeLevelCatalog(directory), fails('CATALOG_LOCKED', directory));
    await askEverything(catalog);
    await catalog.close();
    await openAndAsk(directory);
  }));

test('a catalog of another version is refused and not changed', () =>
  withDirectory(async (directory) => {
    await fill(directory);
    const key = Buffer.from('\0version');
    for (const version of ['1 1', '2 1', '4 2', '5 1', '3 99', 'anything']) {
      await raw(directory, (database) => database.put(key, Buffer.from(version)));
      await assert.rejects(openLevelCatalog(directory), fails('CATALOG_VERSION', directory));
      await raw(directory, async (database) => assert.equal(String(await database.get(key)), version));
    }
    await raw(directory, (database) => database.put(key, Buffer.from('4 1')));
    await openAndAsk(directory);
  }));

test('tables are kept when the file that lists them is missing', () =>
  withDirectory(async (directory) => {
    await fill(directory);
    const before = readdirSync(directory).filter((name) => name !== 'CURRENT');
    rmSync(join(directory, 'CURRENT'));
    await assert.rejects(openLevelCatalog(directory), fails('CATALOG_DAMAGED', directory));
    assert.deepEqual(readdirSync(directory), before);
  }));

test('a missing table is reported as damage', () =>
  withDirectory(async (directory) => {
    await fill(directory);
    await openAndAsk(directory);
    rmSync(filesOf(directory, /\.ldb$/)[0]!);
    await assert.rejects(openAndAsk(directory), fails('CATALOG_DAMAGED', directory));
    await canBeMadeAgain(directory);
  }));

test('a list of tables that is cut short or overwritten is reported as damage', () =>
  withDirectory(async (directory) => {
    await fill(directory);
    const manifest = filesOf(directory, /^MANIFEST-/)[0]!;
    const bytes = readFileSync(manifest);
    writeFileSync(manifest, bytes.fill(0x55));
    await assert.rejects(openAndAsk(directory), fails('CATALOG_DAMAGED', directory));
    await canBeMadeAgain(directory);
  }));

test('a table that was cut in half is reported as damage, at the latest when it is read', () =>
  withDirectory(async (directory) => {
    await fill(directory);
    await openAndAsk(directory);
    const table = filesOf(directory, /\.ldb$/)[0]!;
    truncateSync(table, statSync(table).size >> 1);
    await assert.rejects(openAndAsk(directory), fails('CATALOG_DAMAGED', directory));
    await canBeMadeAgain(directory);
  }));

test('a lost batch between other batches is reported', () =>
  withDirectory(async (directory) => {
    await fill(directory, 600);
    await openAndAsk(directory);
    for (const number of [600, 599, 300, 89]) {
      const key = Buffer.concat([Buffer.from('\0mark'), Buffer.of((number % 512) >> 8, (number % 512) & 255)]);
      let mark: Buffer | undefined;
      await raw(directory, async (database) => {
        mark = await database.get(key);
        await database.del(key);
      });
      await assert.rejects(openLevelCatalog(directory), fails('CATALOG_DAMAGED', directory));
      await raw(directory, (database) => database.put(key, mark!));
      await openAndAsk(directory);
    }
  }));

test('a log torn in its middle is reported, although the later batches are there', () =>
  withDirectory(async (directory) => {
    await fill(directory, 60);
    const log = filesOf(directory, /\.log$/)[0]!;
    const bytes = readFileSync(log);
    assert.ok(bytes.length > 3 * 32_768, 'the log is long enough to have a middle');
    // LevelDB reads logs in blocks of 32 KiB and skips an incomplete one.
    bytes.fill(0, 32_768, 32_768 + 4096);
    writeFileSync(log, bytes);
    await assert.rejects(openAndAsk(directory), fails('CATALOG_DAMAGED', directory));
    await canBeMadeAgain(directory);
  }));

test('a log torn at its end loses the last batches and nothing else', () =>
  withDirectory(async (directory) => {
    await fill(directory, 60);
    const log = filesOf(directory, /\.log$/)[0]!;
    truncateSync(log, statSync(log).size - 10_000);
    const catalog = await openLevelCatalog(directory);
    const captures = await all(catalog.captures({}));
    assert.ok(captures.length > 0 && captures.length < 60 * 40);
    assert.equal((await catalog.totals()).captures, captures.length);
    assert.equal((await catalog.notes()).last, String(captures.length / 40));
    await catalog.close();
  }));

test('a half-cleared catalog is reported as damaged', () =>
  withDirectory(async (directory) => {
    await fill(directory);
    await raw(directory, (database) => database.del(Buffer.from('\0version')));
    await assert.rejects(openLevelCatalog(directory), fails('CATALOG_DAMAGED', directory));
    await canBeMadeAgain(directory);
  }));

test('an unreadable row is reported as damage, with its place', () =>
  withDirectory(async (directory) => {
    await fill(directory);
    for (const table of ['b', 'c']) {
      let row: [Buffer, Buffer] | undefined;
      await raw(directory, async (database) => {
        [row] = await database.iterator({ gte: Buffer.from(table), limit: 1 }).all();
        await database.put(row![0], row![1].subarray(0, row![1].length - 2));
      });
      await assert.rejects(openAndAsk(directory), fails('CATALOG_DAMAGED', directory));
      await raw(directory, (database) => database.put(row![0], row![1]));
      await openAndAsk(directory);
    }
    await raw(directory, async (database) => {
      const [row] = await database.iterator({ gte: Buffer.from('b'), limit: 1 }).all();
      await database.del(row![0]);
    });
    // Reading captures needs no row of blocks. Changing them does.
    const catalog = await openLevelCatalog(directory);
    const removeCaptures = await all(catalog.captures({}));
    await assert.rejects(write(catalog, { removeCaptures }), fails('CATALOG_DAMAGED', directory));
    await catalog.close();
  }));

test('a directory that cannot be created is named in the error', () =>
  withDirectory(async (directory) => {
    const file = join(directory, 'file');
    writeFileSync(file, '');
    await assert.rejects(openLevelCatalog(join(file, 'catalog')), (error) => error instanceof PinakesError);
  }));

test('the reported bytes on disk are the sizes of the files', () =>
  withDirectory(async (directory) => {
    await fill(directory);
    const catalog = await openLevelCatalog(directory);
    assert.ok((await catalog.bytes()) > 20 * 40 * 50);
    await catalog.close();
  }));
