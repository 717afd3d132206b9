/** An open segment whose middle is damaged, met by an archive without its catalog: the end of the segment is whole and stays. */
import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { dropCatalog, openArchive } from '../../src/archive/index.ts';
import { allCaptures, contentOf, makeArchive, NOON, page, trialOptions } from '../archive/trial-archive.ts';

const NAMES = ['0', '1', '2', '3', '4', '5'];

async function openSegment(t: Parameters<typeof makeArchive>[0]) {
  const archive = await makeArchive(t);
  for (const name of NAMES) await archive.store(page(`http://x.example/${name}`, NOON, contentOf(name, 1300)));
  const path = join(archive.directory, 'volumes/main', `${archive.segments()[0]!.name}.open`);
  const places = (await allCaptures(archive)).map(({ place }) => place).sort((a, b) => a.offset - b.offset);
  await archive.close();
  const { directory } = archive;
  const reopened = async () => {
    await dropCatalog(directory);
    const again = await openArchive(directory, trialOptions({ seed: 2 }));
    const names = (await allCaptures(again)).map(({ url }) => new URL(url).pathname.slice(1)).sort();
    await again.close();
    return { names, bytes: (await stat(path)).size };
  };
  return { path, places, good: await readFile(path), reopened };
}

test('damage in the middle of an open segment does not cost its last record', async (t) => {
  const { path, places, good, reopened } = await openSegment(t);
  const { offset, length } = places[1]!;
  // A flag that announces a field which is not there lets the member seem to go on to the end of the file, as do some changes to its last bytes.
  const changes = [[3, 0x04], ...Array.from({ length: 12 }, (_, index) => [length - 20 + index, 0x40])];
  for (const [index, bit] of changes) {
    const at = offset + index!;
    const bad = Buffer.from(good);
    bad[at]! ^= bit!;
    await writeFile(path, bad);
    const { names, bytes } = await reopened();
    assert.ok(names.includes('5'), `the last capture, with byte ${at} changed`);
    assert.equal(bytes, good.length, `the length, with byte ${at} changed`);
  }
});

test('a torn tail of any length costs only itself', async (t) => {
  const { path, places, good, reopened } = await openSegment(t);
  const last = places.at(-1)!;
  for (const kept of [1, 3, 9, 12, 40, last.length - 9, last.length - 1]) {
    await writeFile(path, good.subarray(0, last.offset + kept));
    const { names, bytes } = await reopened();
    assert.deepEqual(names, NAMES.slice(0, -1), `${kept} bytes of the last record`);
    assert.equal(bytes, last.offset);
  }
});
