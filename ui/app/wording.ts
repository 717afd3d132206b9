/** Formats numbers, sizes, times and addresses for people. All times are UTC, as in the records. */
import { readableHost } from './readable-host.ts';

/** 12 345 with a narrow space, in every locale. */
export function formatCount(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

export function counted(count: number, singular: string, plural: string = `${singular}s`): string {
  return `${formatCount(count)} ${noun(count, singular, plural)}`;
}

/** The singular or plural of a noun, without the number. */
export function noun(count: number, singular: string, plural: string = `${singular}s`): string {
  return count === 1 ? singular : plural;
}

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB', 'PB'];

export function formatBytes(bytes: number): string {
  let value = Math.abs(bytes);
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  const digits = unit === 0 || value >= 9.95 ? value.toFixed(0) : value.toFixed(1);
  const sign = bytes < 0 ? '\u2212' : '';
  return `${sign}${digits} ${unit === 0 && value === 1 ? 'byte' : UNITS[unit]}`;
}

export function formatPercent(part: number, whole: number): string {
  if (whole <= 0) return '\u2013';
  const percent = (100 * part) / whole;
  return `${percent !== 0 && Math.abs(percent) < 9.95 ? percent.toFixed(1) : percent.toFixed(0)} %`;
}

const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

/** 1 to 12. */
export function monthName(month: number): string {
  return MONTHS[month - 1] ?? '';
}

/** Weeks begin on Monday (ISO 8601). */
export const WEEKDAYS: readonly string[] = [
  'Monday',
  'Tuesday',
  'Wednesday',
  'Thursday',
  'Friday',
  'Saturday',
  'Sunday',
];

/** The index in WEEKDAYS of a date: 6 for 2024-03-03. */
export function weekdayOf(date: string): number {
  return (new Date(`${date.slice(0, 10)}T00:00:00Z`).getUTCDay() + 6) % 7;
}

/** 3 March 2024, from a W3C date or a calendar date. */
export function formatDay(time: string): string {
  const [year, month, day] = time.slice(0, 10).split('-').map(Number);
  return `${day} ${monthName(month ?? 0)} ${year}`;
}

/** 3 Mar 2024. */
export function formatShortDay(time: string): string {
  const [year, month, day] = time.slice(0, 10).split('-').map(Number);
  return `${day} ${monthName(month ?? 0).slice(0, 3)} ${year}`;
}

/** 3 Mar 2024 – 9 May 2025, or a single day. */
export function formatSpan(first: string, last: string): string {
  const [from, to] = [formatShortDay(first), formatShortDay(last)];
  return from === to ? from : `${from} \u2013 ${to}`;
}

/** from 3 March 2024 to 9 May 2025, or on 3 March 2024. */
export function spanWords(first: string, last: string): string {
  const [from, to] = [formatDay(first), formatDay(last)];
  return from === to ? `on ${from}` : `from ${from} to ${to}`;
}

/** 14:05:09 */
export function formatClock(time: string): string {
  return time.slice(11, 19);
}

export function formatTime(time: string): string {
  return `${formatDay(time)}, ${formatClock(time)} UTC`;
}

/** 2024-03-03T14:05:09Z, from 14 digits. */
export function w3cDate(timestamp: string): string {
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(timestamp) ?? [];
  return `${year}-${month}-${day}T${hour}:${minute}:${second}Z`;
}

/** 4 min 10 s, between two W3C dates. */
export function formatDuration(from: string, to: string): string {
  const seconds = Math.max(0, Math.round((Date.parse(to) - Date.parse(from)) / 1000));
  if (seconds === 0) return 'less than 1 s';
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** An address without its scheme and the slash of a bare host, with readable letters. */
export function shownUrl(url: string): string {
  const bare = url.replace(/^https?:\/\//i, '').replace(/^([^/]+)\/$/, '$1');
  return readableUrl(bare.replace(/^[^/?#]+/, readableHost));
}

/**
 * Decodes the %-escapes of letters and digits of all scripts. All other escapes stay: spaces, direction controls and
 * the like would make the address look like another one.
 */
export function readableUrl(url: string): string {
  return url.replace(/(?:%[89a-f][0-9a-f])+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes).replace(/[^\p{L}\p{M}\p{N}]/gu, encodeURIComponent);
    } catch {
      return escapes;
    }
  });
}

/** Cuts out the middle of a long text, because its beginning and end distinguish it from others. */
export function shortened(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  const end = Math.floor(lengthMax * 0.3);
  // Do not cut surrogate pairs.
  return `${text.slice(0, lengthMax - end - 1).replace(/[\ud800-\udbff]$/, '')}\u2026${text.slice(-end).replace(/^[\udc00-\udfff]/, '')}`;
}

/** A short name for a media type: HTML for text/html. */
export function kindOfContent(mime: string): string {
  const [type = '', subtype = ''] = mime.split(';')[0]!.trim().toLowerCase().split('/');
  if (subtype === '') return mime || 'unknown';
  if (subtype === 'html' || subtype === 'xhtml+xml') return 'HTML';
  if (/javascript|ecmascript/.test(subtype)) return 'script';
  if (subtype === 'pdf') return 'PDF';
  if (subtype === 'css') return 'CSS';
  if (subtype === 'svg+xml') return 'SVG';
  if (/(?:^|\+)json$/.test(subtype)) return 'JSON';
  if (/(?:^|\+)xml$/.test(subtype)) return 'XML';
  if (type === 'image') return `${subtype.replace(/^x-/, '').toUpperCase()} image`;
  if (type === 'font') return 'font';
  if (type === 'audio' || type === 'video') return type;
  return mime.split(';')[0]!.trim();
}
