/** Full records whose contents other records hold, because their writers lost a race (I12). */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Archive } from '../../src/archive/index.ts';
import { catalogOf, openWithParts } from './opened-parts.ts';
import {
  allCaptures,
  answers,
  audit,
  contentOf,
  makeArchive,
  NOON,
  page,
  payloadAt,
  trialOptions,
} from './trial-archive.ts';

const urlOf = (name: string) => `http://x.example/${name}`;
const LARGE = contentOf('large', 20_000);
const SMALL = contentOf('small', 200);
const MIN = 1_000_000;

/** An archive with two full records of each content, of which the catalog says that the later ones are surplus. */
async function withSurplus(t: TestContext): Promise<Archive> {
  const first = await makeArchive(t, { policies: { dedupBytesMin: MIN } });
  for (const [index, name] of ['a', 'b', 'c'].entries())
    await first.store({ ...page(urlOf(name), NOON + index * 1000, LARGE) });
  for (const [index, name] of ['s', 'u'].entries()) await first.store(page(urlOf(name), NOON + index * 1000, SMALL));
  await first.close();
  const connector = join(first.directory, 'archive.yaml');
  const text = await readFile(connector, 'utf8');
  await writeFile(connector, text.replace(`dedupBytesMin: ${MIN}`, 'dedupBytesMin: auto'));
  const archive = await openWithParts(first.directory, trialOptions({ seed: 2 }));
  t.after(() => archive.close().catch(() => {}));
  const surplus = (await allCaptures(archive))
    .filter(({ url }) => ['b', 'c', 'u'].some((name) => url === urlOf(name)))
    .map(({ place, block }) => ({ segment: place.segment, offset: place.offset, block: block! }));
  assert.equal(surplus.length, 3);
  assert.equal((await catalogOf(archive).commit({ surplus })).kind, 'committed');
  return archive;
}

async function kinds(archive: Archive): Promise<Record<string, string>> {
  const captures = await allCaptures(archive);
  return Object.fromEntries(captures.map(({ url, kind }) => [new URL(url).pathname.slice(1), kind]));
}

async function surplusLeft(archive: Archive): Promise<number> {
  const catalog = catalogOf(archive);
  let left = 0;
  for (const { number } of await catalog.segments()) left += (await catalog.surplusRecords(number)).length;
  return left;
}

const COMPACTED = { a: 'response', b: 'revisit', c: 'revisit', s: 'response', u: 'response' };

test('I12: compaction makes revisits of surplus records, except where a revisit is not smaller', async (t) => {
  const archive = await withSurplus(t);
  const { segments, bytesBefore, bytesAfter } = await archive.compact();
  assert.equal(segments, 1);
  assert.ok(bytesAfter < 0.6 * bytesBefore, `${bytesBefore} became ${bytesAfter}`);
  assert.deepEqual(await kinds(archive), COMPACTED);
  assert.equal(await surplusLeft(archive), 0);
  for (const name of ['a', 'b', 'c']) assert.ok((await payloadAt(archive, urlOf(name))).equals(LARGE), name);
  for (const name of ['s', 'u']) assert.ok((await payloadAt(archive, urlOf(name))).equals(SMALL), name);
  assert.deepEqual(await audit(archive), []);
  assert.equal((await archive.verify({ depth: 'full' })).errors, 0);
  const before = await answers(archive);
  await archive.rebuild();
  assert.deepEqual(await answers(archive), before);
  assert.equal((await archive.compact()).segments, 0);
});

test('I15: a surplus record stays while the content of its holder is damaged', async (t) => {
  const archive = await withSurplus(t);
  const [holder] = (await allCaptures(archive)).filter(({ url }) => url === urlOf('a'));
  const path = join(archive.directory, 'volumes/main', (await archive.segments())[0]!.name);
  await archive.setVolumeWritable('main', false);
  await archive.setVolumeWritable('main', true);
  const bytes = await readFile(path);
  bytes.fill(0x55, holder!.place.offset + 300, holder!.place.offset + 340);
  await writeFile(path, bytes);
  assert.equal((await archive.compact()).segments, 0);
  assert.equal((await kinds(archive)).b, 'response');
  assert.ok((await payloadAt(archive, urlOf('b'))).equals(LARGE));
});
