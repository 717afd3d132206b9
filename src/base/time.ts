/**
 * Times as web archives write them.
 *
 * - W3CDTF (`2024-03-01T10:00:00.25Z`): WARC-Date, any precision from the year to nanoseconds, always UTC.
 * - Timestamps (`20240301100000`): CDX, ARC and replay URLs; 14 digits, or 17 with milliseconds, or a shorter prefix.
 *
 * Inside Pinakes a time is milliseconds since 1970 (`EpochMs`). The text of a record's own date is kept beside it,
 * because revisits refer to it letter for letter.
 */
import { assert } from './assert.ts';
import { COLON } from './bytes.ts';

export type EpochMs = number;

/** The present, passed in so that tests can control it. */
export type Clock = () => EpochMs;

const W3CDTF =
  /^(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[Tt ](\d{2}):?(\d{2})(?::?(\d{2})(?:[.,](\d{1,9}))?)?(Z|z|[+-]\d{2}:?\d{2})?)?)?)?$/;

/** The years of four digits; a time outside them has no WARC-Date and no timestamp. */
const EARLIEST: EpochMs = Date.parse('0000-01-01T00:00:00Z');
const LATEST: EpochMs = Date.parse('9999-12-31T23:59:59.999Z');

/** The time of a WARC-Date; undefined for any other text. A date of less precision means the start of its period. */
export function parseW3cDate(text: string): EpochMs | undefined {
  const quick = text.length === 20 || text.length === 24 ? parseCommonForm(text) : undefined;
  if (quick !== undefined) return quick;
  const match = W3CDTF.exec(text.trim());
  if (!match) return undefined;
  const time = utc(match[1]!, match[2] ?? '01', match[3] ?? '01', match[4] ?? '0', match[5] ?? '0', match[6] ?? '0');
  const offset = offsetMs(match[8]);
  if (time === undefined || offset === undefined) return undefined;
  return inRange(time + Number((match[7] ?? '').slice(0, 3).padEnd(3, '0')) - offset);
}

function offsetMs(zone: string | undefined): number | undefined {
  if (!zone || zone === 'Z' || zone === 'z') return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(-2));
  if (hours > 23 || minutes > 59) return undefined;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}

function inRange(time: EpochMs): EpochMs | undefined {
  return time >= EARLIEST && time <= LATEST ? time : undefined;
}

const HYPHEN = 0x2d;
const FULL_STOP = 0x2e;
const LETTER_T = 0x54;
const LETTER_Z = 0x5a;

/**
 * The common forms `2024-03-01T10:00:00Z` and `...00.250Z`, read without the regular expression; undefined for all
 * others.
 */
function parseCommonForm(text: string): EpochMs | undefined {
  const hasSeparators =
    text.charCodeAt(4) === HYPHEN &&
    text.charCodeAt(7) === HYPHEN &&
    text.charCodeAt(10) === LETTER_T &&
    text.charCodeAt(13) === COLON &&
    text.charCodeAt(16) === COLON &&
    text.charCodeAt(text.length - 1) === LETTER_Z;
  if (!hasSeparators || (text.length === 24 && text.charCodeAt(19) !== FULL_STOP)) return undefined;
  const year = digits(text, 0, 4);
  const month = digits(text, 5, 7);
  const day = digits(text, 8, 10);
  const hour = digits(text, 11, 13);
  const minute = digits(text, 14, 16);
  const second = digits(text, 17, 19);
  const millisecond = text.length === 24 ? digits(text, 20, 23) : 0;
  const time = plainTime(year, month, day, hour, minute, second);
  return time !== undefined && millisecond < 1000 ? time + millisecond : undefined;
}

/**
 * The time of ordinary parts; undefined when they need a closer look, as the last days of a month do.
 */
