/**
 * Dates of records as they are found in files, which are not always as the standards ask.
 *
 * ```
 *   2008-10-294T05:21:46-0700      ClueWeb09: the third part is the day of the year
 *   2024-03-01T12:00:00+02:00      an offset, where the standard wants UTC and a Z
 *   Fri, 01 Mar 2024 10:00:00 GMT  as in HTTP
 *   2016020900                     ARC: 4 to 18 digits, of which the first 14 count; some have 00 for a month or a day,
 *   20160211000000jpg              and some have letters behind them
 * ```
 * What means exactly one time is worked out. Nothing is guessed: a digest where a date belongs has no time.
 */
import { type EpochMs, formatW3cDate, parseTimestamp, parseW3cDate } from './time.ts';

/** W3CDTF in UTC, as ISO 28500 asks of a WARC-Date. */
const STANDARD = /^\d{4}(-\d\d(-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?Z)?)?)?$/;

/** Whether a WARC-Date is written as the standard asks. */
export function isStandardDate(text: string): boolean {
  return STANDARD.test(text) && parseW3cDate(text) !== undefined;
}

/**
 * A date as a record may say it: as written, or what that means where the standard forbids it; undefined when it means
 * no time.
 */
export function standardDate(text: string): string | undefined {
  if (isStandardDate(text)) return text;
  const time = parseRecordDate(text);
  return time === undefined ? undefined : formatW3cDate(time);
}

const DAY_OF_YEAR = /^(\d{4})-(?:(\d{2})-)?(\d{1,3})([Tt ].*)?$/;
const DIGITS = /^(\d{4,18})[A-Za-z]{0,8}$/;
const IN_WORDS =
  /^(?:[A-Z][a-z]{2,8},? )?(\d{1,2})[ -]([A-Z][a-z]{2})[ -](\d{4}) (\d\d:\d\d:\d\d) (?:GMT|UTC|Z|([+-]\d{4}))$/;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** The time that a date of a record means, however it is written; undefined when it means none. */
export function parseRecordDate(text: string): EpochMs | undefined {
  const standard = parseW3cDate(text);
  if (standard !== undefined) return standard;
  const date = text.trim();
  return parseDigits(date) ?? parseDayOfYear(date) ?? parseInWords(date);
}

function parseDigits(text: string): EpochMs | undefined {
  const digits = DIGITS.exec(text)?.[1]?.slice(0, 14);
  if (digits === undefined) return undefined;
  // A month or a day of 00 says only that it is not known, like one that is missing.
  const month = digits.slice(4, 6) === '00' ? '01' : digits.slice(4, 6);
  const day = digits.slice(6, 8) === '00' ? '01' : digits.slice(6, 8);
  return parseTimestamp(digits.slice(0, 4) + month + day + digits.slice(8));
}

/**
 * A month and a day of the year have to agree. Without a time of day the third part is a day of the month, and wrong.
 */
function parseDayOfYear(text: string): EpochMs | undefined {
  const match = DAY_OF_YEAR.exec(text);
  if (!match) return undefined;
  const [, year, month, day, rest = ''] = match;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), 0, Number(day));
  const written = date.toISOString().slice(0, 10);
  const isOfYear = Number(day) > 0 && written.startsWith(`${year}-${month ?? ''}`);
  return isOfYear && rest !== '' ? parseW3cDate(written + rest) : undefined;
}

function parseInWords(text: string): EpochMs | undefined {
  const match = IN_WORDS.exec(text);
  const month = match ? MONTHS.indexOf(match[2]!) + 1 : 0;
  if (!match || month === 0) return undefined;
  const [, day, , year, time, zone = 'Z'] = match;
  return parseW3cDate(`${year}-${String(month).padStart(2, '0')}-${day!.padStart(2, '0')}T${time}${zone}`);
}
