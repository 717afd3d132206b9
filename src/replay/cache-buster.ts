/**
 * Numbers that scripts put into a URL so that no cache answers: `?_=1583020800123`, `?rnd=0.4416409465020576`. In replay they come out as others, and nothing is
 * found. What differs from a capture in nothing but such a number is what the page meant.
 *
 * Only arguments that have the name and the look of one count, and what is no more than random; a time that says which data are wanted does not.
 */
import type { Archive } from '../archive/index.ts';
import type { EpochMs } from '../base/index.ts';
import type { UrlKey } from '../url/index.ts';
import type { Capture } from './capture.ts';

const NAMES: ReadonlySet<string> = new Set(
  '_ _t _ts _dc cb t ts r rnd rand random nocache cachebust cachebuster'.split(' '),
);
/** A time of this century in seconds or milliseconds, or what `Math.random` gives. */
const NUMBER = /^(?:1\d{9}(?:\d{3})?|0\.\d{6,})$/;
const RANDOM = /^0\.\d{10,}$/;
const SCANNED_MAX = 1000;
const PAGE_SIZE = 200;

/** The key without such arguments; undefined when it has none. */
export function withoutBuster(key: string): string | undefined {
  const mark = key.indexOf('?');
  if (mark < 0) return undefined;
  const all = key.slice(mark + 1).split('&');
  const kept = all.filter((argument) => !isBuster(argument));
  return kept.length === all.length ? undefined : `${key.slice(0, mark)}?${kept.join('&')}`;
}

function isBuster(argument: string): boolean {
  const equals = argument.indexOf('=');
  if (equals < 0) return false;
  const value = argument.slice(equals + 1);
  return RANDOM.test(value) || (NAMES.has(argument.slice(0, equals)) && NUMBER.test(value));
}

/** The capture nearest in time that differs from a key by such arguments only. */
export async function captureBesideBuster(
  archive: Archive,
  key: UrlKey,
  at: EpochMs | undefined,
): Promise<Capture | undefined> {
  const plain = withoutBuster(key);
  if (plain === undefined) return undefined;
  const path = plain.slice(0, plain.indexOf('?') + 1);
  let best: Capture | undefined;
  let scanned = 0;
  const distance = ({ time }: Capture) => (at === undefined ? -time : Math.abs(time - at));
  // The character behind the question mark ends the range.
  for await (const page of archive.catalog.captures({ keyFrom: path, keyTo: `${path.slice(0, -1)}@` }, PAGE_SIZE)) {
    for (const capture of page) {
      if (withoutBuster(capture.urlKey) === plain && (!best || distance(capture) < distance(best))) best = capture;
    }
    scanned += page.length;
    if (scanned >= SCANNED_MAX) break;
  }
  return best;
}
