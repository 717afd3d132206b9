/**
 * The token for the next page of results. It has the numbers of the results that were already shown, and the batch of
 * the index that the listing began with. So later additions do not appear, no result is shown twice, and none is
 * skipped, even if scores change meanwhile.
 *
 * ```
 *   base64url of   1, digest of the search (8 characters), batch, then the numbers shown, ascending, as differences;
 *                  all numbers are varints
 * ```
 */
import { hash } from 'node:crypto';
import { badArgument, type PinakesError } from '../../base/index.ts';

const VERSION = 1;
const DIGEST_LENGTH = 8;

export type PageToken = { readonly batch: number; readonly shown: ReadonlySet<number> };

export function searchDigest(search: unknown): string {
  return hash('sha256', JSON.stringify(search), 'base64url').slice(0, DIGEST_LENGTH);
}

export function formatPageToken(digest: string, token: PageToken): string {
  const bytes: number[] = [VERSION, ...Buffer.from(digest, 'latin1')];
  putVarint(bytes, token.batch);
  let last = 0;
  for (const number of [...token.shown].sort((a, b) => a - b)) {
    putVarint(bytes, number - last);
    last = number;
  }
  return Buffer.from(bytes).toString('base64url');
}

export function parsePageToken(text: string, digest: string): PageToken {
  const bytes = Buffer.from(text, 'base64url');
  const isSame = bytes[0] === VERSION && bytes.toString('latin1', 1, 1 + DIGEST_LENGTH) === digest;
  if (!isSame) throw invalidToken();
  let at = 1 + DIGEST_LENGTH;
  const take = () => {
    let value = 0;
    let factor = 1;
    for (;;) {
      const byte = bytes[at++];
      if (byte === undefined || factor > 2 ** 49) throw invalidToken();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 128;
    }
  };
  const batch = take();
  const shown = new Set<number>();
  let last = 0;
  while (at < bytes.length) shown.add((last += take()));
  return { batch, shown };
}

function putVarint(bytes: number[], value: number): void {
  while (value >= 128) {
    bytes.push((value % 128) | 0x80);
    value = Math.floor(value / 128);
  }
  bytes.push(value);
}

function invalidToken(): PinakesError {
  return badArgument('after', 'it does not come from a page of this search');
}
