/**
 * Links of a page, a style sheet, a feed or an HTTP head. Raw values are collected while reading and resolved at the
 * end, because a `base` element applies to the whole document. Links that cannot be fetched (with schemes other than
 * http, https and ftp) are left out. Fragments are removed. A value that is just a fragment is not a link. Queries are
 * encoded in the charset of the document, as browsers do.
 */
import { CharsetEncoder } from './charset-encoder.ts';

export type LinkKind =
  | 'anchor'
  | 'frame'
  | 'image'
  | 'style'
  | 'script'
  | 'media'
  | 'object'
  | 'font'
  | 'form'
  | 'feed'
  | 'alternate'
  | 'canonical'
  | 'sitemap'
  | 'manifest'
  | 'icon'
  | 'refresh'
  | 'redirect'
  | 'data';

export type Link = {
  /** The absolute URL without its fragment. */
  readonly url: string;
  /**
   * The value as written; undefined if it is absolute. The target of a relative value depends on the URL of the
   * document.
   */
  readonly href?: string;
  readonly kind: LinkKind;
  /** Text of the anchor or the alternative text of the image, at most LINK_TEXT_LENGTH_MAX characters. */
  readonly text: string;
  readonly isNofollow: boolean;
  /** True if a browser needs the target to show the page. */
  readonly isEmbed: boolean;
};

export type RawLink = { value: string; kind: LinkKind; text: string; isNofollow: boolean; isEmbed: boolean };

/** A value longer than this is data and not an address. */
export const URL_LENGTH_MAX = 8192;
/** The maximum number of links of one document. Documents with more links are crawler traps. */
const LINKS_MAX = 100_000;
export const LINK_TEXT_LENGTH_MAX = 512;

/** Collects raw links, and resolves each distinct value once. */
export class LinkCollector {
  isTruncated = false;
  readonly #raw: RawLink[] = [];

  add(value: string, kind: LinkKind, isEmbed: boolean, text = '', isNofollow = false): RawLink | undefined {
    if (value.length > URL_LENGTH_MAX || !canBeLink(value)) return undefined;
    if (this.#raw.length >= LINKS_MAX) {
      this.isTruncated = true;
      return undefined;
    }
    const link = { value, kind, text, isNofollow, isEmbed };
    this.#raw.push(link);
    return link;
  }

  resolve(baseUrl: string, charset = 'utf-8'): Link[] {
    const base = new LinkBase(baseUrl);
    const encoder = charset === '' || charset.startsWith('utf-') ? undefined : CharsetEncoder.of(charset);
    const resolved = new Map<string, string | undefined>();
    const links: Link[] = [];
    for (const raw of this.#raw) {
      const { kind, isNofollow, isEmbed } = raw;
      const value = encoder ? encoder.escapeQuery(raw.value) : raw.value;
      const place = withoutFragment(value);
      let url = resolved.get(place);
      if (url === undefined && !resolved.has(place)) {
        url = base.resolve(place);
        resolved.set(place, url);
      }
      if (url === undefined) continue;
      const text = tidyText(raw.text, LINK_TEXT_LENGTH_MAX);
      const isRelative = value.charCodeAt(0) === SLASH || !SCHEME.test(value);
      if (isRelative) links.push({ url, href: value, kind, text, isNofollow, isEmbed });
      else links.push({ url, kind, text, isNofollow, isEmbed });
    }
    return links;
  }
}

const SLASH = 0x2f;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;

/** Plain paths and queries that the URL parser would not change: no dot segments, escapes or special characters. */
const ROOTED = /^\/(?:[\w~-][\w~.-]*(?:\/[\w~-][\w~.-]*)*\/?)?(?:\?[\w~.=&%+/:@!$()*,;-]*)?$/;
const RELATIVE = /^[\w~-][\w~.-]*(?:\/[\w~-][\w~.-]*)*\/?(?:\?[\w~.=&%+/:@!$()*,;-]*)?$/;
const ABSOLUTE =
  /^https?:\/\/(?:(?!xn--)[a-z0-9][a-z0-9-]*\.)+(?!xn--)[a-z]{2,}\/(?:[\w~-][\w~.-]*(?:\/[\w~-][\w~.-]*)*\/?)?(?:\?[\w~.=&%+/:@!$()*,;-]*)?$/;

/**
 * Resolves values against the base of a document. Most values are plain paths and URLs, which do not need the URL
 * parser.
 */
export class LinkBase {
  readonly #url: string;
  /**
   * The base up to its path (`#root`), and up to the last slash of its path (`#directory`). Both are '' if the fast
   * paths cannot be used.
   */
  readonly #root: string;
  readonly #directory: string;

  constructor(url: string) {
    this.#url = url;
    const parsed = URL.parse(url);
    const isWeb = parsed?.protocol === 'http:' || parsed?.protocol === 'https:';
    const rootEnd = isWeb ? parsed.href.indexOf('/', parsed.protocol.length + 2) : 0;
    this.#root = isWeb ? parsed.href.slice(0, rootEnd) : '';
    this.#directory = isWeb ? parsed.href.slice(0, rootEnd + parsed.pathname.lastIndexOf('/') + 1) : '';
  }

  /** Has the same result as `resolveUrl`. */
  resolve(value: string): string | undefined {
    const place = withoutFragment(value);
    if (this.#root !== '') {
      if (place.charCodeAt(0) === SLASH) {
        if (ROOTED.test(place)) return this.#root + place;
      } else if (RELATIVE.test(place)) return this.#directory + place;
    }
    return ABSOLUTE.test(place) ? place : resolveUrl(value, this.#url);
  }
}

/**
 * Removes the fragment of a value, unless white space precedes the fragment. Without the fragment this white space
 * would be at the end, where the parser removes it.
 */
function withoutFragment(value: string): string {
  const hash = value.indexOf('#');
  return hash < 0 || value.charCodeAt(hash - 1) <= 0x20 ? value : value.slice(0, hash);
}

const FOREIGN_SCHEME =
  /^[\x00-\x20]*(?:data|javascript|mailto|tel|about|blob|sms|callto|skype|whatsapp|news|file|chrome|res):/i;

/** A cheap test before parsing. False if the value is empty, just a fragment, or has a scheme that is never fetched. */
function canBeLink(value: string): boolean {
  if (value.length === 0 || value.charCodeAt(0) === 0x23) return false;
  const colon = value.indexOf(':');
  return colon < 0 || colon > 16 || !FOREIGN_SCHEME.test(value);
}

/** Resolves a value against a base, without its fragment. Undefined if the result is not http, https or ftp. */
export function resolveUrl(value: string, baseUrl: string): string | undefined {
  const parsed = URL.parse(value, baseUrl);
  if (parsed === null) return undefined;
  const { protocol, href } = parsed;
  if (protocol !== 'http:' && protocol !== 'https:' && protocol !== 'ftp:') return undefined;
  const hash = href.indexOf('#');
  return hash < 0 ? href : href.slice(0, hash);
}

const UNTIDY = /^ | $|[^\S ]| {2}/;

/**
 * The text as one line of at most `lengthMax` characters. Runs of white space become single spaces, and are removed at
 * the ends.
 */
export function tidyText(text: string, lengthMax: number): string {
  if (text.length <= lengthMax && !UNTIDY.test(text)) return text;
  return text
    .slice(0, 4 * lengthMax)
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, lengthMax);
}
