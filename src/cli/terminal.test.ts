import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatDuration } from './progress.ts';
import { formatBytes } from './terminal.ts';

test('sizes are told in a unit of which there are less than a thousand', () => {
  const sizes = [0, 999, 1000, 99_949, 99_950, 999_499, 999_500, 999_999_999];
  assert.deepEqual(sizes.map(formatBytes), [
    '0 B',
    '999 B',
    '1.0 KB',
    '99.9 KB',
    '100 KB',
    '999 KB',
    '1.0 MB',
    '1.0 GB',
  ]);
});

test('no minute has sixty seconds', () => {
  const seconds = [0.2, 59.2, 60, 119.7, 3599.5, 7260];
  assert.deepEqual(seconds.map(formatDuration), [
    '1 s',
    '1 min 0 s',
    '1 min 0 s',
    '2 min 0 s',
    '1 h 0 min',
    '2 h 1 min',
  ]);
});
