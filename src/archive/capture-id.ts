/**
 * Capture ids: a name for one capture that stays the same when compaction, recompression or migration moves its record.
 * An id can be used in a URL path.
 *
 * ```
 *   <URL key>.<time>.<hash>.<collection>
 *
 *   URL key      base64url of its UTF-8; of a key longer than KEY_BYTES_MAX its beginning, `~`, and 16 bytes of the
 *                SHA-256 of the whole key
 *   time         milliseconds since 1970 in base 36
 *   hash         8 hexadecimal digits that tell captures of one URL and time apart
 *   collection   its number
 * ```
 * A catalog that was lost and made again may number its collections differently. An id still finds its capture if only
 * one collection has a capture with this key, time and hash.
 */
import { digestOf, fromUtf8, utf8 } from '../base/index.ts';
import type { Capture, CatalogView } from '../catalog/index.ts';
import type { UrlKey } from '../url/index.ts';

/** Longer keys are shortened, so that ids are much shorter than the paths that servers accept. */
const KEY_BYTES_MAX = 1500;
const KEY_START_CHARACTERS = 375;
const KEY_DIGEST_BYTES = 16;

const ID = /^([A-Za-z0-9_-]+)(?:~([A-Za-z0-9_-]{22}))?\.(-?[0-9a-z]{1,11})\.([0-9a-f]{8})\.(\d{1,10})$/;

type NamedKey = { readonly key: string; readonly digest: string | undefined };
type NamedCapture = NamedKey & Pick<Capture, 'time' | 'hash' | 'collection'>;

export function captureId({ urlKey, time, hash, collection }: Capture): string {
  return `${formatKey(urlKey)}.${time.toString(36)}.${hash.toString(16).padStart(8, '0')}.${collection}`;
}

/** The capture with an id. Undefined when there is none, or when the text is not an id. */
export async function findCaptureById(catalog: CatalogView, id: string): Promise<Capture | undefined> {
  const named = parseCaptureId(id);
  if (!named) return undefined;
  const same: Capture[] = [];
  for (const capture of await candidates(catalog, named)) if (capture.hash === named.hash) same.push(capture);
  const exact = same.find(({ collection }) => collection === named.collection);
  if (exact) return exact;
  return new Set(same.map(({ collection }) => collection)).size === 1 ? same[0] : undefined;
}

function parseCaptureId(id: string): NamedCapture | undefined {
  const match = ID.exec(id);
  if (!match) return undefined;
  const [, key, digest, time, hash, collection] = match;
  return {
    key: fromUtf8(Buffer.from(key!, 'base64url')),
    digest,
    time: Number.parseInt(time!, 36),
    hash: Number.parseInt(hash!, 16),
    collection: Number(collection),
  };
}

async function candidates(
  catalog: CatalogView,
  { key, digest, time, hash }: NamedCapture,
): Promise<readonly Capture[]> {
  if (digest === undefined) {
    const [found] = await catalog.findCaptures([{ urlKey: key as UrlKey, time, ofHash: hash }]);
    return found!;
  }
  const found: Capture[] = [];
  const range = { keyFrom: key, keyTo: `${key}\u{10ffff}`, timeFrom: time, timeTo: time };
  for await (const page of catalog.captures(range)) {
    for (const capture of page) if (keyDigest(capture.urlKey) === digest) found.push(capture);
  }
  return found;
}

function formatKey(key: UrlKey): string {
  const bytes = utf8(key);
  if (bytes.length <= KEY_BYTES_MAX) return Buffer.from(bytes).toString('base64url');
  // Cut between characters, not inside of one.
  const start = [...key.slice(0, 2 * KEY_START_CHARACTERS)].slice(0, KEY_START_CHARACTERS).join('');
  return `${Buffer.from(start, 'utf8').toString('base64url')}~${keyDigest(key)}`;
}

function keyDigest(key: UrlKey): string {
  return Buffer.from(digestOf('sha256', utf8(key)).bytes)
    .subarray(0, KEY_DIGEST_BYTES)
    .toString('base64url');
}
