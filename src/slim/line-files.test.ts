import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { LineFiles } from './line-files.ts';
import { clusterFiles, ManifestLinesFile, pointerFile, prefixDigitsFor } from './manifest/manifest-lines-file.ts';

function inDirectory(body: (directory: string) => void): void {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-lines-'));
  try {
    body(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test('opening from a checkpoint removes the lines that were added after it', () => {
  inDirectory((directory) => {
    const files = new LineFiles(directory, /^x-/);
    files.add('x-a', 'one\n');
    const lengths = files.checkpoint();
    assert.deepEqual(lengths, { 'x-a': 4 });
    files.add('x-a', `${'y'.repeat(100_000)}\n`);
    files.add('x-b', `${'z'.repeat(100_000)}\n`);
    writeFileSync(join(directory, 'other'), 'stays');
    const again = new LineFiles(directory, /^x-/, lengths);
    again.add('x-a', 'two\n');
    assert.deepEqual(again.checkpoint(), { 'x-a': 8 });
    assert.equal(readFileSync(join(directory, 'x-a'), 'utf8'), 'one\ntwo\n');
    assert.deepEqual(readdirSync(directory).sort(), ['other', 'x-a']);
  });
});

test('a torn line at the end of a file is cut off', () => {
  inDirectory((directory) => {
    const files = new LineFiles(directory, /^x$/);
    files.add('x', 'whole\n');
    const lengths = files.checkpoint();
    appendFileSync(join(directory, 'x'), 'half a li');
    new LineFiles(directory, /^x$/, lengths).checkpoint();
    assert.equal(readFileSync(join(directory, 'x'), 'utf8'), 'whole\n');
  });
});

test('manifest lines are grouped by the first digits of their digest, and pointers have their own file', () => {
  inDirectory((directory) => {
    const lines = new ManifestLinesFile(directory, 2);
    for (const hex of ['aa1', 'ab2', 'aa3', '']) lines.add(`${hex}\n`, hex);
    lines.checkpoint();
    assert.deepEqual(
      clusterFiles(directory).map((path) => readFileSync(path, 'utf8')),
      ['aa1\naa3\n', 'ab2\n'],
    );
    assert.equal(readFileSync(pointerFile(directory)!, 'utf8'), '\n');
  });
});

test('larger collections are spread over more files', () => {
  assert.deepEqual([0, 1e9, 2e9, 30e9, 500e9, 1e15].map(prefixDigitsFor), [0, 0, 1, 2, 3, 3]);
});
