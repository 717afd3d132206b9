/**
 * The captures of a URL by day: how many, and how many with new content. Computed in one walk over the captures in
 * order of time.
 */
import { type Static, Type } from 'typebox';
import type { Archive } from '../../archive/index.ts';
import { formatW3cDate } from '../../base/index.ts';
import { type Capture, rangeOfKey } from '../../catalog/index.ts';
import { urlKey } from '../../url/index.ts';
import { Count, countOf, named, W3cDate } from '../schema.ts';
import { haveSameContent } from './capture-item.ts';
import { DistinctCount } from './distinct-count.ts';

const Day = named('CalendarDay', {
  date: Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' }),
  captures: Count,
  changed: countOf('Captures whose content is known, and differs from the previous known content.'),
  statuses: Type.Array(Type.Integer(), {
    description: 'The HTTP statuses of the day, sorted; 0 for captures without one.',
  }),
});

export const Calendar = named('Calendar', {
  url: Type.String({ description: 'As in the latest capture, or as requested when there is none.' }),
  first: Type.Union([W3cDate, Type.Null()]),
  last: Type.Union([W3cDate, Type.Null()]),
  captures: Count,
  distinct: countOf('Distinct contents.'),
  distinctIsLeast: Type.Optional(Type.Boolean({ description: 'There are more distinct contents than counted.' })),
  years: Type.Array(named('CalendarYear', { year: Type.Integer(), days: Type.Array(Day) })),
});

export type Calendar = Static<typeof Calendar>;

type MutableDay = { date: string; captures: number; changed: number; statuses: number[] };

export async function calendarOf(archive: Archive, url: string, signal?: AbortSignal): Promise<Calendar> {
  const years: { year: number; days: MutableDay[] }[] = [];
  const contents = new DistinctCount();
  let captures = 0;
  let first: Capture | undefined;
  let previous: Capture | undefined;
  /** The last capture whose content is known. */
  let lastKnown: Capture | undefined;
  let day: MutableDay | undefined;
  for await (const page of archive.captures(rangeOfKey(urlKey(url)))) {
    signal?.throwIfAborted();
    for (const capture of page) {
      first ??= capture;
      captures++;
      const date = formatW3cDate(capture.time).slice(0, 10);
      if (day?.date !== date) {
        day = { date, captures: 0, changed: 0, statuses: [] };
        const year = Number(date.slice(0, 4));
        if (years.at(-1)?.year !== year) years.push({ year, days: [] });
        years.at(-1)!.days.push(day);
      }
      day.captures++;
      if (capture.block && !(lastKnown && haveSameContent(capture, lastKnown))) day.changed++;
      if (capture.block) lastKnown = capture;
      if (!day.statuses.includes(capture.status)) day.statuses.push(capture.status);
      if (capture.block) contents.add(capture.block);
      previous = capture;
    }
  }
  for (const { days } of years) for (const { statuses } of days) statuses.sort((a, b) => a - b);
  return {
    url: previous?.url ?? url,
    first: first ? formatW3cDate(first.time) : null,
    last: previous ? formatW3cDate(previous.time) : null,
    captures,
    distinct: contents.count,
    ...(!contents.isExact && { distinctIsLeast: true }),
    years,
  };
}
