/** One rule decides whether repeats of small contents are shared. It is the same for `add` and `store`. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Archive, openArchive } from '../../src/archive/index.ts';
import { seededRandom, utf8 } from '../../src/base/index.ts';
import { response, warcinfo, writeForeign } from './foreign-file.ts';
import { allCaptures, audit, makeArchive, NOON, page, trialOptions } from './trial-archive.ts';

function contentOfBytes(bytes: number): Buffer {
  const random = seededRandom(bytes);
  return Buffer.from(Array.from({ length: bytes }, () => 97 + Math.floor(random() * 26)));
}

async function revisitsIn(archive: Archive): Promise<number> {
  return (await allCaptures(archive)).filter(({ kind }) => kind === 'revisit').length;
}

/** The size of the smallest content whose repeat became a revisit. Contents of every tenth size were stored twice. */
async function leastShared(archive: Archive): Promise<number> {
  const sizes: number[] = [];
  for (const { kind, block } of await allCaptures(archive)) {
    if (kind !== 'revisit') continue;
    const [held] = await archive.getBlocks([block!]);
    sizes.push(held!.size);
  }
  return Math.min(...sizes);
}

const SIZES = Array.from({ length: 120 }, (_, index) => index * 10);
const urlOf = (size: number, copy: number) => `http://small.example/${String(size).padStart(4, '0')}/${copy}`;

test('add shares repeats of contents of 560 bytes, and keeps repeats that a revisit would not make smaller', async (t) => {
  const archive = await makeArchive(t);
  const records = SIZES.flatMap((size) =>
    [0, 1].map((copy) => response(urlOf(size, copy), NOON + copy, contentOfBytes(size))),
  );
  const report = await archive.add([
    await writeForeign(join(archive.directory, 'a.warc.gz'), [warcinfo(), ...records]),
  ]);
  assert.equal(report.duplicates, await revisitsIn(archive));
  const least = await leastShared(archive);
  assert.ok(least > 250 && least <= 560, `the smallest shared content has ${least} bytes`);
  assert.equal(
    report.duplicates,
    SIZES.filter((size) => size >= least).length,
    'all larger ones are shared, and no smaller one',
  );
  assert.deepEqual(await audit(archive), []);
});

test('store shares repeats by the same rule as add, and never an empty content', async (t) => {
  const archive = await makeArchive(t);
  for (const copy of [0, 1])
    await Promise.all(SIZES.map((size) => archive.store(page(urlOf(size, copy), NOON + copy, contentOfBytes(size)))));
  const least = await leastShared(archive);
  assert.ok(least > 150 && least <= 560, `the smallest shared content has ${least} bytes`);
  assert.equal(await revisitsIn(archive), SIZES.filter((size) => size >= least).length);
  assert.deepEqual(await audit(archive), []);
});

test('small contents, shared or not, can be deleted and compacted one by one', async (t) => {
  const archive = await makeArchive(t);
  const sizes = [0, 40, 560];
  const records = sizes.flatMap((size) =>
    [0, 1, 2].map((copy) => response(urlOf(size, copy), NOON + copy, contentOfBytes(size))),
  );
  await archive.add([await writeForeign(join(archive.directory, 'a.warc.gz'), [warcinfo(), ...records])]);
  for (const size of sizes) await archive.delete({ url: urlOf(size, 0) });
  const { promoted, repointed } = await archive.compact();
  assert.deepEqual([promoted, repointed], [1, 1]);
  for (const size of sizes)
    for (const copy of [1, 2]) {
      const pieces: Uint8Array[] = [];
      for await (const piece of (await archive.get(urlOf(size, copy))).payload) pieces.push(Buffer.from(piece));
      assert.ok(Buffer.concat(pieces).equals(contentOfBytes(size)), urlOf(size, copy));
    }
  assert.deepEqual(await audit(archive), []);
});

test('an archive.yaml with the former default shares small repeats too, and another number raises the limit', async (t) => {
  const archive = await makeArchive(t);
  const { directory } = archive;
  await archive.close();
  const connector = join(directory, 'archive.yaml');
  const text = await readFile(connector, 'utf8');
  assert.match(text, /^ {2}dedupBytesMin: auto$/m);
  for (const [setting, shared] of [
    ['1024', 1],
    ['auto', 1],
    ['561', 0],
    ['560', 1],
  ] as const) {
    await writeFile(connector, text.replace('dedupBytesMin: auto', `dedupBytesMin: ${setting}`));
    const opened = await openArchive(directory, trialOptions({ seed: Number(setting) || 7 }));
    const before = await revisitsIn(opened);
    for (const copy of [0, 1]) {
      const body = utf8(setting.padEnd(560, 'x'));
      await opened.store(page(`http://set.example/${setting}/${copy}`, NOON + copy, body));
    }
    assert.equal((await revisitsIn(opened)) - before, shared, setting);
    await opened.close();
  }
});
