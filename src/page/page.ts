/**
 * Reads a document of any kind into a page: title, text, language, links, dates. The declared media type decides the
 * kind. If the type is missing, unknown (`application/octet-stream`) or XML, the first bytes decide.
 *
 * Markup and text are read up to PAGE_BYTES_MAX. Other documents are read completely or not at all. If something was
 * left out, `isTruncated` is true.
 */
import { bareMime, type EpochMs, OFFICE_MIMES } from '../base/index.ts';
import { decodeText } from './charset.ts';
import type { DocumentTarget } from './document-target.ts';
import { isFeed, readFeed } from './feeds/feed.ts';
import { readJsonFeed } from './feeds/json-feed.ts';
import { readSitemap } from './feeds/sitemap.ts';
import { collectCssLinks } from './html/css-links.ts';
import { HtmlReader } from './html/html-reader.ts';
import { MetaReader } from './html/meta-reader.ts';
import { detectLanguage } from './language.ts';
import { type Link, LinkCollector, resolveUrl } from './link.ts';
import { isOffice, readOffice } from './office/office-document.ts';
import { readPdf } from './pdf/pdf.ts';
import { TextBuilder } from './text-builder.ts';

export type Page = {
  readonly title: string;
  readonly description: string;
  /** The ISO 639 code of the primary language, declared or detected; '' if unknown. */
  readonly language: string;
  readonly charset: string;
  readonly headings: string[];
  /** The visible text, one line per block. */
  readonly text: string;
  /** The text without menus, headers and footers. */
  readonly mainText: string;
  readonly links: Link[];
  /** The value of a `base` element, as written. */
  readonly base?: string;
  readonly robots: { readonly nofollow: boolean; readonly noindex: boolean };
  readonly publishedAt?: EpochMs;
  readonly modifiedAt?: EpochMs;
  /** True if a limit cut something off, or a part could not be read. */
  readonly isTruncated: boolean;
  /** True if nothing was read because reading exceeded a limit of memory or time. */
  readonly isTooCostly?: boolean;
};

export type PageSource = {
  /** The payload, without content coding. */
  readonly bytes: Uint8Array;
  readonly mime: string;
  readonly contentType?: string;
  readonly url: string;
  /** The charset for the queries of links, if the bytes were converted from another charset. */
  readonly linkCharset?: string;
};

/** The parts of a page to read. Both are read by default. */
export type PageReadOptions = { readonly text?: boolean; readonly links?: boolean };

/** How many bytes of markup and text are read. */
export const PAGE_BYTES_MAX = 16 * 1024 * 1024;
/** PDF and office documents larger than this are not read, because reading needs several times their size in memory. */
export const DOCUMENT_BYTES_MAX = 64 * 1024 * 1024;

export type PageKind = 'html' | 'xhtml' | 'feed' | 'json-feed' | 'sitemap' | 'svg' | 'css' | 'text' | 'pdf' | 'office';

const KINDS: Readonly<Record<string, PageKind | 'xml' | 'unknown'>> = {
  'application/atom+xml': 'feed',
  'application/feed+json': 'json-feed',
  'application/octet-stream': 'unknown',
  'application/unknown': 'unknown',
  'application/pdf': 'pdf',
  ...Object.fromEntries(OFFICE_MIMES.map((mime) => [mime, 'office' as const])),
  'application/rdf+xml': 'feed',
  'application/rss+xml': 'feed',
  'application/vnd.wap.xhtml+xml': 'xhtml',
  'application/x-pdf': 'pdf',
  'application/xhtml+xml': 'xhtml',
  'application/xml': 'xml',
  'image/svg+xml': 'svg',
  'text/css': 'css',
  'text/html': 'html',
  'text/markdown': 'text',
  'text/plain': 'text',
  'text/xml': 'xml',
  'unknown/unknown': 'unknown',
  '*/*': 'unknown',
};

/** A value that is not a media type (`html`, `unk`) counts as unknown, as in browsers (MIME Sniffing, 7). */
function kindOf(mime: string): PageKind | 'xml' | 'unknown' | undefined {
  const name = bareMime(mime);
  if (!name.includes('/')) return 'unknown';
  return Object.hasOwn(KINDS, name) ? KINDS[name] : undefined;
}

/** The kind of page, from the media type and the first bytes; undefined if it is not a page. */
export function pageKind(mime: string, start: Uint8Array): PageKind | undefined {
  const kind = kindOf(mime);
  if (kind !== 'xml' && kind !== 'unknown') return kind;
  const head = beginningOf(start);
  if (head.startsWith('%PDF-')) return 'pdf';
  if (isOffice(head)) return 'office';
  if (/<(?:(?:sm|sitemap|ns\d*):)?(?:urlset|sitemapindex)[\s>]/.test(head)) return 'sitemap';
  if (isFeed(head)) return 'feed';
  if (/<svg[\s>]/i.test(head) && !/<html[\s>]/i.test(head)) return 'svg';
  if (kind === 'xml') return /<html[\s>]/i.test(head) ? 'xhtml' : undefined;
  return HTML_START.test(head) ? 'html' : undefined;
}

