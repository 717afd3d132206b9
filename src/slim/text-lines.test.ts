import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { linesOf } from './text-lines.ts';

function linesIn(t: TestContext, ...pieces: string[]): Promise<string[]> {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-text-'));
  t.after(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, 'text'), pieces.join(''));
  return Array.fromAsync(linesOf(join(directory, 'text')));
}

test('lines come whole, however long and wherever the file is read in pieces', async (t) => {
  const lines = ['', '漢字'.repeat(600_000), 'a\rb\u2028c', '', 'last'];
  assert.deepEqual(await linesIn(t, ...lines.map((line) => `${line}\n`)), lines);
  assert.deepEqual(await linesIn(t, ''), []);
});

test('what has no end of a line, or none for very long, is refused', async (t) => {
  await assert.rejects(linesIn(t, 'one\n', 'two'), { code: 'MANIFEST_UNREADABLE', message: /add the end/ });
  await assert.rejects(linesIn(t, 'a'.repeat(40 * 1024 * 1024), '\n'), {
    code: 'MANIFEST_UNREADABLE',
    message: /no end of a line/,
  });
});
