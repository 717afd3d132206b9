/** The captures of an address by year and month, for small charts of all years. Does not use the browser. */
import type { CalendarYear } from '../../api/replies.ts';

/** Twelve counts for each year. */
export type MonthCounts = { readonly year: number; readonly months: readonly number[] };

/**
 * Wrong clocks produce captures that are centuries away. Beyond this many years, years without captures are left out.
 */
const YEARS_MAX = 60;

/** The counts of all years from the first to the last, in order. */
export function monthCounts(years: readonly CalendarYear[]): MonthCounts[] {
  const known = new Map(years.map((year) => [year.year, monthsOf(year)]));
  const inOrder = [...known.keys()].sort((a, b) => a - b);
  const first = inOrder[0] ?? 0;
  const span = (inOrder.at(-1) ?? -1) - first + 1;
  const shown = span > YEARS_MAX ? inOrder : Array.from({ length: span }, (_, index) => first + index);
  return shown.map((year) => ({ year, months: known.get(year) ?? new Array<number>(12).fill(0) }));
}

function monthsOf({ days }: CalendarYear): number[] {
  const months = new Array<number>(12).fill(0);
  for (const { date, captures } of days) months[Number(date.slice(5, 7)) - 1]! += captures;
  return months;
}
