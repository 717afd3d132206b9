import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextTime } from './recurrence.ts';

const NOW = Date.parse('2026-11-15T07:30:20Z');
const next = (every: string, from = NOW) => new Date(nextTime(every, from)).toISOString().slice(0, 16);

test('words, periods and cron fields give the next time', () => {
  assert.equal(next('hour'), '2026-11-15T08:00');
  assert.equal(next('day'), '2026-11-16T03:00');
  assert.equal(next('week'), '2026-11-16T03:00');
  assert.equal(next('month'), '2026-12-01T03:00');
  assert.equal(next('6h'), '2026-11-15T13:30');
  assert.equal(next('*/15 * * * *'), '2026-11-15T07:45');
  assert.equal(next('0 9-17/4 * * 1-5'), '2026-11-16T09:00');
  assert.equal(next('0 0 29 2 *'), '2028-02-29T00:00');
  assert.equal(next('30 7 * * 7'), '2026-11-22T07:30');
  assert.equal(next('0 0 1 * 1'), '2026-11-16T00:00', 'one of the two days is enough');
  assert.equal(next('0 0 */2 * 1'), '2026-11-23T00:00', 'Mondays of odd days: a day with a star has to match too');
  assert.equal(next('0 0 16-30 * */3'), '2026-11-18T00:00');
  assert.equal(next('0 3 L FEB *'), '2027-02-28T03:00');
  assert.equal(next('0 3 * * * Europe/Rome'), '2026-11-16T02:00');
  assert.equal(next('0 3 * * * Europe/Rome', Date.parse('2026-07-01T00:00:00Z')), '2026-07-01T01:00', 'in summer');
});

test('text that is not a recurrence is refused', () => {
  for (const every of [
    '',
    'sometimes',
    'constructor',
    '60 * * * *',
    '* * * *',
    '5-1 * * * *',
    '0 0 31 2 *',
    '*/0 * * * *',
    '0 3 * * * Europe/Nowhere',
    '0 3 * * * UTC 5',
    '0 3 * *',
  ])
    assert.throws(() => nextTime(every, NOW), { code: 'BAD_ARGUMENT' }, every);
});
