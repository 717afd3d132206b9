/**
 * Finds captures in spite of cache busters, numbers that scripts put into a URL so that no cache answers:
 * `?_=1583020800123`, `?rnd=0.4416409465020576`. In replay a script makes other numbers, so the URL that it requests is
 * not in the archive. The page means a capture whose URL differs only in such numbers.
 *
 * An argument counts if its name and value look like a cache buster, or if its value looks like a random number. A time
 * that selects data does not count.
 *
 * Names that scripts make up for a callback (JSONP) differ in the same way: `?callback=jQuery1102_1583020800123`. The
 * captured script calls the function by its name at the time of capture. `withCallback` changes this name to the name
 * that the page uses now.
 */
import type { EpochMs } from '../../base/index.ts';
import type { UrlKey } from '../../url/index.ts';
import type { Capture, CaptureSource } from './capture.ts';

const NAMES: ReadonlySet<string> = new Set(
  '_ _t _ts _dc cb t ts r rnd rand random nocache cachebust cachebuster'.split(' '),
);
/** A time of this century in seconds or milliseconds, or a result of `Math.random`. */
const NUMBER = /^(?:1\d{9}(?:\d{3})?|0\.\d{6,})$/;
const RANDOM = /^0\.\d{10,}$/;
/** An argument without a name, `app.js?1583020800123`: milliseconds, or a random number. */
const BARE = /^(?:1\d{12}|0\.\d{10,})$/;
/** Arguments that name a callback, in lower case. jQuery and others put a new number into each name of a callback. */
const CALLBACKS: ReadonlySet<string> = new Set('callback jsonp jsonpcallback jsoncallback cb'.split(' '));
const FUNCTION_NAME = /^[a-z_$][\w$.]*$/i;
/** The call is searched in this many characters: a comment, or a check that the function exists, may precede it. */
const CALL_WITHIN = 512;
const SCANNED_MAX = 1000;
const PAGE_SIZE = 200;

/** The key without cache busters; undefined if it has none. */
function withoutBuster(key: string): string | undefined {
  const question = key.indexOf('?');
  if (question < 0) return undefined;
  const all = key.slice(question + 1).split('&');
  const kept = all.filter((argument) => !isBuster(argument));
  return kept.length === all.length ? undefined : `${key.slice(0, question)}?${kept.join('&')}`;
}

function isBuster(argument: string): boolean {
  const equals = argument.indexOf('=');
  if (equals < 0) return BARE.test(argument);
  const name = argument.slice(0, equals);
  const value = argument.slice(equals + 1);
  if (CALLBACKS.has(name) && isMadeName(value)) return true;
  return RANDOM.test(value) || (NAMES.has(name) && NUMBER.test(value));
}

function isMadeName(value: string): boolean {
  return FUNCTION_NAME.test(value) && /\d{3}/.test(value.slice(value.lastIndexOf('.') + 1));
}

/** The text of a script, in which the callback of the captured URL is replaced by the callback of the requested URL. */
export function withCallback(text: string, captured: string, requested: string): string {
  const from = callbackOf(captured);
  const to = callbackOf(requested);
  if (from === undefined || to === undefined || from === to) return text;
  const at = text.slice(0, CALL_WITHIN).indexOf(`${from}(`);
  if (at < 0) return text;
  const end = at + from.length;
  return text.slice(0, end).replaceAll(from, () => to) + text.slice(end);
}

function callbackOf(url: string): string | undefined {
  for (const [name, value] of URL.parse(url)?.searchParams ?? [])
    if (CALLBACKS.has(name.toLowerCase()) && isMadeName(value)) return value;
  return undefined;
}

/** The capture nearest in time whose key differs only in cache busters. */
export async function captureWithOtherBuster(
  archive: Pick<CaptureSource, 'captures'>,
  key: UrlKey,
  at: EpochMs | undefined,
): Promise<Capture | undefined> {
  const plain = withoutBuster(key);
  if (plain === undefined) return undefined;
  const path = plain.slice(0, plain.indexOf('?') + 1);
  let best: Capture | undefined;
  let scanned = 0;
  const distance = ({ time }: Capture) => (at === undefined ? -time : Math.abs(time - at));
  // `@` is the character after `?`, so it ends the range.
  for await (const page of archive.captures({ keyFrom: path, keyTo: `${path.slice(0, -1)}@` }, PAGE_SIZE)) {
    for (const capture of page) {
      if (withoutBuster(capture.urlKey) === plain && (!best || distance(capture) < distance(best))) best = capture;
    }
    scanned += page.length;
    if (scanned >= SCANNED_MAX) break;
  }
  return best;
}
