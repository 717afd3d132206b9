/**
 * Parses a recurrence: `hour`, `day`, `week`, `month`, `6h`, `3d`, or five fields as in cron, in UTC.
 *
 * ```
 *   minute (0-59)  hour (0-23)  day of month (1-31)  month (1-12)  day of week (0-7, both ends Sunday)
 *   each: *   5   1-5   1,3,5   every 15th: 0-59/15   10-50/10
 * ```
 * As in cron, if both the day of month and the day of week are given, one of them must match. A day field with a `*`,
 * such as every second day, does not count as given.
 */
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
/** Within this many years, a leap day falls on each day of the week at least once. */
const SEARCH_YEARS = 40;

type CronFields = { readonly sets: readonly ReadonlySet<number>[]; readonly isEitherDay: boolean };

const RANGES: readonly (readonly [number, number])[] = [
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 7],
];

/** The first time after `now` that a recurrence matches. */
export function nextTime(every: string, now: EpochMs): EpochMs {
  const period = /^(\d{1,5})\s*(m|h|d|w)$/i.exec(every.trim());
  if (period && Number(period[1]) === 0) throw badRecurrence(every, 'the period is zero');
  if (period)
    return (
      now + Number(period[1]) * { m: MINUTE_MS, h: HOUR_MS, d: DAY_MS, w: 7 * DAY_MS }[period[2]!.toLowerCase() as 'm']!
    );
  const fields = parseCronFields(WORDS.get(every.trim().toLowerCase()) ?? every);
  const end = now + SEARCH_YEARS * 366 * DAY_MS;
  let time = Math.floor(now / MINUTE_MS) * MINUTE_MS + MINUTE_MS;
  while (time < end) {
    const date = new Date(time);
    if (!fields.sets[3]!.has(date.getUTCMonth() + 1) || !isDay(fields, date))
      time = Math.floor(time / DAY_MS) * DAY_MS + DAY_MS;
    else if (!fields.sets[1]!.has(date.getUTCHours())) time = Math.floor(time / HOUR_MS) * HOUR_MS + HOUR_MS;
    else if (!fields.sets[0]!.has(date.getUTCMinutes())) time += MINUTE_MS;
    else return time;
  }
  throw badRecurrence(every, 'no date ever matches this');
}

function isDay({ sets, isEitherDay }: CronFields, date: Date): boolean {
  const isMonthDay = sets[2]!.has(date.getUTCDate());
  const isWeekDay = sets[4]!.has(date.getUTCDay());
  return isEitherDay ? isMonthDay || isWeekDay : isMonthDay && isWeekDay;
}

function parseCronFields(every: string): CronFields {
  const parts = every.trim().split(/\s+/);
  if (parts.length !== 5)
    throw badRecurrence(every, 'expected hour, day, week, month, 6h, 3d, or five fields as in cron');
  const sets = parts.map((part, index) => parseCronField(part, RANGES[index]!, every));
  if (sets[4]!.has(7)) sets[4]!.add(0);
  return { sets, isEitherDay: !`${parts[2]}${parts[4]}`.includes('*') };
}

function parseCronField(part: string, [least, most]: readonly [number, number], every: string): Set<number> {
  const set = new Set<number>();
  for (const item of part.split(',')) {
    const match = /^(?:\*|(\d{1,2})(?:-(\d{1,2}))?)(?:\/(\d{1,2}))?$/.exec(item);
    if (!match) throw badRecurrence(every, item);
    const from = match[1] === undefined ? least : Number(match[1]);
    const to =
      match[2] !== undefined ? Number(match[2]) : match[1] === undefined || match[3] !== undefined ? most : from;
    const step = Number(match[3] ?? 1);
    if (from < least || to > most || from > to || step < 1) throw badRecurrence(every, item);
    for (let value = from; value <= to; value += step) set.add(value);
  }
  return set;
}

function badRecurrence(every: string, detail: string): PinakesError {
  return new PinakesError('BAD_ARGUMENT', { where: `--every ${every}`, detail });
}
