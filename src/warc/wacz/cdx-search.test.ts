import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { utf8 } from '../../base/index.ts';
import { exactRange, type LineRange, prefixRange, searchLines } from './cdx-search.ts';
import { MemoryByteSource } from './wacz-source.ts';

const options = { file: 'index', onFinding: () => assert.fail('nothing is wrong here') };

async function found(source: MemoryByteSource, range: LineRange): Promise<string[]> {
  const lines: string[] = [];
  for await (const { line } of searchLines(source, range, options)) lines.push(line);
  return lines;
}

const numbered = Array.from(
  { length: 50_000 },
  (_, i) => `com,example)/${String(i).padStart(6, '0')} 20240301100000 {}`,
);
const source = new MemoryByteSource('index', utf8(`${numbered.join('\n')}\n`));

test('the captures of a key are found, without captures of neighbouring keys', async () => {
  assert.deepEqual(await found(source, exactRange('com,example)/000000')), [numbered[0]]);
  assert.deepEqual(await found(source, exactRange('com,example)/049999')), [numbered[49_999]]);
  assert.deepEqual(await found(source, exactRange('com,example)/0400')), []);
  assert.deepEqual(await found(source, exactRange('com,zzz)/')), []);
});

test('the captures of a prefix are found, and an empty prefix finds all captures', async () => {
  assert.deepEqual(await found(source, prefixRange('com,example)/0123')), numbered.slice(12_300, 12_400));
  assert.equal((await found(source, prefixRange(''))).length, numbered.length);
});

test('a line has its offset in the file', async () => {
  for await (const { line, offset } of searchLines(source, exactRange('com,example)/000777'), options)) {
    const bytes = await source.read(offset, line.length);
    assert.equal(Buffer.from(bytes).toString(), line);
  }
});

test('a search finds the same lines as a filter over all lines, whatever their lengths', async () => {
  const line = fc
    .tuple(fc.stringMatching(/^[a-c]{1,4}$/), fc.nat(30_000))
    .map(([key, size]) => `${key} ${'x'.repeat(size)}`);
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 20 }), fc.stringMatching(/^[a-c]{1,3}$/), async (lines, prefix) => {
      const sorted = lines.toSorted();
      const file = new MemoryByteSource('index', utf8(sorted.map((text) => `${text}\n`).join('')));
      assert.deepEqual(
        await found(file, prefixRange(prefix)),
        sorted.filter((text) => text.startsWith(prefix)),
      );
    }),
    { numRuns: 60 },
  );
});
