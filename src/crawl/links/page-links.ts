/** Reads the links of a response, from the bytes received or from the archive. */
import { bareMime } from '../../base/index.ts';
import {
  isAppManifest,
  isPageMime,
  isScriptMime,
  type Link,
  type LinkKind,
  linksOfHeaders,
  linksOfManifest,
  linksOfScript,
  readPage,
  readSitemap,
  robotsTagDirectives,
} from '../../page/index.ts';
import { ChunkedBody, DecodedStart, type HttpHead, onlyChunk } from '../../warc/index.ts';

/** How many bytes of a body are read back from the archive. */
export const READ_BYTES_MAX = 16 * 1024 * 1024;

/** How many decoded bytes of a body are read. A coded body may expand to far more. */
const DECODED_BYTES_MAX = 2 * READ_BYTES_MAX;

/** A page with more links than this is a list. Other pages have few of its links, so they are not remembered. */
export const MENU_LINKS_MAX = 2000;

/** The fields of a link that a crawl uses. */
export type FoundLink = Pick<Link, 'url' | 'kind' | 'isEmbed' | 'isNofollow'>;

export type PageReading = {
  readonly links: readonly FoundLink[];
  readonly isNofollow: boolean;
  /** False when the page may have more links than were read. */
  readonly isWhole: boolean;
};

export type SitemapReading = {
  readonly pages: readonly string[];
  /** By the URL of a page, the embeds that the sitemap lists for it. */
  readonly needs: ReadonlyMap<string, readonly FoundLink[]>;
  readonly sitemaps: readonly string[];
  readonly isWhole: boolean;
};

/** A decoded body, or the beginning of one. */
export type Content = { readonly bytes: Uint8Array; readonly isWhole: boolean };

/** Whether a response with this head can have links. */
export function mayHaveLinks(url: string, head: HttpHead): boolean {
  const mime = responseMime(head);
  return isPageMime(mime) || isScriptMime(mime) || isAppManifest(mime, url);
}

export function responseMime(head: HttpHead): string {
  return bareMime(head.get('content-type') ?? '');
}

/** Removes framing and codings from a body, and returns at most DECODED_BYTES_MAX of a coded body. */
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

/** Reads the links of a response. `url` is the URL of the response. */
export async function readLinks(url: string, head: HttpHead, { bytes, isWhole }: Content): Promise<PageReading> {
  const fields = head.fields.map(({ name, value }) => [name, value] as const);
  const named = linksOfHeaders(fields, url);
  const isNofollow = head.fields.some(
    ({ name, value }) => name.toLowerCase() === 'x-robots-tag' && robotsTagDirectives(value).nofollow,
  );
  if (bytes.length === 0 || !mayHaveLinks(url, head)) return { links: named, isNofollow, isWhole: true };
  const mime = responseMime(head);
  if (isAppManifest(mime, url)) return { links: [...named, ...linksOfManifest(bytes, url)], isNofollow, isWhole };
  if (isScriptMime(mime)) return { links: [...named, ...linksOfScript(bytes, url)], isNofollow, isWhole };
  const contentType = head.get('content-type');
  const page = await readPage({ bytes, mime, url, ...(contentType !== undefined && { contentType }) }, { text: false });
  // This kind of document is not read and has no links, so nothing is missing.
  if (!page) return { links: named, isNofollow, isWhole: true };
  return {
    links: needsFirst(named.length === 0 ? page.links : [...named, ...page.links]),
    isNofollow: isNofollow || page.robots.nofollow,
    isWhole: isWhole && !page.isTruncated,
  };
}

/** Whether a page or a script prefetches this URL without showing it. It may be a page itself. */
export function isHint(kind: LinkKind): boolean {
  return kind === 'data';
}

/**
 * The distance of an embed from its page. A prefetched resource counts as farther, since it may be needed by the next
 * page.
 */
export function needDistance(kind: LinkKind): number {
  return isHint(kind) ? 1 : 0;
}

/**
 * Puts embeds before other links, because the first link decides the role of a URL. So a picture that links to itself
 * is an embed.
 */
function needsFirst(links: readonly Link[]): Link[] {
  return [...links.filter(({ isEmbed }) => isEmbed), ...links.filter(({ isEmbed }) => !isEmbed)];
}

/** Reads the pages that a sitemap names, their embeds, and further sitemaps. */
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
