/**
 * Reads the links out of a response, from the bytes that passed by on their way to the store, or from what the archive
 * has.
 */
import { bareMime } from '../../base/index.ts';
import {
  isAppManifest,
  isPageMime,
  isScriptMime,
  type Link,
  linksOfHeaders,
  linksOfManifest,
  linksOfScript,
  readPage,
  readSitemap,
  robotsTagDirectives,
} from '../../page/index.ts';
import { ChunkedBody, DecodedStart, type HttpHead, onlyChunk } from '../../warc/index.ts';

/** What is read back of a body. */
export const READ_BYTES_MAX = 16 * 1024 * 1024;

/** However much more there is. */
const DECODED_BYTES_MAX = 2 * READ_BYTES_MAX;

/** A page with more links is a list, and what it names stands on few others. */
export const MENU_LINKS_MAX = 2000;

/** A link as far as it matters to a crawl. */
export type FoundLink = Pick<Link, 'url' | 'kind' | 'isEmbed' | 'isNofollow'>;

/** The links of a page, in order; each is made when its turn comes, for there can be very many. */
export type FoundLinks = Iterable<FoundLink> & { readonly length: number };

export type Reading = {
  readonly links: FoundLinks;
  readonly isNofollow: boolean;
  /** Whether all there is was read. */
  readonly isWhole: boolean;
};

export type SitemapReading = {
  readonly pages: readonly string[];
  /** What is shown on some of the pages, by their URLs. */
  readonly needs: ReadonlyMap<string, readonly FoundLink[]>;
  readonly sitemaps: readonly string[];
  readonly isWhole: boolean;
};

/** A decoded body, or the beginning of one. */
export type Content = { readonly bytes: Uint8Array; readonly isWhole: boolean };

/** Whether links may be in a response with this head. */
export function mayHaveLinks(url: string, head: HttpHead): boolean {
  const mime = mimeOf(head);
  return isPageMime(mime) || isScriptMime(mime) || isAppManifest(mime, url);
}

export function mimeOf(head: HttpHead): string {
  return bareMime(head.get('content-type') ?? '');
}

/** The content of a body: framing and codings taken off, up to a bound, however much it would swell. */
export function contentOf(body: Uint8Array, head: HttpHead, isFramed: boolean): Content {
  const payload = isFramed && head.isChunked ? (onlyChunk(body) ?? unchunked(body)) : body;
  const codings = head.contentCodings;
  if (codings.length === 0) return { bytes: payload, isWhole: true };
  const start = new DecodedStart(codings, DECODED_BYTES_MAX);
  start.push(payload);
  const bytes = start.end();
  return { bytes, isWhole: !start.isCut && !start.isBroken };
}

function unchunked(body: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = [];
  const chunked = new ChunkedBody((bytes) => parts.push(bytes));
  chunked.push(body);
  chunked.end();
  return Buffer.concat(parts);
}

/** The links of a response. `url` is its own. */
export async function readLinks(url: string, head: HttpHead, { bytes, isWhole }: Content): Promise<Reading> {
  const fields = head.fields.map(({ name, value }) => [name, value] as const);
  const named = linksOfHeaders(fields, url);
  const isNofollow = head.fields.some(
    ({ name, value }) => name.toLowerCase() === 'x-robots-tag' && robotsTagDirectives(value).nofollow,
  );
  if (bytes.length === 0 || !mayHaveLinks(url, head)) return { links: named, isNofollow, isWhole: true };
  const mime = mimeOf(head);
  if (isAppManifest(mime, url)) return { links: [...named, ...linksOfManifest(bytes, url)], isNofollow, isWhole };
  if (isScriptMime(mime)) return { links: [...named, ...linksOfScript(bytes, url)], isNofollow, isWhole };
  const contentType = head.get('content-type');
  const page = await readPage({ bytes, mime, url, ...(contentType !== undefined && { contentType }) }, { text: false });
  // Something of which nothing is read has nothing more in it.
  if (!page) return { links: named, isNofollow, isWhole: true };
  return {
    links: needsFirst(named.length === 0 ? page.links : [...named, ...page.links]),
    isNofollow: isNofollow || page.robots.nofollow,
    isWhole: isWhole && !page.isTruncated,
  };
}

/** Whether a page asks for this ahead of time, or a script does: it may be a page as well. */
export function isHint({ kind }: FoundLink): boolean {
  return kind === 'data';
}

/**
 * How far from a page stands what it names as needed: what was only asked for ahead of time may yet be needed by the
 * next page.
 */
export function needDistance(link: FoundLink): number {
  return isHint(link) ? 1 : 0;
}

/** What a URL is taken for is decided when it is first named; a picture that links to itself is what its page needs. */
function needsFirst(links: readonly Link[]): Link[] {
  return [...links.filter(({ isEmbed }) => isEmbed), ...links.filter(({ isEmbed }) => !isEmbed)];
}

/** The pages, with what is shown on them, and further sitemaps that a sitemap names. */
export function readSitemapLinks({ bytes, isWhole }: Content, url: string): SitemapReading {
  const { urls, sitemaps, isTruncated } = readSitemap(bytes, url);
  const found = new Map<string, FoundLink[]>();
  for (const { url: page, needs } of urls) {
    if (!needs) continue;
    const links = found.get(page) ?? [];
    for (const need of needs) links.push({ ...need, isEmbed: true, isNofollow: false });
    found.set(page, links);
  }
  const pages = urls.map((entry) => entry.url);
  return { pages, needs: found, sitemaps, isWhole: isWhole && isTruncated !== true };
}
