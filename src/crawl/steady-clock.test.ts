import assert from 'node:assert/strict';
import { test } from 'node:test';
import { steadyClock } from './steady-clock.ts';

test('a steady clock continues from its last reading when the given clock is set back', () => {
  const times = [100, 110, 110, 500, 40, 50, 45, 60];
  const clock = steadyClock(() => times.shift()!);
  assert.deepEqual(
    Array.from({ length: 7 }, () => clock()),
    [110, 110, 500, 500, 510, 510, 525],
  );
});

test('a steady clock goes forward by at most its bound between two readings', () => {
  const times = [100, 150, 9000, 9010, 20, 70];
  const clock = steadyClock(() => times.shift()!, 60);
  assert.deepEqual(
    Array.from({ length: 5 }, () => clock()),
    [150, 210, 220, 220, 270],
  );
});
