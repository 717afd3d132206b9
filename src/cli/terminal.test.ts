import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatDuration } from './progress.ts';
import { formatBytes, printable, printableJson } from './terminal.ts';

test('a size is shown in the unit in which it is below a thousand', () => {
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

test('a duration is rounded up to whole seconds, and 60 seconds are shown as a minute', () => {
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

test('control characters and changes of writing direction are escaped', () => {
  assert.equal(printable('a\x1b[2J\x07\x7f\x9b1m\r\nb'), 'a\\x1b[2J\\x07\\x7f\\x9b1m\\x0d\\x0ab');
  assert.equal(printable('http://a.test/\u202egro.b\u2066\u2069'), 'http://a.test/\\u202egro.b\\u2066\\u2069');
  assert.equal(printable('\u05e9\u05dc\u05d5\u05dd\u200f!'), '\u05e9\u05dc\u05d5\u05dd\u200f!');
});

test('JSON for a terminal has no control characters and parses to the same value', () => {
  const value = { title: 'a\x1b[2J\x7f\x80\x9b31m\x9f\u00a0\u00e9' };
  assert.equal(printableJson(value), '{"title":"a\\u001b[2J\\u007f\\u0080\\u009b31m\\u009f\u00a0\u00e9"}');
  assert.deepEqual(JSON.parse(printableJson(value)), value);
});
