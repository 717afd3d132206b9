/**
 * Finds the answer to a form or a script that sent something. The catalog files such answers under the key of their URL, like all others; what was sent
 * stands in the request record behind the answer, as nearly all crawlers write it. So the candidates are few, and their requests tell which is meant.
 */
import type { Archive } from '../archive/index.ts';
import { concat, copyOf } from '../base/index.ts';
import { requestKey, type UrlKey } from '../url/index.ts';
import { BlockScanner } from '../warc/index.ts';
import type { Capture } from './capture.ts';

/** How far behind an answer its request is looked for, and how much of a request is read. */
const REQUEST_BYTES_MAX = 1024 * 1024;
/** Keys hold no more of a body than this can show. */
const BODY_BYTES_MAX = 64 * 1024;
const CANDIDATES_MAX = 16;

/** Those of the captures whose request had this key; the order stays. */
export async function capturesOfExchange(
  archive: Archive,
  captures: readonly Capture[],
  key: UrlKey,
): Promise<Capture[]> {
  const found: Capture[] = [];
  for (const capture of captures.slice(0, CANDIDATES_MAX)) {
    if ((await keyOfExchange(archive, capture)) === key) found.push(capture);
  }
  return found;
}

/** The key of a capture with what its request sent; undefined when no request stands behind it. */
async function keyOfExchange(archive: Archive, capture: Capture): Promise<UrlKey | undefined> {
  const { segment, offset, length } = capture.place;
  const from = offset + length;
  const left = archive.shelf.get(segment).bytes - from;
  if (left <= 0) return undefined;
  const records = archive.access.records({ segment, offset: from, length: Math.min(left, REQUEST_BYTES_MAX) });
  for await (const record of records) {
    const { head } = record;
    if (head.type !== 'request' || head.targetUri !== capture.url) return undefined;
    const pieces: Uint8Array[] = [];
    let size = 0;
    const scanner = new BlockScanner(head, {
      onPayload: (bytes) => {
        if (size < BODY_BYTES_MAX) pieces.push(copyOf(bytes));
        size += bytes.length;
      },
    });
    for await (const piece of record.body()) scanner.push(piece);
    const { http } = scanner.end();
    const method = http?.method?.toUpperCase();
    if (!http || method === undefined) return undefined;
    return requestKey(capture.url, method, concat(pieces), http.get('content-type') ?? '');
  }
  return undefined;
}
