/**
 * Pages on their way to the thread that reads their links, and what it found on its way back: one piece of memory each way, which costs next to nothing to hand over, and
 * of which no part outlives its batch.
 *
 * ```
 *   links of a page = *( sign url LF )      sign = one byte: 4 * number of the kind + 2 if embedded + 1 if nofollow, from "0" on
 * ```
 */
import { fromLatin1, LF } from '../base/index.ts';
import type { LinkKind } from '../page/index.ts';
import { type HttpHead, parseHttpHead } from '../warc/index.ts';
import {
  contentOf,
  type FoundLink,
  type FoundLinks,
  type Reading,
  readLinks,
  readSitemapLinks,
  type SitemapReading,
} from './page-links.ts';

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
};

export type PageFindings = { readonly reading?: Reading; readonly sitemap?: SitemapReading };

/** Pages in one piece: of each its head, then its bytes. */
export type LinkBatch = {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly pages: readonly (Omit<UnreadPage, 'head' | 'bytes'> & { headBytes: number; bytesLength: number })[];
};

type PackedReading = { readonly from: number; readonly to: number } & Pick<Reading, 'isNofollow' | 'isWhole'>;

/** What was found on the first pages of a batch: on so many of them as fit into one answer. */
export type FoundBatch = {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly kinds: readonly LinkKind[];
  readonly pages: readonly {
    readonly reading?: PackedReading & { readonly links: number };
    readonly sitemap?: SitemapReading;
  }[];
};

/** An answer that is longer than this is sent, though there are pages left. */
const ANSWER_LENGTH_MAX = 1024 * 1024;
const FIRST_SIGN = 0x30;

export function packPages(unread: readonly UnreadPage[]): LinkBatch {
  const bytes = new Uint8Array(unread.reduce((sum, page) => sum + page.head.bytes.length + page.bytes.length, 0));
  let at = 0;
  const pages = unread.map(({ url, head, bytes: own, isDecoded, isWhole, isSitemap }) => {
    bytes.set(head.bytes, at);
    bytes.set(own, at + head.bytes.length);
    at += head.bytes.length + own.length;
    return { url, headBytes: head.bytes.length, bytesLength: own.length, isDecoded, isWhole, isSitemap };
  });
  return { bytes, pages };
}

/** Reads the pages of a batch, or the first of them. */
export async function readBatch({ bytes, pages }: LinkBatch): Promise<FoundBatch> {
  const kinds: LinkKind[] = [];
  const found: FoundBatch['pages'][number][] = [];
  let text = '';
  let at = 0;
  for (const { headBytes, bytesLength, ...page } of pages) {
    const head = parseHttpHead(bytes.subarray(at, at + headBytes));
    const { reading, sitemap } = await readUnread({
      ...page,
      head,
      bytes: bytes.subarray(at + headBytes, at + headBytes + bytesLength),
    });
    at += headBytes + bytesLength;
    const from = text.length;
    if (reading) text += packLinks(reading.links, kinds);
    found.push({
      ...(reading && { reading: { ...reading, links: reading.links.length, from, to: text.length } }),
      ...(sitemap && { sitemap }),
    });
    if (sitemap || text.length > ANSWER_LENGTH_MAX) break;
  }
  // URLs that were resolved are ASCII.
  const packed = new Uint8Array(text.length);
  Buffer.from(packed.buffer).write(text, 'latin1');
  return { bytes: packed, kinds, pages: found };
}

export async function readUnread({ url, head, bytes, ...page }: UnreadPage): Promise<PageFindings> {
  const content = page.isDecoded ? { bytes, isWhole: page.isWhole } : contentOf(bytes, head, true);
  if (page.isSitemap) return { sitemap: readSitemapLinks(content, url) };
  return { reading: await readLinks(url, head, content) };
}

export function unpackFindings({ bytes, kinds, pages }: FoundBatch): PageFindings[] {
  return pages.map(({ reading, sitemap }) => ({
    ...(reading && { reading: { ...reading, links: new PackedLinks(reading, bytes, kinds) } }),
    ...(sitemap && { sitemap }),
  }));
}

function packLinks(links: FoundLinks, kinds: LinkKind[]): string {
  let text = '';
  for (const { url, kind, isEmbed, isNofollow } of links) {
    let number = kinds.indexOf(kind);
    if (number < 0) number = kinds.push(kind) - 1;
    text += `${String.fromCharCode(FIRST_SIGN + 4 * number + (isEmbed ? 2 : 0) + (isNofollow ? 1 : 0))}${url}\n`;
  }
  return text;
}

class PackedLinks implements FoundLinks {
  readonly length: number;
  readonly #bytes: Uint8Array;
  readonly #kinds: readonly LinkKind[];

  constructor(
    { links, from, to }: { links: number; from: number; to: number },
    bytes: Uint8Array,
    kinds: readonly LinkKind[],
  ) {
    this.length = links;
    this.#bytes = bytes.subarray(from, to);
    this.#kinds = kinds;
  }

  *[Symbol.iterator](): Generator<FoundLink> {
    const bytes = this.#bytes;
    for (let at = 0; at < bytes.length; ) {
      const end = bytes.indexOf(LF, at);
      const sign = bytes[at]! - FIRST_SIGN;
      const url = fromLatin1(bytes, at + 1, end);
      yield { url, kind: this.#kinds[sign >> 2]!, isEmbed: (sign & 2) !== 0, isNofollow: (sign & 1) !== 0 };
      at = end + 1;
    }
  }
}
