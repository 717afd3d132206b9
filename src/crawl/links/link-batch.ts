/**
 * Pages on their way to the thread that reads their links, and what it found on its way back: one piece of memory each
 * way, which costs next to nothing to hand over, and of which no part outlives its batch.
 *
 * ```
 *   there   of each page four numbers (32 bits): lengths of its URL, head and bytes, marks; then of each page its URL (UTF-8), head and bytes
 *   back    of each page four numbers: how many links, where they begin and end, marks; then of each page *( sign ) *( url LF )
 *           sign = one byte: 4 * number of the kind + 2 if embedded + 1 if nofollow
 * ```
 */
import { fromLatin1, fromUtf8, LF, utf8 } from '../../base/index.ts';
import type { LinkKind } from '../../page/index.ts';
import { type HttpHead, parseHttpHead } from '../../warc/index.ts';
import {
  contentOf,
  type FoundLink,
  type FoundLinks,
  MENU_LINKS_MAX,
  needDistance,
  type Reading,
  readLinks,
  readSitemapLinks,
  type SitemapReading,
} from './page-links.ts';
import { RecentTexts } from './recent-texts.ts';

/** A page, or a sitemap, to be read. */
export type UnreadPage = {
  readonly url: string;
  readonly head: HttpHead;
  /** As received, framing and codings included, or decoded. */
  readonly bytes: Uint8Array;
  readonly isDecoded: boolean;
  /** Whether these are all bytes that there are. */
  readonly isWhole: boolean;
  readonly isSitemap: boolean;
  /** Whether links may be left out that were told of a page like this before, as near to the seeds as this one is. */
  readonly onlyUntold: boolean;
  readonly depth: number;
};

export type PageFindings = {
  readonly reading?: Reading;
  readonly sitemap?: SitemapReading;
  /** Why it could not be read. */
  readonly unread?: string;
};

export type LinkBatch = {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly pages: number;
  /** The number of the reader that asks; see `Told`. */
  readonly reader: number;
};

/** What was found on the first pages of a batch: on so many of them as fit into one answer. */
export type FoundBatch = {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly pages: number;
  readonly kinds: readonly LinkKind[];
  /** Of the last page, when it is one. */
  readonly sitemap?: SitemapReading;
};

const NUMBERS = 4;
const NUMBERS_BYTES = 4 * NUMBERS;
const DECODED = 1;
const WHOLE = 2;
const SITEMAP = 4;
const NOFOLLOW = 8;
const ONLY_UNTOLD = 16;
/** Marks from here on are the depth. */
const DEPTH_STEP = 32;
/** An answer that is longer than this is sent, though there are pages left. */
const ANSWER_BYTES_MAX = 1024 * 1024;

export function packPages(unread: readonly UnreadPage[], reader: number): LinkBatch {
  const urls = unread.map(({ url }) => utf8(url));
  const start = unread.length * NUMBERS_BYTES;
  const total = unread.reduce(
    (sum, page, index) => sum + urls[index]!.length + page.head.bytes.length + page.bytes.length,
    start,
  );
  const bytes = new Uint8Array(total);
  const numbers = new Uint32Array(bytes.buffer, 0, unread.length * NUMBERS);
  let at = start;
  for (const [index, page] of unread.entries()) {
    const { head, bytes: own } = page;
    const url = urls[index]!;
    numbers.set([url.length, head.bytes.length, own.length, marksOf(page)], index * NUMBERS);
    bytes.set(url, at);
    bytes.set(head.bytes, at + url.length);
    bytes.set(own, at + url.length + head.bytes.length);
    at += url.length + head.bytes.length + own.length;
  }
  return { bytes, pages: unread.length, reader };
}

function marksOf({ isDecoded, isWhole, isSitemap, onlyUntold, depth }: UnreadPage): number {
  const marks = (isDecoded ? DECODED : 0) + (isWhole ? WHOLE : 0) + (isSitemap ? SITEMAP : 0);
  return marks + (onlyUntold ? ONLY_UNTOLD : 0) + depth * DEPTH_STEP;
}

/** Reads the pages of a batch, or the first of them. */
export async function readBatch(batch: LinkBatch): Promise<FoundBatch> {
  const told = toldTo(batch.reader);
  const kinds: LinkKind[] = [];
  const numbers: number[] = [];
  const parts: Uint8Array[] = [];
  let sitemap: SitemapReading | undefined;
  let length = 0;
  for (const page of unpackPages(batch)) {
    const { reading, sitemap: found } = await readUnread(page);
    sitemap = found;
    const links =
      reading && page.onlyUntold && !reading.isNofollow ? told.untold(reading.links, page.depth) : reading?.links;
    const packed = links ? packLinks(links, kinds) : NOTHING;
    const marks = reading ? (reading.isWhole ? WHOLE : 0) + (reading.isNofollow ? NOFOLLOW : 0) : SITEMAP;
    numbers.push(links?.length ?? 0, length, length + packed.length, marks);
    parts.push(packed);
    length += packed.length;
    if (sitemap || length > ANSWER_BYTES_MAX) break;
  }
  const bytes = new Uint8Array(4 * numbers.length + length);
  new Uint32Array(bytes.buffer, 0, numbers.length).set(numbers);
  let at = 4 * numbers.length;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return { bytes, pages: parts.length, kinds, ...(sitemap && { sitemap }) };
}

const NOTHING = new Uint8Array(0);

/**
 * The links that a thread has told its reader lately, so that those which all pages of a site have in common are told
 * once.
 */
class Told {
  readonly reader: number;
  readonly #links = new RecentTexts(TOLD_REMEMBERED_MAX);
  readonly #embeds = new RecentTexts(TOLD_REMEMBERED_MAX / 4);