/** If the type is unknown, browsers treat a document with one of these beginnings as HTML (MIME Sniffing, 7.1). */
const HTML_START =
  /^(?:\s|\u00ef\u00bb\u00bf)*<(?:!--|(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[\s>])/i;

const BEGINNING_BYTES = 2048;
/** Comments before the first element are skipped up to this length. */
const PROLOG_BYTES_MAX = 64 * 1024;

/** The first bytes as text. If declarations and comments fill these bytes, the text goes on with the first element. */
function beginningOf(start: Uint8Array): string {
  const bytes = Buffer.from(start.buffer, start.byteOffset, Math.min(start.length, PROLOG_BYTES_MAX));
  const first = bytes.toString('latin1', 0, BEGINNING_BYTES);
  if (bytes.length <= BEGINNING_BYTES || !/^(?:\s|\u00ef\u00bb\u00bf)*<[?!]/.test(first)) return first;
  const text = bytes.toString('latin1');
  const prolog = /(?:\s|\u00ef\u00bb\u00bf|<\?.*?\?>|<!--.*?-->)*/sy;
  prolog.test(text);
  return first + text.slice(prolog.lastIndex, prolog.lastIndex + BEGINNING_BYTES);
}

/**
 * True if contents of this type can be pages. For some of these types the first bytes decide whether a content is a
 * page.
 */
export function isPageMime(mime: string): boolean {
  return kindOf(mime) !== undefined;
}

/** Reads a page on this thread, without limits on memory or time. */
export async function readPageOnThisThread(
  source: PageSource,
  options: PageReadOptions = {},
): Promise<Page | undefined> {
  return withLanguage(await readWithoutLanguage(source, options));
}

/** Detects the language of a page that does not declare it. */
export async function withLanguage(page: Page | undefined): Promise<Page | undefined> {
  if (page === undefined || page.language !== '' || page.mainText === '') return page;
  return { ...page, language: await detectLanguage(page.mainText) };
}

/** Reads a page without detecting its language, which would need a table of a hundred megabytes. */
export async function readWithoutLanguage(
  source: PageSource,
  options: PageReadOptions = {},
): Promise<Page | undefined> {
  const kind = pageKind(source.mime, source.bytes);
  if (kind === undefined) return undefined;
  const wanted = { text: options.text ?? true, links: options.links ?? true };
  const draft = await readKind(kind, source, wanted);
  const { meta, text, links } = draft;
  meta.finish();
  const base = (draft.base === undefined ? undefined : resolveUrl(draft.base, source.url)) ?? source.url;
  return {
    title: meta.title,
    description: meta.description,
    language: meta.language,
    charset: draft.charset,
    headings: text.headings,
    text: text.text,
    mainText: text.mainText,
    links: wanted.links ? links.resolve(base, source.linkCharset ?? draft.charset) : [],
    ...(draft.base === undefined ? {} : { base: draft.base }),
    robots: meta.robots,
    ...(meta.publishedAt === undefined ? {} : { publishedAt: meta.publishedAt }),
    ...(meta.modifiedAt === undefined ? {} : { modifiedAt: meta.modifiedAt }),
    isTruncated: draft.isTruncated || links.isTruncated || text.isTruncated,
  };
}

type Draft = {
  readonly meta: MetaReader;
  readonly text: TextBuilder;
  readonly links: LinkCollector;
  readonly charset: string;
  readonly isTruncated: boolean;
  readonly base?: string | undefined;
};

type Wanted = Required<PageReadOptions>;

async function readKind(kind: PageKind, source: PageSource, wanted: Wanted): Promise<Draft> {
  if (kind === 'pdf') return readBinary(readPdf, source, wanted);
  if (kind === 'office') return readBinary(readOffice, source, wanted);
  if (kind === 'sitemap') return readSitemapPage(source);
  const isTruncated = source.bytes.length > PAGE_BYTES_MAX;
  const bytes = isTruncated ? source.bytes.subarray(0, PAGE_BYTES_MAX) : source.bytes;
  const { text, charset } = decodeText(bytes, source.contentType ?? source.mime);
  return { ...readText(kind, text, wanted), charset, isTruncated };
}

/** Reads documents whose bytes are not text. */
async function readBinary(
  read: typeof readPdf | typeof readOffice,
  source: PageSource,
  wanted: Wanted,
): Promise<Draft> {
  const draft = newDraft();
  const isWhole = source.bytes.length <= DOCUMENT_BYTES_MAX && (await read(source.bytes, targetOf(draft, wanted)));
  return { ...draft, charset: '', isTruncated: !isWhole };
}

function readSitemapPage({ bytes, url }: PageSource): Draft {
  const draft = newDraft();
  const sitemap = readSitemap(bytes, url);
  for (const entry of sitemap.urls) draft.links.add(entry.url, 'anchor', false);
  for (const place of sitemap.sitemaps) draft.links.add(place, 'sitemap', false);
  return { ...draft, charset: 'utf-8', isTruncated: false };
}

function readText(
  kind: Exclude<PageKind, 'pdf' | 'office' | 'sitemap'>,
  source: string,
  wanted: Wanted,
): Pick<Draft, 'meta' | 'text' | 'links' | 'base'> {
  const draft = newDraft();
  const { meta, text, links } = draft;
  switch (kind) {
    case 'html':
    case 'xhtml':
    case 'svg': {
      const reader = new HtmlReader({ ...wanted, isXml: kind !== 'html' }, links);
      reader.read(source);
      return { meta: reader.meta, text: reader.text, links, base: reader.base };
    }
    case 'css':
      if (wanted.links) collectCssLinks(source, links);
      return draft;
    case 'feed':
      return { meta, text, links, base: readFeed(source, targetOf(draft, wanted)) };
    case 'json-feed':
      readJsonFeed(source, targetOf(draft, wanted));
      return draft;
    case 'text':
      if (wanted.text) {
        text.preserved = 1;
        text.add(source);
      }
      return draft;
  }
}

function newDraft(): Pick<Draft, 'meta' | 'text' | 'links'> {
  return { meta: new MetaReader(), text: new TextBuilder(), links: new LinkCollector() };
}

/** The wanted parts of a draft. */
function targetOf({ meta, text, links }: Pick<Draft, 'meta' | 'text' | 'links'>, wanted: Wanted): DocumentTarget {
  return { meta, text: wanted.text ? text : undefined, links: wanted.links ? links : undefined };
}
