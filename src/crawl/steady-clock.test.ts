import assert from 'node:assert/strict';
import { test } from 'node:test';
import { steadyClock } from './steady-clock.ts';

test('a steady clock goes with the one underneath, and on from where it was when that is set back', () => {
  const times = [100, 110, 110, 500, 40, 50, 45, 60];
  const clock = steadyClock(() => times.shift()!);
  assert.deepEqual(
    Array.from({ length: 7 }, () => clock()),
    [110, 110, 500, 500, 510, 510, 525],
  );
});
