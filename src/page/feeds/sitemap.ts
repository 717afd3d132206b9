/**
 * Reads sitemaps: XML (a list of URLs, or an index of other sitemaps), plain text with one URL per line, and feeds.
 * They may be compressed with gzip. The standard allows 50,000 URLs and 50 MB. Real sitemaps can exceed these limits,
 * so twice as much is read. The images, videos and video players of an XML sitemap are counted separately, with the
 * same limit.
 */
import { gunzipSync } from 'node:zlib';
import type { EpochMs } from '../../base/index.ts';
import { DecodedStart } from '../../warc/index.ts';
import { decodeText } from '../charset.ts';
import { resolveUrl, URL_LENGTH_MAX } from '../link.ts';
import { bareName } from '../office/package.ts';
import { walkXml } from '../office/xml-reader.ts';
import { parsePageDate } from '../page-date.ts';

/** An image, video or video player that a page shows, according to the sitemap. */
export type SitemapNeed = { url: string; kind: 'image' | 'media' | 'frame' };
export type SitemapUrl = { url: string; modifiedAt?: EpochMs; needs?: SitemapNeed[] };
export type Sitemap = {
  urls: SitemapUrl[];
  sitemaps: string[];
  /** True if a part was not read. */
  isTruncated?: boolean;
};

const ENTRIES_MAX = 100_000;
const BYTES_MAX = 100 * 1024 * 1024;

export function readSitemap(bytes: Uint8Array, url: string): Sitemap {
  const { content, isBroken } = inflated(bytes);
  const { text } = decodeText(content.subarray(0, BYTES_MAX));
  const sitemap = /^\s*</.test(text) ? readXmlSitemap(text, url) : readTextSitemap(text, url);
  if (content.length > BYTES_MAX || isBroken) sitemap.isTruncated = true;
  return sitemap;
}

/** Removes gzip if the bytes begin with the magic bytes of gzip, because servers declare it in many ways. */
function inflated(bytes: Uint8Array): { content: Uint8Array; isBroken: boolean } {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return { content: bytes, isBroken: false };
  try {
    // This reads all members of a gzip file.
    return { content: gunzipSync(bytes, { maxOutputLength: BYTES_MAX }), isBroken: false };
  } catch {
    // The readable part of a damaged or too long file is read below.
  }
  // One byte beyond the limit shows that there is more.
  const start = new DecodedStart(['gzip'], BYTES_MAX + 1);
  start.push(bytes);
  return { content: start.end(), isBroken: start.isBroken };
}

function readXmlSitemap(text: string, baseUrl: string): Sitemap {
  const sitemap: Sitemap = { urls: [], sitemaps: [] };
  // Every language version of a page lists all versions, so a set removes the duplicates.
  const alternates = new Set<string>();
  let place: string | undefined;
  let modifiedAt: EpochMs | undefined;
  let needs: SitemapNeed[] = [];
  let needsLeft = ENTRIES_MAX;
  const addNeed = (kind: SitemapNeed['kind'], value: string) => {
    const url = value !== '' && value.length <= URL_LENGTH_MAX ? resolveUrl(value, baseUrl) : undefined;
    if (url === undefined) return;
    if (needsLeft-- > 0) needs.push({ url, kind });
    else sitemap.isTruncated = true;
  };
  const finish = (isIndex: boolean) => {
    const url = place === undefined ? undefined : resolveUrl(place, baseUrl);
    if (sitemap.urls.length + sitemap.sitemaps.length >= ENTRIES_MAX) sitemap.isTruncated = true;
    else if (url !== undefined) {
      if (isIndex) sitemap.sitemaps.push(url);
      else
        sitemap.urls.push({
          url,
          ...(modifiedAt !== undefined && { modifiedAt }),
          ...(needs.length > 0 && { needs }),
        });
    }
    place = undefined;
    modifiedAt = undefined;
    needs = [];
  };
  walkXml(text, {
    open(name, attributes, parents) {
      if (name === 'link' && parents.at(-1) === 'entry') {
        const rel = attributes.get('rel') ?? 'alternate';
        if (rel === 'alternate') place ??= attributes.get('href');
      } else if (name === 'xhtml:link' || (bareName(name) === 'link' && parents.at(-1) === 'url')) {
        const href = attributes.get('href');
        const url = href && href.length <= URL_LENGTH_MAX ? resolveUrl(href, baseUrl) : undefined;
        if (alternates.size >= ENTRIES_MAX) sitemap.isTruncated = true;
        else if (url !== undefined) alternates.add(url);
      }
    },
    close(name, content, parents) {
      const parent = parents.at(-1);
      const isEntry = parent === 'url' || parent === 'sitemap' || parent === 'item' || parent === 'entry';
      if (isEntry && (name === 'loc' || name === 'link')) {
        const trimmed = content.trim();
        if (trimmed !== '' && trimmed.length <= URL_LENGTH_MAX) place ??= trimmed;
      } else if (isEntry && (name === 'lastmod' || name === 'pubdate' || name === 'updated')) {
        modifiedAt ??= parsePageDate(content);
      } else if (name === 'url' || name === 'item' || name === 'entry') finish(false);
      else if (name === 'sitemap') finish(true);
      else {
        const kind = NEEDS.get(`${bareName(parent ?? '')} ${bareName(name)}`);
        if (kind !== undefined) addNeed(kind, content.trim());
      }
    },
  });
  for (const { url } of sitemap.urls) alternates.delete(url);
  for (const url of alternates) sitemap.urls.push({ url });
  return sitemap;
}

/** The elements of the image and video extensions, each as the names of parent and child. */
const NEEDS: ReadonlyMap<string, SitemapNeed['kind']> = new Map([
  ['image loc', 'image'],
  ['video thumbnail_loc', 'image'],
  ['video content_loc', 'media'],
  ['video player_loc', 'frame'],
]);

function readTextSitemap(text: string, baseUrl: string): Sitemap {
  const sitemap: Sitemap = { urls: [], sitemaps: [] };
  let at = 0;
  while (at < text.length) {
    if (sitemap.urls.length >= ENTRIES_MAX) {
      sitemap.isTruncated = true;
      break;
    }
    const end = text.indexOf('\n', at);
    const line = text.slice(at, end < 0 ? text.length : end).trim();
    at = end < 0 ? text.length : end + 1;
    if (!/^https?:\/\//i.test(line) || line.length > URL_LENGTH_MAX) continue;
    const url = resolveUrl(line, baseUrl);
    if (url !== undefined) sitemap.urls.push({ url });
  }
  return sitemap;
}
