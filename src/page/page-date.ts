/**
 * Parses the dates that pages have: W3C dates, dates of mail and HTTP, and a few simple forms. A date without a time
 * zone counts as UTC, so that the result is the same on every machine.
 */
import { type EpochMs, parseTimestamp, parseW3cDate } from '../base/index.ts';

/** The earliest accepted date. It is long before the web, because libraries publish old books and papers. */
const EARLIEST: EpochMs = Date.UTC(1000, 0, 1);
const LATEST: EpochMs = Date.UTC(2200, 0, 1);

export function parsePageDate(text: string): EpochMs | undefined {
  const trimmed = text.trim();
  if (trimmed.length < 4 || trimmed.length > 64) return undefined;
  const time = parseW3cDate(trimmed) ?? parseDigits(trimmed) ?? parseWritten(trimmed);
  return time !== undefined && time >= EARLIEST && time < LATEST ? time : undefined;
}

/** `20240301`, `2024/03/01`, or `D:20240301100000+01'00'` of PDF. */
function parseDigits(text: string): EpochMs | undefined {
  const pdf = /^D:(\d{4,14})(?:([+-])(\d{2})'?(\d{2})?'?|Z.*)?$/.exec(text);
  if (pdf) {
    const time = parseTimestamp(pdf[1]!);
    const offset = pdf[2] === undefined ? 0 : (Number(pdf[3]) * 60 + Number(pdf[4] ?? 0)) * 60_000;
    return time === undefined ? undefined : time - (pdf[2] === '-' ? -offset : offset);
  }
  if (/^(\d{8}|\d{14})$/.test(text)) return parseTimestamp(text);
  const slashed = /^(\d{4})[/.](\d{1,2})[/.](\d{1,2})$/.exec(text);
  return slashed
    ? parseW3cDate(`${slashed[1]}-${slashed[2]!.padStart(2, '0')}-${slashed[3]!.padStart(2, '0')}`)
    : undefined;
}

/** `Fri, 01 Mar 2024 10:00:00 GMT` and other dates with the month as a word. */
function parseWritten(text: string): EpochMs | undefined {
  if (!/[a-z]{3}/i.test(text) || !/\d{4}/.test(text)) return undefined;
  const hasZone = /(?:\b(?:GMT|UTC|UT|Z|[ECMP][SD]T)|[+-]\d{4})\b\s*(?:\([^)]*\))?$/i.test(text);
  const time = Date.parse(hasZone ? text : `${text} UTC`);
  return Number.isNaN(time) ? undefined : time;
}
