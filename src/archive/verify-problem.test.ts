import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { PROBLEM_CATALOGUE, verifyProblem } from './verify-problem.ts';

const PAGE = new URL('../../docs/archive.md', import.meta.url);

test('the problem catalogue is sorted by code', () => {
  const codes = Object.keys(PROBLEM_CATALOGUE);
  assert.deepEqual(codes, codes.toSorted());
});

test('docs/archive.md has a row for every problem, in the order of the catalogue, with its level', () => {
  const rows = readFileSync(PAGE, 'utf8').matchAll(/^\| `(?<code>[a-z-]+)` +\| (?<level>error|warning) +\|/gm);
  const shown = Array.from(rows, ({ groups }) => [groups!.code, groups!.level]);
  const expected = Object.entries(PROBLEM_CATALOGUE).map(([code, { level }]) => [code, level]);
  assert.deepEqual(shown, expected);
});

test('a problem has the message of the catalogue with its detail', () => {
  const problem = verifyProblem('segment-short', { volume: 'main', segment: 'a/b.warc.gz' }, { detail: '3 bytes' });
  assert.equal(problem.message, 'the segment is shorter than in the catalog: 3 bytes');
  assert.deepEqual([problem.level, problem.leaning, problem.offset], ['error', 0, undefined]);
});
