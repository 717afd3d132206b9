/**
 * Finds the answer to a form or a script that sent something. The catalog files such answers under the key of their
 * URL, like all others; what was sent stands in the request record behind the answer, as nearly all crawlers write it.
 * So the candidates are few, and their requests tell which is meant.
 */
import type { Archive } from '../../archive/index.ts';
import { concat, copyOf, LruCache } from '../../base/index.ts';
import { requestKey, type UrlKey } from '../../url/index.ts';
import { BlockScanner } from '../../warc/index.ts';
import type { Capture } from './capture.ts';

/** How far behind an answer its request is looked for, and how much of a request is read. */
const REQUEST_BYTES_MAX = 1024 * 1024;
/**
 * Into this nearly every request fits; others are read again. Buffers for more would cost far more than the reading.
 */
const REQUEST_BYTES = 16 * 1024;
/**
 * Pages can send no more. A part of a body is no JSON and no form any more, and would have another key than the whole.
 */
const BODY_BYTES_MAX = 1024 * 1024;
/** How much is kept of the requests that were read lately, in characters of their keys. */
const KEPT_CHARACTERS_MAX = 4 * 1024 * 1024;
const OVERHEAD_CHARACTERS = 256;

/** What a request that sent something is known by. */
export type Exchange = { readonly method: string; readonly key: UrlKey };

/**
 * Whether a capture answers such an exchange, or what was sent by another method, which is no answer to it; undefined
 * when it may.
 */
export async function relationTo(
  { method, key }: Exchange,
  archive: Archive,
  capture: Capture,
): Promise<'answer' | 'other' | undefined> {
  const request = await requestOf(archive, capture);
  if (request?.key === key) return 'answer';
  return request && request.method !== method && isSending(request.method) ? 'other' : undefined;
}

/** Whether a capture may answer a link; those to requests that sent something, or asked for the head alone, do not. */
export async function answersReading(archive: Archive, capture: Capture): Promise<boolean> {
  const request = await requestOf(archive, capture);
  return request === undefined || request.method === 'GET';
}

function isSending(method: string): boolean {
  return method !== 'GET' && method !== 'HEAD';
}

type Found = { readonly request?: Exchange; readonly isWhole: boolean };

/**
 * By the place of the capture: what stands behind it never changes. Who asks for what is not there would have hundreds
 * of records read each time.
 */
const KEPT = new WeakMap<Archive, LruCache<string, Found>>();

/** The request that stands behind a capture, and the capture's key with what it sent; undefined when there is none. */
async function requestOf(archive: Archive, capture: Capture): Promise<Exchange | undefined> {
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

async function requestWithin(archive: Archive, capture: Capture, left: number, bytesMax: number): Promise<Found> {
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
