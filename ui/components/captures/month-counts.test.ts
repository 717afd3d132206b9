import assert from 'node:assert/strict';
import { test } from 'node:test';
import { monthCounts } from './month-counts.ts';

const day = (date: string, captures: number) => ({ date, captures, changed: 1, statuses: [200] });

test('years without captures are included between years with captures', () => {
  const counts = monthCounts([
    { year: 2020, days: [day('2020-01-05', 2), day('2020-01-06', 3)] },
    { year: 2022, days: [day('2022-12-31', 1)] },
  ]);
  assert.deepEqual(
    counts.map(({ year, months }) => [year, months[0], months[11]]),
    [
      [2020, 5, 0],
      [2021, 0, 0],
      [2022, 0, 1],
    ],
  );
});

test('a capture from the year 1 does not add two thousand empty years', () => {
  const counts = monthCounts([
    { year: 1, days: [day('0001-01-01', 1)] },
    { year: 2024, days: [day('2024-01-01', 1)] },
  ]);
  assert.deepEqual(
    counts.map(({ year }) => year),
    [1, 2024],
  );
  assert.deepEqual(monthCounts([]), []);
});
