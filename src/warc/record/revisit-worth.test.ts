import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWorthRevisit, UNSHARED_BYTES_MAX } from './revisit-worth.ts';

const own = [
  { name: 'WARC-Type', value: 'response' },
  { name: 'WARC-Target-URI', value: 'http://x.example/ü' },
];
const revisit = [...own, { name: 'X', value: 'a'.repeat(495) }];
/** The line `X: aaa...` with its end. */
const ADDED = 500;

test('a payload is shared when it is larger than the lines that the revisit adds to the head', () => {
  assert.equal(isWorthRevisit(ADDED, { own, revisit }), false);
  assert.equal(isWorthRevisit(ADDED + 1, { own, revisit }), true);
});

test('a minimum size can only raise the limit', () => {
  assert.equal(isWorthRevisit(ADDED, { own, revisit }, 10), false);
  assert.equal(isWorthRevisit(ADDED + 1, { own, revisit }, 10), true);
  assert.equal(isWorthRevisit(1023, { own, revisit }, 1024), false);
  assert.equal(isWorthRevisit(1024, { own, revisit }, 1024), true);
});

test('an empty payload, or one smaller than every revisit, is never shared, even when the revisit has the shorter head (I7)', () => {
  assert.equal(isWorthRevisit(0, { own: revisit, revisit: own }), false);
  assert.equal(isWorthRevisit(UNSHARED_BYTES_MAX, { own: revisit, revisit: own }), false);
  assert.equal(isWorthRevisit(UNSHARED_BYTES_MAX + 1, { own: revisit, revisit: own }), true);
});
