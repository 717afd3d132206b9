import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { readLines } from './text-lines.ts';

function linesIn(t: TestContext, ...pieces: string[]): Promise<string[]> {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-text-'));
  t.after(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, 'text'), pieces.join(''));
  return Array.fromAsync(readLines(join(directory, 'text')));
}

test('long lines are read whole, wherever the pieces of the file end', async (t) => {
  const lines = ['', '漢字'.repeat(600_000), 'a\rb\u2028c', '', 'last'];
  assert.deepEqual(await linesIn(t, ...lines.map((line) => `${line}\n`)), lines);
  assert.deepEqual(await linesIn(t, ''), []);
});

test('a file whose last line has no end, or whose line is too long, is refused', async (t) => {
  await assert.rejects(linesIn(t, 'one\n', 'two'), { code: 'MANIFEST_UNREADABLE', message: /add the end/ });
  await assert.rejects(linesIn(t, 'a'.repeat(40 * 1024 * 1024), '\n'), {
    code: 'MANIFEST_UNREADABLE',
    message: /no line end/,
  });
});
