/** The Accept-Datetime field (RFC 7089, section 2.1.1): one date in the fixed format of HTTP dates, in GMT. */
import type { EpochMs } from '../../base/index.ts';

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const FORM = /^([A-Z][a-z]{2}), (\d{2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT$/;

/**
 * Returns undefined for any other text. A wrong day of the week is accepted, because the date itself is unambiguous. A
 * day that the month does not have is not accepted.
 */
export function parseAcceptDatetime(text: string): EpochMs | undefined {
  const match = FORM.exec(text.trim());
  if (!match) return undefined;
  const [, weekday, day, monthName, year, hour, minute, second] = match;
  const month = MONTHS.indexOf(monthName!);
  if (month < 0 || !DAYS.includes(weekday!)) return undefined;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), month, Number(day));
  if (date.getUTCDate() !== Number(day)) return undefined;
  return date.getTime() + ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1000;
}
