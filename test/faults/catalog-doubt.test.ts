/**
 * A change that the catalog does not confirm may still have been written. So the records of this change stay at their
 * places and are not overwritten. Otherwise one capture would return the bytes of another.
 */
import assert from 'node:assert/strict';
import { rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Archive, createArchive, openArchive } from '../../src/archive/index.ts';
import { PinakesError } from '../../src/base/index.ts';
import {
  type Catalog,
  type CommitGroup,
  type CommitOutcome,
  MemoryCatalog,
  openLevelCatalog,
} from '../../src/catalog/index.ts';
import { catalogOf, volumeOf } from '../archive/opened-parts.ts';
import {
  allCaptures,
  audit,
  bytesOf,
  contentOf,
  makeArchive,
  NOON,
  page,
  temporaryDirectory,
  trialOptions,
} from '../archive/trial-archive.ts';

const BATCHES_PER_SYNC = 256;

const urlOf = (name: string) => `http://x.example/${name}`;
const store = (archive: Archive, name: string) => archive.store(page(urlOf(name), NOON, contentOf(name)));
const fails = (code: string) => (error: unknown) => error instanceof PinakesError && error.code === code;

/** Every capture has its own bytes. */
async function readAll(archive: Archive): Promise<string[]> {
  const names: string[] = [];
  for (const capture of await allCaptures(archive)) {
    const name = new URL(capture.url).pathname.slice(1);
    const bytes = await bytesOf((await archive.open(capture)).payload);
    assert.ok(bytes.equals(contentOf(name)), `${name} has other bytes`);
    names.push(name);
  }
  return names.sort();
}

/** A catalog that writes a change and then reports a failure. */
class DoubtfulCatalog extends MemoryCatalog {
  isFailing = false;

  override async commit(group: CommitGroup): Promise<CommitOutcome> {
    const outcome = await super.commit(group);
    this.#fail();
    return outcome;
  }

  #fail(): void {
    if (this.isFailing) throw new PinakesError('DEVICE_FAILED', { where: 'catalog' });
  }
}

async function openDoubtful(t: TestContext) {
  const directory = await temporaryDirectory(t);
  await createArchive(directory);
  const catalog = new DoubtfulCatalog({ clock: () => 0 });
  const open = (seed: number) => openArchive(directory, trialOptions({ catalog, seed }));
  return { catalog, open };
}

test('I2 Acknowledged means durable: records of a failed change of the catalog are not overwritten by the next change', async (t) => {
  const { catalog, open } = await openDoubtful(t);
  const archive = await open(1);
  await store(archive, 'before');
  catalog.isFailing = true;
  await assert.rejects(store(archive, 'doubtful'), fails('DEVICE_FAILED'));
  catalog.isFailing = false;
  await store(archive, 'after');
  await store(archive, 'doubtful');
  await readAll(archive);
  await archive.close();
  const again = await open(2);
  assert.deepEqual(await readAll(again), ['after', 'before', 'doubtful', 'doubtful']);
  assert.deepEqual(await audit(again), []);
  await again.close();
});

test('A deletion that the catalog does not confirm is not undone by a rebuild', async (t) => {
  const { catalog, open } = await openDoubtful(t);
  const archive = await open(1);
  for (const name of ['stays', 'goes']) await store(archive, name);
  catalog.isFailing = true;
  await assert.rejects(archive.delete({ url: urlOf('goes') }), fails('DEVICE_FAILED'));
  catalog.isFailing = false;
  await archive.close();
  const again = await open(2);
  assert.deepEqual(await readAll(again), ['stays']);
  await again.rebuild();
  assert.deepEqual(await readAll(again), ['stays']);
  await again.close();
});

/** Puts an earlier log beside the current one. The earlier log cannot be opened, and so cannot be made durable. */
function blockLog(catalogDirectory: string): Promise<void> {
  return symlink('000001.log', join(catalogDirectory, '000001.log'));
}

test('Stores succeed while the log of the catalog cannot be made durable, and the next flush tries again', async (t) => {
  const archive = await makeArchive(t);
  const catalog = catalogOf(archive);
  while (catalog.batches! % BATCHES_PER_SYNC !== BATCHES_PER_SYNC - 1) await catalog.commit({});
  await blockLog(join(archive.directory, 'catalog'));
  await store(archive, 'one');
  await store(archive, 'two');
  assert.deepEqual(await readAll(archive), ['one', 'two']);
  await assert.rejects(archive.flush(), fails('FILE_UNWRITABLE'));
  await store(archive, 'three');
  await rm(join(archive.directory, 'catalog', '000001.log'));
  await archive.flush();
  assert.deepEqual(await readAll(archive), ['one', 'three', 'two']);
  assert.deepEqual(await audit(archive), []);
});

/** Removes the directory and writes until LevelDB needs a new file there. */
async function breakCatalog(catalog: Catalog, directory: string): Promise<void> {
  await rm(directory, { recursive: true });
  const large = { putNotes: { large: 'x'.repeat(6_000_000) } };
  await assert.rejects(async () => {
    for (let count = 0; count < 10; count++) await catalog.commit(large);
  });
}

test('A catalog whose log could not be written refuses changes until it is opened again', async (t) => {
  const directory = join(await temporaryDirectory(t), 'catalog');
  const catalog = await openLevelCatalog(directory);
  assert.equal(catalog.refusal, undefined);
  await breakCatalog(catalog, directory);
  await assert.rejects(catalog.commit({ putNotes: { small: 'x' } }), fails('CATALOG_STOPPED'));
  assert.ok(fails('CATALOG_STOPPED')(catalog.refusal));
  await catalog.close();
});

test('An archive whose catalog has stopped refuses every change before it touches a file, and can still be read', async (t) => {
  const archive = await makeArchive(t);
  for (const name of ['one', 'two']) await store(archive, name);
  await breakCatalog(catalogOf(archive), join(archive.directory, 'catalog'));
  const before = await volumeOf(archive).list();
  await assert.rejects(store(archive, 'three'), fails('CATALOG_STOPPED'));
  await assert.rejects(archive.delete({ url: urlOf('one') }), fails('CATALOG_STOPPED'));
  await assert.rejects(archive.compact(), fails('CATALOG_STOPPED'));
  assert.deepEqual(await volumeOf(archive).list(), before);
  assert.deepEqual(await readAll(archive), ['one', 'two']);
});
