/**
 * Times in CDX queries. A time of any number of digits means all moments that begin with these digits. As the start of
 * a range it means the first of these moments, as the end the last.
 */
import { type EpochMs, parseTimestamp, parseTimestampEnd } from '../../base/index.ts';
import { badRequest } from '../http/problem.ts';

export function parseFrom(text: string | null): EpochMs | undefined {
  return text ? orRefuse(earliest(text), text) : undefined;
}

export function parseTo(text: string | null): EpochMs | undefined {
  return text ? orRefuse(latest(text), text) : undefined;
}

export function parseClosest(text: string): EpochMs {
  return orRefuse(earliest(text), text);
}

const DIGITS = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'];

function earliest(text: string): EpochMs | undefined {
  if (!/^\d{1,17}$/.test(text)) return undefined;
  const year = text.length < 4 ? text.padEnd(4, '0') : text;
  return firstValid(wholeForms(year, DIGITS), parseTimestamp);
}

function latest(text: string): EpochMs | undefined {
  if (!/^\d{1,17}$/.test(text)) return undefined;
  const year = text.length < 4 ? text.padEnd(4, '9') : text;
  return firstValid(wholeForms(year, DIGITS.toReversed()), parseTimestampEnd);
}

/**
 * A number that has only its tens digit, as in 2024-02-3, is completed with the first digit that makes a valid date.
 */
function wholeForms(text: string, units: readonly string[]): string[] {
  return text.length >= 14 || text.length % 2 === 0 ? [text] : units.map((unit) => text + unit);
}

function firstValid(forms: readonly string[], parse: (text: string) => EpochMs | undefined): EpochMs | undefined {
  for (const form of forms) {
    const time = parse(form);
    if (time !== undefined) return time;
  }
  return undefined;
}

function orRefuse(time: EpochMs | undefined, text: string): EpochMs {
  if (time === undefined)
    throw badRequest('the time is not valid', 'Write a time in 1 to 14 digits: 2024, 20240301, 20240301120000.', text);
  return time;
}
