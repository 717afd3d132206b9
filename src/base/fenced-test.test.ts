import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fencedTest, fencedTests } from './fenced-test.ts';

const ENDLESS = { expression: /^(?:a|a)*(?:a|a)*(?:a|a)*b$/, values: ['a'.repeat(60)] };
const MS_MAX = 500;

test('each value is told for each expression', () => {
  const tests = [
    { expression: /^a/, values: ['ab', 'ba'] },
    { expression: /b$/i, values: ['aB'] },
    { expression: /c/, values: [] },
  ];
  assert.deepEqual(fencedTests(tests, MS_MAX), [[true, false], [true], []]);
  assert.deepEqual(fencedTest(/a/, ['a', 'b'], MS_MAX), [true, false]);
});

test('many expressions have no more time together than one of them', () => {
  assert.equal(fencedTests([{ expression: /a/, values: ['a'] }, ENDLESS], MS_MAX), undefined);
  assert.equal(fencedTest(ENDLESS.expression, ENDLESS.values, MS_MAX), undefined);
  assert.equal(fencedTests(Array(20).fill(ENDLESS), MS_MAX), undefined);
  assert.deepEqual(fencedTest(/a/, ['a'], MS_MAX), [true]);
});
