/**
 * Finds the captured answer to data that a form or a script sends. The catalog has these answers under the key of their
 * URL, like all others. The data are in the request record, which nearly all crawlers write after the answer. So the
 * candidates are few, and their request records show which one matches.
 */
import { concat, copyOf, LruCache } from '../../base/index.ts';
import { requestKey, type UrlKey } from '../../url/index.ts';
import { BlockScanner } from '../../warc/index.ts';
import type { Capture, CaptureSource } from './capture.ts';

/** How far after an answer its request is searched, and how much of a request is read. */
const REQUEST_BYTES_MAX = 1024 * 1024;
/**
 * Nearly every request fits into this buffer; longer ones are read again. A larger buffer for every request would cost
 * far more.
 */
const REQUEST_BYTES = 16 * 1024;
/**
 * Pages cannot send more. A part of a body is not valid JSON or form data, and would have another key than the whole.
 */
const BODY_BYTES_MAX = 1024 * 1024;
/** How many requests are kept in memory, in characters of their keys. */
const KEPT_CHARACTERS_MAX = 4 * 1024 * 1024;
const OVERHEAD_CHARACTERS = 256;

/** The method of a request that sends data, and the key of its URL together with the data. */
export type Exchange = { readonly method: string; readonly key: UrlKey };

/** Whether a capture answers this exchange, or a request of another method; undefined if neither is known. */
export async function relationTo(
  { method, key }: Exchange,
  archive: Records,
  capture: Capture,
): Promise<'answer' | 'other' | undefined> {
  const request = await requestOf(archive, capture);
  if (request?.key === key) return 'answer';
  return request && request.method !== method && isSending(request.method) ? 'other' : undefined;
}

/** Whether a capture may answer a link. Answers to a request that sent data, or to HEAD, may not. */
export async function answersGet(archive: Records, capture: Capture): Promise<boolean> {
  const request = await requestOf(archive, capture);
  return request === undefined || request.method === 'GET';
}

function isSending(method: string): boolean {
  return method !== 'GET' && method !== 'HEAD';
}

type Records = Pick<CaptureSource, 'records'>;
type Found = { readonly request?: Exchange; readonly isWhole: boolean };

/**
 * The requests found, by the place of the capture. The record after a capture never changes. Without this cache, each
 * request for a missing answer would read hundreds of records.
 */
const KEPT = new WeakMap<Records, LruCache<string, Found>>();

/** The method and key of the request record after a capture; undefined if there is none. */
async function requestOf(archive: Records, capture: Capture): Promise<Exchange | undefined> {
  const [location] = await archive.records.locate([capture.place]);
  if (!location) return undefined;
  const { volume, segment, segmentBytes, offset, length } = location;
  const left = segmentBytes - offset - length;
  if (left <= 0) return undefined;
  const kept = KEPT.get(archive) ?? new LruCache(KEPT_CHARACTERS_MAX, charactersOf);
  KEPT.set(archive, kept);
  const key = `${volume}:${segment}:${offset}`;
  let found = kept.get(key) ?? (await requestWithin(archive, capture, left, REQUEST_BYTES));
  if (!found.isWhole) found = await requestWithin(archive, capture, left, REQUEST_BYTES_MAX);
  if (found.isWhole) kept.keep(key, found);
  return found.request;
}

function charactersOf({ request }: Found): number {
  return OVERHEAD_CHARACTERS + (request?.key.length ?? 0);
}

async function requestWithin(archive: Records, capture: Capture, left: number, bytesMax: number): Promise<Found> {
  for await (const record of archive.records.recordsBehind(capture.place, bytesMax)) {
    const { head } = record;
    if (head.type !== 'request' || head.targetUri !== capture.url) return { isWhole: true };
    const pieces: Uint8Array[] = [];
    let size = 0;
    const scanner = new BlockScanner(head, {
      onPayload: (bytes) => {
        if (size < BODY_BYTES_MAX) pieces.push(copyOf(bytes));
        size += bytes.length;
      },
    });
    for await (const piece of record.body()) scanner.push(piece);
    const isWhole = record.damage.length === 0;
    const { http } = scanner.end();
    const method = http?.method?.toUpperCase();
    if (!http || method === undefined) return { isWhole };
    const key = requestKey(capture.url, method, concat(pieces), http.get('content-type') ?? '');
    return { request: { method, key }, isWhole };
  }
  return { isWhole: left <= bytesMax };
}
