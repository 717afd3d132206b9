/**
 * Parses a recurrence: `hour`, `day`, `week`, `month`, `6h`, `3d`, or five fields as in cron, in UTC or in a time zone
 * that follows them (`0 3 * * 1-5 Europe/Rome`).
 *
 * ```
 *   minute (0-59)  hour (0-23)  day of month (1-31)  month (1-12)  day of week (0-7, both ends Sunday)
 *   each: *   5   1-5   1,3,5   every 15th: 0-59/15   10-50/10
 * ```
 * Months and days have English names too, and `L` is the last day of a month. As in cron, if both the day of month and
 * the day of week are given, one of them must match. A day field with a `*`, such as every second day, does not count
 * as given.
 */
import { Cron } from 'croner';
import { type EpochMs, PinakesError } from '../../base/index.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const WORDS: ReadonlyMap<string, string> = new Map([
  ['hour', '0 * * * *'],
  ['day', '0 3 * * *'],
  ['week', '0 3 * * 1'],
  ['month', '0 3 1 * *'],
]);
const FIELDS = 5;
const EXPECTED = 'expected hour, day, week, month, 6h, 3d, or five fields as in cron';

/** The first time after `now` that a recurrence matches. */
export function nextTime(every: string, now: EpochMs): EpochMs {
  const period = /^(\d{1,5})\s*(m|h|d|w)$/i.exec(every.trim());
  if (period && Number(period[1]) === 0) throw badRecurrence(every, 'the period is zero');
  if (period)
    return (
      now + Number(period[1]) * { m: MINUTE_MS, h: HOUR_MS, d: DAY_MS, w: 7 * DAY_MS }[period[2]!.toLowerCase() as 'm']!
    );
  const next = nextOfFields((WORDS.get(every.trim().toLowerCase()) ?? every).trim().split(/\s+/), every, now);
  if (next === null) throw badRecurrence(every, 'no date ever matches this');
  return next.getTime();
}

function nextOfFields(parts: readonly string[], every: string, now: EpochMs): Date | null {
  const [timezone = 'UTC', ...more] = parts.slice(FIELDS);
  if (parts.length < FIELDS || more.length > 0) throw badRecurrence(every, EXPECTED);
  const domAndDow = `${parts[2]}${parts[4]}`.includes('*');
  try {
    const cron = new Cron(parts.slice(0, FIELDS).join(' '), { timezone, domAndDow, paused: true, mode: '5-part' });
    return cron.nextRun(new Date(now));
  } catch (error) {
    throw badRecurrence(every, error instanceof Error ? error.message : EXPECTED);
  }
}

function badRecurrence(every: string, detail: string): PinakesError {
  return new PinakesError('BAD_ARGUMENT', { where: `--every ${every}`, detail });
}
