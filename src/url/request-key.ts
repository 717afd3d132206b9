/**
 * Keys of requests other than GET: the URL's key with method and body in its query, so that responses to different
 * POSTs to one URL have different keys, `com,example)/api?__wb_method=post&id=5`.
 *
 * The keys follow the dialect of pywb and cdxj-indexer. JSON literals are written as Python prints them: `True`,
 * `False`, `None`. Keys are in lower case, so only `None` differs from warcio.js, which writes `null`. The body becomes
 * query text by its declared type:
 *
 *     application/x-www-form-urlencoded   the decoded pairs
 *     multipart/*                         name=value of each part
 *     application/json                    last member name=leaf, repeats as name.2_; nothing if it is not JSON
 *     text/plain                          the same if it is JSON, else as other types
 *     other types                         __wb_post_data=<base64>
 *
 * The query text is cut after 4096 characters. Nothing throws, whatever the body.
 */
import { view } from '../base/index.ts';
import { jsonLeaves } from './json-leaf.ts';
import { formParts } from './multipart.ts';
import { escapeForm, toByteString, unescapeForm } from './percent.ts';
import { type UrlKey, urlKey } from './url-key.ts';

const QUERY_CHARACTERS_MAX = 4096;

/** The methods whose body is part of the key. */
const BODY_METHODS: ReadonlySet<string> = new Set(['POST', 'PUT']);

/** The key of a request and its response. For GET it is the key of the URL; `body` has its codings removed. */
export function requestKey(url: string, method: string, body: Uint8Array, contentType: string): UrlKey {
  const name = method.trim().toUpperCase();
  if (name === 'GET' || name === '') return urlKey(url);
  // The method must not follow the fragment, which keys drop.
  const hash = url.indexOf('#');
  const bare = hash < 0 ? url : url.slice(0, hash);
  const query = BODY_METHODS.has(name) ? requestBodyQuery(body, contentType) : '';
  return urlKey(`${bare}${bare.includes('?') ? '&' : '?'}__wb_method=${name}${query === '' ? '' : `&${query}`}`);
}

/** A request body as query text, the `requestBody` of CDXJ files. */
export function requestBodyQuery(body: Uint8Array, contentType: string): string {
  const query = wholeQuery(body, contentType);
  return query.length <= QUERY_CHARACTERS_MAX ? query : firstCharacters(query);
}

/** Types are compared with their letter case, as existing indexes do. */
function wholeQuery(body: Uint8Array, type: string): string {
  if (type.startsWith('application/x-www-form-urlencoded')) {
    const text = utf8Text(body);
    return text === undefined ? binaryQuery(body) : unescapeForm(text);
  }
  if (type.startsWith('multipart/')) {
    const parts = formParts(body, type);
    return parts ? parts.map(({ name, value }) => pair(name, value)).join('&') : binaryQuery(body);
  }
  if (type.startsWith('application/json')) return jsonQuery(body) ?? '';
  if (type.startsWith('text/plain')) return jsonQuery(body) ?? binaryQuery(body);
  return binaryQuery(body);
}

function pair(name: string, value: string): string {
  return `${escapeForm(name)}=${escapeForm(value)}`;
}

/** The largest part of the body that can appear in the cut query. */
const BINARY_BYTES_MAX = (QUERY_CHARACTERS_MAX / 4) * 3;

function binaryQuery(body: Uint8Array): string {
  return `__wb_post_data=${view(body.subarray(0, BINARY_BYTES_MAX)).toString('base64')}`;
}

/** The cut counts characters, not the halves of surrogate pairs. */
function firstCharacters(text: string): string {
  let at = 0;
  for (let count = 0; count < QUERY_CHARACTERS_MAX && at < text.length; count++) {
    at += text.codePointAt(at)! > 0xffff ? 2 : 1;
  }
  return text.slice(0, at);
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function utf8Text(body: Uint8Array): string | undefined {
  try {
    return UTF8.decode(body);
  } catch {
    return undefined;
  }
}

/** Reads a body that is one JSON text, or one JSON text per line. */
function jsonQuery(body: Uint8Array): string | undefined {
  const text = utf8Text(body)?.replace(/^\ufeff/, '');
  if (text === undefined) return undefined;
  const whole = jsonLeaves(text);
  const lines = whole || !text.includes('\n') ? [whole] : text.split('\n').map(jsonLeaves);
  const values = new Map<string, string>();
  const counts = new Map<string, number>();
  let characters = 0;
  for (const leaves of lines) {
    if (!leaves) return undefined;
    for (const { name, value } of leaves) {
      if (!name.isWellFormed() || !value.isWellFormed()) return undefined;
      // Beyond the limit the text is only checked.
      if (characters > QUERY_CHARACTERS_MAX) continue;
      characters += name.length + value.length;
      values.set(freeName(name, values, counts), value);
    }
  }
  return Array.from(values, ([name, value]) => pair(toByteString(name), toByteString(value))).join('&');
}

/** The name itself for its first value, then `name.2_`, `name.3_` and so on. */
function freeName(name: string, values: ReadonlyMap<string, string>, counts: Map<string, number>): string {
  if (!values.has(name)) return name;
  const count = (counts.get(name) ?? 1) + 1;
  counts.set(name, count);
  return `${name}.${count}_`;
}
