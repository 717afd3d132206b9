/**
 * A URL stored as its difference from its key, since most URLs differ little from what can be rebuilt from the key:
 *
 *     form   bit 0  https, else http
 *            bit 1  `www.` before the host
 *            bit 2  a slash at the end of the path
 *            bit 3  runs of capitals follow as varints: their count, then for each the letters since the last run, and
 *                   its length
 *            bit 4  the URL itself follows, as UTF-8; the other bits mean nothing
 *
 * A form is chosen only if it gives back exactly the same URL, whatever the rules of keys are.
 */
import { DamagedRow, type RowReader, type RowWriter } from './row-bytes.ts';

const HTTPS = 1;
const WWW = 2;
const SLASH = 4;
const CAPITALS = 8;
const WHOLE = 16;

export type UrlDifference = {
  readonly form: number;
  /** Alternately letters to skip and capitals, from the start of the URL. */
  readonly runs: readonly number[];
};

const WHOLE_URL: UrlDifference = { form: WHOLE, runs: [] };

export function urlDifference(key: string, url: string): UrlDifference {
  const hostAt = url.startsWith('https://') ? 8 : url.startsWith('http://') ? 7 : 0;
  if (hostAt === 0) return WHOLE_URL;
  const query = url.indexOf('?', hostAt);
  const pathEnd = query < 0 ? url.length : query;
  let form = hostAt === 8 ? HTTPS : 0;
  if (url.startsWith('www.', hostAt)) form |= WWW;
  // The slash of an empty path is in the key as well.
  if (url.charCodeAt(pathEnd - 1) === 0x2f && url.indexOf('/', hostAt) !== pathEnd - 1) form |= SLASH;
  const rebuilt = rebuiltUrl(key, form);
  if (rebuilt === url) return { form, runs: [] };
  const runs = rebuilt?.length === url.length ? capitalRuns(rebuilt, url) : undefined;
  return runs ? { form: form | CAPITALS, runs } : WHOLE_URL;
}

/** Writes the bytes that follow the form. */
export function writeUrlRest(writer: RowWriter, difference: UrlDifference, url: string): void {
  if (difference.form === WHOLE) writer.utf8(url);
  if ((difference.form & CAPITALS) === 0) return;
  writer.varint(difference.runs.length / 2);
  for (const length of difference.runs) writer.varint(length);
}

export function readUrl(reader: RowReader, key: string, form: number): string {
  if (form === WHOLE) return reader.restUtf8();
  if (form > (HTTPS | WWW | SLASH | CAPITALS)) throw new DamagedRow('a URL has an unknown form');
  const rebuilt = rebuiltUrl(key, form);
  if (rebuilt === undefined) throw new DamagedRow('a URL cannot be made from its key');
  return form & CAPITALS ? withCapitals(rebuilt, reader) : rebuilt;
}

/** `com,example:81)/a?b` becomes `http://example.com:81/a?b`. */
function rebuiltUrl(key: string, form: number): string | undefined {
  const end = key.indexOf(')');
  if (end < 0) return undefined;
  const colon = key.indexOf(':');
  const labelsEnd = colon >= 0 && colon < end ? colon : end;
  let host = '';
  for (let to = labelsEnd; ; ) {
    const comma = to === 0 ? -1 : key.lastIndexOf(',', to - 1);
    host += key.slice(comma + 1, to);
    if (comma < 0) break;
    host += '.';
    to = comma;
  }
  const before = `${form & HTTPS ? 'https://' : 'http://'}${form & WWW ? 'www.' : ''}${host}${key.slice(labelsEnd, end)}`;
  if ((form & SLASH) === 0) return before + key.slice(end + 1);
  const query = key.indexOf('?', end);
  return query < 0 ? `${before}${key.slice(end + 1)}/` : `${before}${key.slice(end + 1, query)}/${key.slice(query)}`;
}

/**
 * The runs of capitals by which `url` differs from `rebuilt`; undefined if it differs in anything else. Both have the
 * same length.
 */
function capitalRuns(rebuilt: string, url: string): number[] | undefined {
  const runs: number[] = [];
  let last = 0;
  for (let at = 0; at < url.length; at++) {
    if (url.charCodeAt(at) === rebuilt.charCodeAt(at)) continue;
    const start = at;
    while (at < url.length && isRaised(rebuilt.charCodeAt(at), url.charCodeAt(at))) at++;
    if (at === start) return undefined;
    runs.push(start - last, at - start);
    last = at;
    at--;
  }
  return runs;
}

function isRaised(letter: number, capital: number): boolean {
  return letter >= 0x61 && letter <= 0x7a && capital === letter - 0x20;
}

function withCapitals(rebuilt: string, reader: RowReader): string {
  let url = '';
  let at = 0;
  for (let left = reader.varint(); left > 0; left--) {
    const start = at + reader.varint();
    const end = start + reader.varint();
    if (end > rebuilt.length) throw new DamagedRow('capitals are beyond the end of their URL');
    url += rebuilt.slice(at, start) + rebuilt.slice(start, end).toUpperCase();
    at = end;
  }
  return url + rebuilt.slice(at);
}
