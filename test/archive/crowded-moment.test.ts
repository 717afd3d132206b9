/** Very many captures of one URL and one moment. A query about one of them does not read all of them. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { toHex } from '../../src/base/index.ts';
import type { CaptureQuestion, Catalog } from '../../src/catalog/index.ts';
import { type ForeignRecord, response, warcinfo, writeForeign } from './foreign-file.ts';
import { catalogOf } from './opened-parts.ts';
import { allCaptures, answers, audit, bytesOf, contentOf, makeArchive, NOON } from './trial-archive.ts';

const URL = 'https://api.example/answer';
const CROWD = 2500;

/** Counts the captures in the answers of the catalog, until the archive is closed. */
function countAnswers(catalog: Catalog): () => number {
  let count = 0;
  const ask = catalog.findCaptures.bind(catalog);
  catalog.findCaptures = async (questions: readonly CaptureQuestion[]) => {
    const found = await ask(questions);
    for (const captures of new Set(found)) count += captures.length;
    return found;
  };
  return () => count;
}

async function crowdedFile(t: TestContext, change: (one: ForeignRecord) => ForeignRecord = (one) => one) {
  const archive = await makeArchive(t);
  const crowd = Array.from({ length: CROWD }, (_, at) => change(response(URL, NOON, contentOf(`${at}`, 60))));
  const file = await writeForeign(join(archive.directory, 'crowd.warc.gz'), [warcinfo(), ...crowd]);
  const again = await writeForeign(join(archive.directory, 'again.warc.gz'), [warcinfo(), warcinfo(), ...crowd]);
  return { archive, file, again };
}

test('adding, verifying, rebuilding and deleting a crowd reads each capture only a few times', async (t) => {
  const { archive, file, again } = await crowdedFile(t);
  const counted = countAnswers(catalogOf(archive));
  await archive.add([file], { workers: 1 });
  assert.equal((await archive.add([again], { workers: 1 })).capturesKnown, CROWD);
  const before = await answers(archive);
  assert.equal((await archive.verify()).errors, 0);
  await archive.rebuild();
  assert.deepEqual(await answers(archive), before);
  assert.equal((await archive.add([again], { workers: 1, inPlace: true, collection: 'linked' })).captures, CROWD);
  const linked = (await archive.collections.find('linked'))!;
  assert.equal((await archive.delete({ collection: linked })).captures, CROWD);
  assert.equal((await archive.verify()).errors, 0);
  assert.equal((await allCaptures(archive)).length, CROWD);
  assert.ok(counted() < 12 * CROWD, `${counted()} captures were read`);
});

test('very many records with one id stay different captures, also when compaction rewrites their segment', async (t) => {
  const sameId = ({ record, block }: ForeignRecord) => ({ record: { ...record, recordId: '<urn:one:id>' }, block });
  const { archive, file, again } = await crowdedFile(t, sameId);
  assert.equal((await archive.add([file], { workers: 1 })).captures, CROWD);
  assert.equal((await archive.add([again], { workers: 1 })).capturesKnown, CROWD);
  const [first, second, ...others] = await allCaptures(archive);
  await archive.delete({ block: first!.block });
  await archive.compact();
  const third = await bytesOf((await archive.open(others[0]!)).payload);
  assert.equal(createHash('sha256').update(third).digest('hex'), toHex(others[0]!.block!.digest));
  await archive.delete({ block: second!.block });
  await assert.rejects(archive.open(second!), { code: 'CONTENT_MISSING' });
  assert.equal((await allCaptures(archive)).length, CROWD - 2);
  assert.deepEqual(await audit(archive), []);
});

test('deleting a crowd reads the captures of the moment once for each step', async (t) => {
  const { archive, file } = await crowdedFile(t);
  await archive.add([file], { workers: 1 });
  const catalog = catalogOf(archive);
  const ask = catalog.findCaptures.bind(catalog);
  let calls = 0;
  catalog.findCaptures = (questions: readonly CaptureQuestion[]) => {
    calls++;
    return ask(questions);
  };
  assert.equal((await archive.delete({ url: URL })).captures, CROWD);
  assert.ok(calls <= 3, `${calls} calls`);
});
