/**
 * Dates of records as real files have them, in standard and in other forms.
 *
 * ```
 *   2008-10-294T05:21:46-0700      ClueWeb09: the third part is the day of the year
 *   2024-03-01T12:00:00+02:00      an offset, where the standard wants UTC and a Z
 *   Fri, 01 Mar 2024 10:00:00 GMT  as in HTTP
 *   2016020900                     ARC: 4 to 18 digits, of which the first 14 count; some have 00 for a month or a day,
 *   20160211000000jpg              and some have letters behind them
 * ```
 * A text that means exactly one time is understood. Nothing is guessed: a digest in the place of a date has no time.
 */
import { type EpochMs, formatW3cDate, parseTimestamp, parseW3cDate } from './time.ts';

/** W3CDTF in UTC, as ISO 28500 requires for a WARC-Date. */
const STANDARD = /^\d{4}(-\d\d(-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?Z)?)?)?$/;

/** Whether a WARC-Date has a form that the standard allows. */
export function isStandardDate(text: string): boolean {
  return STANDARD.test(text) && parseW3cDate(text) !== undefined;
}

/**
 * A date in a standard form: the text itself if its form is standard, else its time in a standard form; undefined when
 * the text does not mean a time.
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

/** The time that a record's date means, in whatever form; undefined when it does not mean a time. */
export function parseRecordDate(text: string): EpochMs | undefined {
  const standard = parseW3cDate(text);
  if (standard !== undefined) return standard;
  const date = text.trim();
  return parseDigits(date) ?? parseDayOfYear(date) ?? parseInWords(date);
}

function parseDigits(text: string): EpochMs | undefined {
  const digits = DIGITS.exec(text)?.[1]?.slice(0, 14);
  if (digits === undefined) return undefined;
  // A month or a day of 00 is unknown, like a missing one.
  const month = digits.slice(4, 6) === '00' ? '01' : digits.slice(4, 6);
  const day = digits.slice(6, 8) === '00' ? '01' : digits.slice(6, 8);
  return parseTimestamp(digits.slice(0, 4) + month + day + digits.slice(8));
}

/**
 * The month and the day of the year must agree. A text without a time of day is refused, because its third part then is
 * a day of the month.
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