  constructor(reader: number) {
    this.reader = reader;
  }

  /** Those that were not told of a page at this depth or nearer. A list is told whole. */
  untold(links: FoundLinks, depth: number): FoundLinks {
    if (links.length > MENU_LINKS_MAX) return links;
    const untold: FoundLink[] = [];
    for (const link of links) {
      const recent = link.isEmbed ? this.#embeds : this.#links;
      const number = link.isEmbed ? needDistance(link) : depth;
      // Nothing is decided about forms; where a page itself has moved to is no further than the page; and what is
      // decided about a link that is not to be followed does not hold for the same link where it is.
      if (!link.isNofollow && link.kind !== 'form' && link.kind !== 'refresh') {
        if (recent.has(link.url, number)) continue;
        recent.add(link.url, number);
      }
      untold.push(link);
    }
    return untold;
  }
}

const TOLD_REMEMBERED_MAX = 64_000;
let lastTold = new Told(-1);

function toldTo(reader: number): Told {
  if (lastTold.reader !== reader) lastTold = new Told(reader);
  return lastTold;
}

function* unpackPages({ bytes, pages }: LinkBatch): Generator<UnreadPage> {
  const numbers = new Uint32Array(bytes.buffer, 0, pages * NUMBERS);
  let at = pages * NUMBERS_BYTES;
  for (let index = 0; index < pages; index++) {
    const [urlBytes, headBytes, ownBytes, marks] = numbers.subarray(index * NUMBERS, (index + 1) * NUMBERS);
    const headAt = at + urlBytes!;
    const ownAt = headAt + headBytes!;
    const url = fromUtf8(bytes, at, headAt);
    at = ownAt + ownBytes!;
    yield {
      url,
      head: parseHttpHead(bytes.subarray(headAt, ownAt)),
      bytes: bytes.subarray(ownAt, at),
      isDecoded: (marks! & DECODED) !== 0,
      isWhole: (marks! & WHOLE) !== 0,
      isSitemap: (marks! & SITEMAP) !== 0,
      onlyUntold: (marks! & ONLY_UNTOLD) !== 0,
      depth: Math.floor(marks! / DEPTH_STEP),
    };
  }
}

export async function readUnread({ url, head, bytes, ...page }: UnreadPage): Promise<PageFindings> {
  try {
    const content = page.isDecoded ? { bytes, isWhole: page.isWhole } : contentOf(bytes, head, true);
    if (page.isSitemap) return { sitemap: readSitemapLinks(content, url) };
    return { reading: await readLinks(url, head, content) };
  } catch (error) {
    // Whatever one page has in it, the crawl and the other pages of a batch go on; that it was not read whole is told.
    return notRead(page.isSitemap, `its links could not be read: ${String(error)}`);
  }
}

/** The findings of a page that was not read. */
export function notRead(isSitemap: boolean, unread: string): PageFindings {
  if (isSitemap) return { sitemap: { isWhole: false, pages: [], needs: new Map(), sitemaps: [] }, unread };
  return { reading: { isWhole: false, links: [], isNofollow: false }, unread };
}

export function unpackFindings({ bytes, pages, kinds, sitemap }: FoundBatch): PageFindings[] {
  const numbers = new Uint32Array(bytes.buffer, 0, pages * NUMBERS);
  const start = pages * NUMBERS_BYTES;
  return Array.from({ length: pages }, (_, index) => {
    const at = index * NUMBERS;
    const marks = numbers[at + 3]!;
    if ((marks & SITEMAP) !== 0) return { sitemap: sitemap! };
    const own = bytes.subarray(start + numbers[at + 1]!, start + numbers[at + 2]!);
    const links = new PackedLinks(numbers[at]!, own, kinds);
    return { reading: { links, isNofollow: (marks & NOFOLLOW) !== 0, isWhole: (marks & WHOLE) !== 0 } };
  });
}

function packLinks(links: FoundLinks, kinds: LinkKind[]): Uint8Array {
  const signs: number[] = [];
  let urls = '';
  for (const { url, kind, isEmbed, isNofollow } of links) {
    let number = kinds.indexOf(kind);
    if (number < 0) number = kinds.push(kind) - 1;
    signs.push(4 * number + (isEmbed ? 2 : 0) + (isNofollow ? 1 : 0));
    urls += `${url}\n`;
  }
  // URLs that were resolved are ASCII.
  const packed = Buffer.allocUnsafe(signs.length + urls.length);
  packed.set(signs);
  packed.write(urls, signs.length, 'latin1');
  return packed;
}

/**
 * URLs are made into strings so many bytes at a time: one by one costs more than all else about them, and all at once
 * could be very many.
 */
const PIECE_BYTES = 16 * 1024;

class PackedLinks implements FoundLinks {
  readonly length: number;
  readonly #bytes: Uint8Array;
  readonly #kinds: readonly LinkKind[];

  constructor(length: number, bytes: Uint8Array, kinds: readonly LinkKind[]) {
    this.length = length;
    this.#bytes = bytes;
    this.#kinds = kinds;
  }

  *[Symbol.iterator](): Generator<FoundLink> {
    const bytes = this.#bytes;
    let link = 0;
    for (let at = this.length; at < bytes.length; ) {
      const end = bytes.length - at <= PIECE_BYTES ? bytes.length - 1 : bytes.indexOf(LF, at + PIECE_BYTES);
      for (const url of fromLatin1(bytes, at, end).split('\n')) {
        const sign = bytes[link++]!;
        yield { url, kind: this.#kinds[sign >> 2]!, isEmbed: (sign & 2) !== 0, isNofollow: (sign & 1) !== 0 };
      }
      at = end + 1;
    }
  }
}
