/**
 * Compaction on a disk that fails at random places. Once the disk can be read again, no capture lacks its content, and
 * deleted records are gone.
 */
import assert from 'node:assert/strict';
import { closeSync, fstatSync, openSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Archive, dropCatalog, openArchive } from '../../src/archive/index.ts';
import { seededRandom } from '../../src/base/index.ts';
import { filesBelow } from './archive-sample.ts';
import { type ForeignRecord, response, revisitOf, writeForeign } from './foreign-file.ts';
import {
  allCaptures,
  audit,
  bytesOf,
  contentOf,
  makeArchive,
  NOON,
  temporaryDirectory,
  trialOptions,
} from './trial-archive.ts';

const CONTENTS = 5;
const SECTOR_BYTES = 512;

type Below = (limit: number) => number;

/** Files of pages and of revisits that point at any earlier record of their content, a page or a revisit. */
async function fill(archive: Archive, directory: string, below: Below, hasLinked: boolean): Promise<void> {
  const earlier: ForeignRecord[][] = Array.from({ length: CONTENTS }, () => []);
  for (let file = 0; file < 5; file++) {
    const records = Array.from({ length: 6 }, (_, n) => {
      const content = below(CONTENTS);
      const [url, time] = [`http://a.example/${file}/${n}`, NOON + file * 100_000 + n * 1000];
      const referents = earlier[content]!;
      const isRevisit = referents.length > 0 && below(10) < 7;
      const record = isRevisit
        ? revisitOf(referents[below(referents.length)]!, url, time)
        : response(url, time, contentOf(`content ${content}`, 6000));
      referents.push(record);
      return record;
    });
    const path = await writeForeign(join(directory, `${file}.warc.gz`), records);
    await archive.add([path], { workers: 0, collection: `c${file}`, inPlace: hasLinked && file === 2 });
  }
}

/** Makes some sectors unreadable, each for good or once, until the returned function is called. */
async function failSome(t: TestContext, paths: readonly string[], below: Below): Promise<() => void> {
  const broken = paths
    .filter(() => below(10) < 4)
    .map((path) => {
      // Held open, so that no new file gets its inode number.
      const descriptor = openSync(path, 'r');
      t.after(() => closeSync(descriptor));
      const from = below(Math.ceil(statSync(path).size / SECTOR_BYTES)) * SECTOR_BYTES;
      return { ino: fstatSync(descriptor).ino, from, times: below(10) < 3 ? 1 : Infinity };
    });
  const handle = await open(import.meta.filename);
  const reads = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  type Given = [Buffer, number, number, number];
  const read = reads.read as (this: FileHandle, ...given: Given) => Promise<unknown>;
  const mocked = t.mock.method(reads, 'read', async function (this: FileHandle, ...given: Given) {
    const [, , length, position] = given;
    const { ino } = fstatSync(this.fd);
    const isMet = (from: number) => position + length > from && position < from + SECTOR_BYTES;
    for (const one of broken)
      if (one.ino === ino && isMet(one.from) && one.times-- > 0)
        throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO', syscall: 'read' });
    return read.apply(this, given);
  });
  return () => mocked.mock.restore();
}

async function payloadsOf(archive: Archive): Promise<string[]> {
  const lines: string[] = [];
  for (const capture of await allCaptures(archive))
    lines.push(`${capture.url} ${await bytesOf((await archive.open(capture)).payload)}`);
  return lines.sort();
}

for (let seed = 0; seed < 6; seed++)
  test(`I5, I6: compaction on a failing disk keeps the content of captures, and removes deleted records in the end: seed ${seed}`, async (t) => {
    const random = seededRandom(seed);
    const below = (limit: number) => Math.floor(random() * limit);
    const archive = await makeArchive(t);
    const directory = await temporaryDirectory(t);
    // A content that only a file in place refers to stays, with the deleted record that holds it.
    const hasLinked = seed % 2 === 1;
    await fill(archive, directory, below, hasLinked);
    for (const { url } of await allCaptures(archive)) if (below(10) < 4) await archive.delete({ url });
    const expected = await payloadsOf(archive);
    for (let round = 0; round < 2; round++) {
      const files = [...filesBelow(join(archive.directory, 'volumes/main')), join(directory, '2.warc.gz')];
      const repair = await failSome(t, files, below);
      await archive.compact({ contentsAtOnce: below(2) ? 2 : 100_000 }).finally(repair);
      assert.deepEqual(await payloadsOf(archive), expected);
    }
    await archive.close();
    if (below(3) > 0) await dropCatalog(archive.directory);
    const again = await openArchive(archive.directory, trialOptions({ seed: 2 }));
    t.after(() => again.close());
    assert.deepEqual(await payloadsOf(again), expected);
    assert.deepEqual((await again.compact()).damaged, []);
    const left = (await again.segments()).filter(({ deadBytes }) => deadBytes > 0);
    if (!hasLinked) assert.deepEqual(left, []);
    // Revisits that were added as revisits of a revisit may still point at one.
    const problems = (await audit(again)).filter((problem) => !problem.startsWith('a revisit points at'));
    assert.deepEqual(problems, []);
    await again.rebuild();
    assert.deepEqual(await payloadsOf(again), expected);
  });
