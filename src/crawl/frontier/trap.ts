/**
 * Recognizes traps: places where a site generates new URLs without end. URLs that look like a trap are not visited, and
 * the report counts them.
 *
 * The URL alone decides. Traps have a path that repeats itself or is too deep, a query with too many parts, or a
 * calendar date far from now. The frontier recognizes session ids: it counts the URLs that share a key.
 */
import type { EpochMs } from '../../base/index.ts';

const SEGMENTS_MAX = 30;
const REPEATS_MAX = 3;
const QUERY_PARTS_MAX = 40;
/** How many years a calendar date may be after the current year, and before it. */
const YEARS_AHEAD = 3;
const YEARS_BACK = 60;

export type TrapKind = 'repeating-path' | 'deep-path' | 'long-query' | 'calendar';

export function trapOf(url: string, now: EpochMs): TrapKind | undefined {
  const pathAt = url.indexOf('/', url.indexOf('//') + 2);
  if (pathAt < 0) return undefined;
  const queryAt = url.indexOf('?', pathAt);
  const path = url.slice(pathAt, queryAt < 0 ? url.length : queryAt);
  const query = queryAt < 0 ? '' : url.slice(queryAt + 1);
  const segments = path.split('/').filter((segment) => segment !== '');
  if (segments.length > SEGMENTS_MAX) return 'deep-path';
  if (repeats(segments)) return 'repeating-path';
  const parts = query === '' ? [] : query.split('&');
  if (parts.length > QUERY_PARTS_MAX) return 'long-query';
  return isFarCalendar(segments, parts, now) ? 'calendar' : undefined;
}

/** Whether a run of segments is repeated (`/a/b/a/b/a/b/a/b`, `/x/x/x/x`), or one segment occurs in many places. */
function repeats(segments: readonly string[]): boolean {
  if (segments.length <= REPEATS_MAX) return false;
  for (const [index, segment] of segments.entries()) {
    if (segment.length < 2) continue;
    let count = 1;
    for (let later = index + 1; later < segments.length; later++) if (segments[later] === segment) count++;
    if (count > REPEATS_MAX && !/^\d+$/.test(segment)) return true;
  }
  for (let length = 1; length <= segments.length / (REPEATS_MAX + 1); length++) {
    for (let start = 0; start + length * (REPEATS_MAX + 1) <= segments.length; start++) {
      let run = 1;
      while (isSameRun(segments, start, start + run * length, length)) run++;
      if (run > REPEATS_MAX) return true;
    }
  }
  return false;
}

function isSameRun(segments: readonly string[], a: number, b: number, length: number): boolean {
  if (b + length > segments.length) return false;
  for (let index = 0; index < length; index++) if (segments[a + index] !== segments[b + index]) return false;
  return true;
}

/**
 * Whether the path or query has a date far from now, as calendars generate: `/calendar/2093/04/`,
 * `?month=3&year=1821`. A year alone in a path is a subject, not a date.
 */
function isFarCalendar(segments: readonly string[], parts: readonly string[], now: EpochMs): boolean {
  const year = yearOf(segments, parts);
  if (year === undefined) return false;
  const present = new Date(now).getUTCFullYear();
  return year > present + YEARS_AHEAD || year < present - YEARS_BACK;
}

const CALENDAR_WORD = /^(cal|calendar|calendars|events?|agenda|day|week|month|archive)$/i;

function yearOf(segments: readonly string[], parts: readonly string[]): number | undefined {
  for (const part of parts) {
    const named = /^(?:year|yr|y|cal_?year)=(\d{4})$/i.exec(part);
    if (named) return Number(named[1]);
    const dated = /^(?:date|month|day|week|start|end|from|to|cal)=(\d{4})-?\d{2}(?:-?\d{2})?$/i.exec(part);
    if (dated) return Number(dated[1]);
  }
  const isCalendar = segments.some((segment) => CALENDAR_WORD.test(segment));
  for (const [index, segment] of segments.entries()) {
    const whole = /^(\d{4})-\d{2}(?:-\d{2})?$/.exec(segment);
    if (whole && isCalendar) return Number(whole[1]);
    const isYear = /^\d{4}$/.test(segment) && /^(0?[1-9]|1[0-2])$/.test(segments[index + 1] ?? '');
    if (isYear && isCalendar) return Number(segment);
  }
  return undefined;
}
