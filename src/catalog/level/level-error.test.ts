import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PinakesError } from '../../base/index.ts';
import { DamagedRow } from '../row-bytes.ts';
import { levelError } from './level-error.ts';

test('a failure to close an iterator does not hide the damage before it', () => {
  const error = levelError(new SuppressedError(new Error('close'), new DamagedRow('a row ends early')), 'catalog');
  assert.ok(error instanceof PinakesError);
  assert.deepEqual([error.code, error.where, error.detail], ['CATALOG_DAMAGED', 'catalog', 'a row ends early']);
});

test('failures that are not of the database pass through unchanged', () => {
  const bug = new TypeError('x is not a function');
  assert.equal(levelError(bug, 'catalog'), bug);
});
