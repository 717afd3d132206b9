import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundedTest, boundedTests } from './bounded-regex.ts';

const ENDLESS = { expression: /^(?:a|a)*(?:a|a)*(?:a|a)*b$/, values: ['a'.repeat(60)] };
const MS_MAX = 500;

test('each expression is tested with each of its values', () => {
  const tests = [
    { expression: /^a/, values: ['ab', 'ba'] },
    { expression: /b$/i, values: ['aB'] },
    { expression: /c/, values: [] },
  ];
  assert.deepEqual(boundedTests(tests, MS_MAX), [[true, false], [true], []]);
  assert.deepEqual(boundedTest(/a/, ['a', 'b'], MS_MAX), [true, false]);
});

test('the time limit is for all expressions together', () => {
  assert.equal(boundedTests([{ expression: /a/, values: ['a'] }, ENDLESS], MS_MAX), undefined);
  assert.equal(boundedTest(ENDLESS.expression, ENDLESS.values, MS_MAX), undefined);
  assert.equal(boundedTests(Array(20).fill(ENDLESS), MS_MAX), undefined);
  assert.deepEqual(boundedTest(/a/, ['a'], MS_MAX), [true]);
});
