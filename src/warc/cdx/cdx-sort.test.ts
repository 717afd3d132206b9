import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { seededRandom } from '../../base/index.ts';
import { sortLines } from './cdx-sort.ts';

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'pinakes-sort-'));
});
after(() => rm(directory, { recursive: true }));

async function sorted(lines: Iterable<string>, options: { unique?: boolean; memoryBytesMax?: number } = {}) {
  const result: string[] = [];
  for await (const line of sortLines(lines, { directory, ...options })) result.push(line);
  return result;
}

const byBytes = (lines: readonly string[]) => lines.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

test('lines are sorted in byte order, not in the order of JavaScript strings', async () => {
  const lines = ['b', '\u{1f4a1}', '\uff00', 'a b', 'a,b', 'a)b', '', 'é'];
  assert.deepEqual(await sorted(lines), ['', 'a b', 'a)b', 'a,b', 'b', 'é', '\uff00', '\u{1f4a1}']);
  assert.notDeepEqual(await sorted(lines), lines.toSorted());
});

test('sorting in memory and sorting in files give the same lines', async () => {
  const line = fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => text.replace(/[\r\n]/g, ' '));
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 60 }), async (lines) => {
      assert.deepEqual(await sorted(lines), byBytes(lines));
      assert.deepEqual(await sorted(lines, { memoryBytesMax: 300 }), byBytes(lines));
    }),
    { numRuns: 40 },
  );
});

test('more runs than can be merged at once are sorted in bounded memory, and all run files are removed (I9)', async () => {
  const seed = 20240301;
  const random = seededRandom(seed);
  const lines = Array.from({ length: 20_000 }, () => `key-${Math.floor(random() * 15_000)} x`);
  const result = await sorted(lines, { memoryBytesMax: 5_000 });
  assert.deepEqual(result, byBytes(lines), `seed ${seed}`);
  const unique = await sorted(lines, { memoryBytesMax: 5_000, unique: true });
  assert.deepEqual(unique, byBytes([...new Set(lines)]), `seed ${seed}`);
  assert.deepEqual(await readdir(directory), []);
});

test('a reader that stops early leaves no file behind', async () => {
  const lines = Array.from({ length: 1000 }, (_, i) => String(i));
  for await (const line of sortLines(lines, { directory, memoryBytesMax: 1000 })) if (line === '10') break;
  assert.deepEqual(await readdir(directory), []);
});

test('a missing directory is reported', async () => {
  const lines = ['b', 'a'];
  const run = async () => {
    for await (const _ of sortLines(lines, { directory: join(directory, 'absent'), memoryBytesMax: 1 }));
  };
  await assert.rejects(run, { code: 'FILE_MISSING' });
});