function plainTime(
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number,
): EpochMs | undefined {
  const isPlain = year >= 1000 && month >= 1 && month <= 12 && day >= 1 && day <= 28;
  if (!isPlain || !(hour < 24 && minute < 60 && second < 60)) return undefined;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/** The number written by the digits in [from, to); NaN when other characters are among them. */
function digits(text: string, from: number, to: number): number {
  let number = 0;
  for (let i = from; i < to; i++) {
    const digit = text.charCodeAt(i) - 0x30;
    if (digit < 0 || digit > 9) return Number.NaN;
    number = number * 10 + digit;
  }
  return number;
}

/** The time of a timestamp of 4 to 17 digits: the earliest moment that it can mean. */
export function parseTimestamp(text: string): EpochMs | undefined {
  return (text.length === 14 ? parseCommonTimestamp(text) : undefined) ?? parseAnyTimestamp(text);
}

/** The common form of 14 digits, read without the regular expression. */
function parseCommonTimestamp(text: string): EpochMs | undefined {
  return plainTime(
    digits(text, 0, 4),
    digits(text, 4, 6),
    digits(text, 6, 8),
    digits(text, 8, 10),
    digits(text, 10, 12),
    digits(text, 12, 14),
  );
}

function parseAnyTimestamp(text: string): EpochMs | undefined {
  if (!/^\d{4,17}$/.test(text) || (text.length < 14 && text.length % 2 === 1)) return undefined;
  const part = (from: number, to: number, least: string) => (text.length >= to ? text.slice(from, to) : least);
  const time = utc(
    text.slice(0, 4),
    part(4, 6, '01'),
    part(6, 8, '01'),
    part(8, 10, '0'),
    part(10, 12, '0'),
    part(12, 14, '0'),
  );
  return time === undefined ? undefined : inRange(time + Number(text.slice(14, 17).padEnd(3, '0')));
}

/** The last millisecond that a timestamp of 4 to 17 digits can mean, for the end of a range. */
export function parseTimestampEnd(text: string): EpochMs | undefined {
  const start = parseTimestamp(text);
  if (start === undefined) return undefined;
  if (text.length > 14) return start + 10 ** (17 - text.length) - 1;
  if (text.length === 14) return start + 999;
  const date = new Date(start);
  if (text.length === 4) date.setUTCFullYear(date.getUTCFullYear() + 1);
  else if (text.length === 6) date.setUTCMonth(date.getUTCMonth() + 1);
  else if (text.length === 8) date.setUTCDate(date.getUTCDate() + 1);
  else if (text.length === 10) date.setUTCHours(date.getUTCHours() + 1);
  else date.setUTCMinutes(date.getUTCMinutes() + 1);
  return date.getTime() - 1;
}

/**
 * A time in a query: a timestamp, a date as WARC files write it, or a date with slashes. It means the whole year, day,
 * minute, second or fraction that it names. Returns the first moment of that period or, for the end of a range, the
 * last.
 */
export function parseAskedTime(text: string, side: 'start' | 'end' = 'start'): EpochMs | undefined {
  const asked = text.trim();
  const timestamp = /^\d{4}([-/]\d{2}([-/]\d{2})?)?$/.test(asked) ? asked.replace(/[-/]/g, '') : asked;
  if (/^\d+$/.test(timestamp)) return side === 'end' ? parseTimestampEnd(timestamp) : parseTimestamp(timestamp);
  const start = parseW3cDate(asked);
  return start === undefined || side === 'start' ? start : start + namedMs(asked) - 1;
}

/** The length of the last part of a date with a time of day; at least a millisecond. */
function namedMs(text: string): number {
  const [, , , , , , second, fraction] = W3CDTF.exec(text)!;
  if (fraction !== undefined) return 10 ** Math.max(0, 3 - fraction.length);
  return second === undefined ? 60_000 : 1000;
}

function utc(
  year: string,
  month: string,
  day: string,
  hour: string,
  minute: string,
  second: string,
): EpochMs | undefined {
  const [m, d, h, mi, s] = [Number(month), Number(day), Number(hour), Number(minute), Number(second)];
  if (m < 1 || m > 12 || d < 1 || d > 31 || h > 24 || mi > 59 || s > 60) return undefined;
  if (h === 24 && (mi > 0 || s > 0)) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), m - 1, d);
  if (date.getUTCDate() !== d) return undefined;
  return date.getTime() + ((h * 60 + mi) * 60 + s) * 1000;
}

/** 14 digits, whole seconds, floored. */
export function formatTimestamp(time: EpochMs): string {
  // The message is made only when needed: index lines and links use this function by the million.
  if (inRange(time) === undefined) assert(false, `the time ${time} has no timestamp`);
  const text = new Date(time).toISOString();
  return `${text.slice(0, 4)}${text.slice(5, 7)}${text.slice(8, 10)}${text.slice(11, 13)}${text.slice(14, 16)}${text.slice(17, 19)}`;
}

/** WARC-Date: whole seconds when the time is whole seconds, else milliseconds. */
export function formatW3cDate(time: EpochMs): string {
  if (inRange(time) === undefined) assert(false, `the time ${time} has no WARC-Date`);
  const text = new Date(time).toISOString();
  return text.endsWith('.000Z') ? `${text.slice(0, -5)}Z` : text;
}
