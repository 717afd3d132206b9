/**
 * A full verification finds damage anywhere in the catalog, and a rebuild repairs it, also while the archive is open.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Archive, isCatalogSound, openArchive, type Problem } from '../../src/archive/index.ts';
import { seededRandom } from '../../src/base/index.ts';
import { databaseProblems, Indexer } from '../../src/search/index.ts';
import { pinakes } from '../journeys/pinakes-runner.ts';
import { response, warcinfo, writeForeign } from './foreign-file.ts';
import { answers, contentOf, makeArchive, NOON, temporaryDirectory, trialOptions } from './trial-archive.ts';

const PAGES = 300;

/** An archive that was closed and opened again, so that its catalog has tables. */
async function filled(t: TestContext): Promise<Archive> {
  const archive = await makeArchive(t);
  const file = join(await temporaryDirectory(t), 'crawl.warc.gz');
  const pages = Array.from({ length: PAGES }, (_, n) =>
    response(`http://a.example/${n}`, NOON + n * 1000, contentOf(`page ${n}`, 200)),
  );
  await writeForeign(file, [warcinfo(), ...pages]);
  await archive.add([file], { workers: 0 });
  await archive.close();
  return reopened(t, archive.directory);
}

async function reopened(t: TestContext, directory: string): Promise<Archive> {
  const archive = await openArchive(directory, trialOptions({ seed: 2 }));
  t.after(() => archive.close().catch(() => {}));
  return archive;
}

async function verified(archive: Archive): Promise<{ errors: number; problems: Problem[] }> {
  const problems: Problem[] = [];
  const { errors } = await archive.verify({ onProblem: (problem) => void problems.push(problem) });
  return { errors, problems };
}

function tablesOf(directory: string): string[] {
  const catalog = join(directory, 'catalog');
  return readdirSync(catalog)
    .filter((name) => name.endsWith('.ldb'))
    .map((name) => join(catalog, name));
}

function change(path: string, alter: (bytes: Buffer) => void): void {
  const bytes = readFileSync(path);
  alter(bytes);
  writeFileSync(path, bytes);
}

const WOUNDS: Record<string, (bytes: Buffer) => void> = {
  'a bit of its first block': (bytes) => void (bytes[100]! ^= 4),
  'a bit in the middle': (bytes) => void (bytes[bytes.length >> 1]! ^= 1),
  'a bit of its index': (bytes) => void (bytes[bytes.length - 80]! ^= 1),
  'zeros at its end': (bytes) => void bytes.fill(0, bytes.length - 512),
};

for (const [what, alter] of Object.entries(WOUNDS))
  test(`damage in a table of the catalog is found and repaired while the archive is open: ${what}`, async (t) => {
    const archive = await filled(t);
    const before = await answers(archive);
    assert.deepEqual(await verified(archive), { errors: 0, problems: [] });
    const [table] = tablesOf(archive.directory);
    change(table!, alter);
    const { errors, problems } = await verified(archive);
    assert.ok(errors > 0);
    assert.deepEqual(new Set(problems.map(({ code }) => code)), new Set(['catalog-damaged']));
    await archive.rebuild();
    assert.deepEqual(await verified(archive), { errors: 0, problems: [] });
    assert.deepEqual(await answers(archive), before);
    await archive.close();
    assert.deepEqual(await answers(await reopened(t, archive.directory)), before);
  });

test('a flipped bit anywhere in a table of the catalog is found', async (t) => {
  const archive = await filled(t);
  await archive.close();
  const [table] = tablesOf(archive.directory);
  const sound = readFileSync(table!);
  const random = seededRandom(25);
  for (let round = 0; round < 60; round++) {
    const at = Math.floor(random() * sound.length);
    change(table!, (bytes) => void (bytes[at]! ^= 1 << Math.floor(random() * 8)));
    assert.equal(await isCatalogSound(archive.directory), false, `byte ${at} of ${sound.length}`);
    writeFileSync(table!, sound);
  }
  assert.equal(await isCatalogSound(archive.directory), true);
});

test('`pinakes rebuild` replaces a damaged catalog without reading it', async (t) => {
  const archive = await filled(t);
  const before = await answers(archive);
  await archive.close();
  const { directory } = archive;
  const inCatalog = (start: string) => {
    const name = readdirSync(join(directory, 'catalog')).find((one) => one.startsWith(start))!;
    return join(directory, 'catalog', name);
  };
  const wounds: readonly (() => void)[] = [
    () => change(tablesOf(directory)[0]!, WOUNDS['a bit in the middle']!),
    () => change(inCatalog('MANIFEST'), (bytes) => void bytes.fill(0, 10, 40)),
    () => writeFileSync(inCatalog('CURRENT'), 'nothing'),
  ];
  for (const damageRecord of wounds) {
    await damageRecord();
    const { code, err } = await pinakes(directory, 'rebuild', '-a', directory);
    assert.equal(code, 0, err);
    const again = await reopened(t, directory);
    assert.deepEqual(await answers(again), before);
    await again.close();
  }
});

test('a rebuild that was killed after it removed the old catalog is finished by the next opening', async (t) => {
  const archive = await filled(t);
  const before = await answers(archive);
  await archive.close();
  writeFileSync(join(archive.directory, 'catalog/DROPPED'), '');
  change(tablesOf(archive.directory)[0]!, WOUNDS['a bit in the middle']!);
  assert.deepEqual(await answers(await reopened(t, archive.directory)), before);
});

test('a full verification reports a damaged search index', async (t) => {
  const archive = await filled(t);
  const indexer = await Indexer.open(archive);
  await indexer.catchUp();
  await indexer.close();
  const problems = async () => {
    const found: string[] = [];
    for await (const { code, message } of databaseProblems(archive.directory)) found.push(`${code} ${message}`);
    return found;
  };
  assert.deepEqual(await problems(), []);
  change(join(archive.directory, 'search.sqlite'), (bytes) => void bytes.fill(0xff, 3 * 4096, 3 * 4096 + 40));
  const [found, ...others] = await problems();
  assert.match(found!, /^index-damaged .*search\.sqlite: /);
  assert.deepEqual(others, []);
});
