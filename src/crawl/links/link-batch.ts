/**
 * Batches of pages for the thread that reads links, and its findings.
 *
 * Both are plain objects, which are cloned when they are posted. Packed buffers would save 4 % of the processor time of
 * a crawl, but need a binary format (`bench/crawl.ts`, 20,000 pages, 11 alternating runs).
 */
import { type HttpHead, parseHttpHead } from '../../warc/index.ts';
import {
  contentOf,
  type FoundLink,
  type PageReading,
  readLinks,
  readSitemapLinks,
  type SitemapReading,
} from './page-links.ts';
import { ReportedLinks } from './reported-links.ts';

/** A page, or a sitemap, to be read. */
export type UnreadPage = {
  readonly url: string;
  readonly head: HttpHead;
  /** The body: decoded, or as received, with framing and codings. */
  readonly bytes: Uint8Array;
  readonly isDecoded: boolean;
  /** False when `bytes` is the beginning of a longer body. */
  readonly isWhole: boolean;
  readonly isSitemap: boolean;
  /** Whether to leave out links that were reported for another page at this depth or a smaller one. */
  readonly omitsReported: boolean;
  readonly depth: number;
};

/** The links found in a page or a sitemap. */
export type PageFindings = {
  readonly reading?: PageReading;
  readonly sitemap?: SitemapReading;
  /** Why links may be missing; undefined when all were read. */
  readonly unreadReason?: string;
};

export type LinkBatch = {
  readonly pages: readonly PostedPage[];
  /** The number of the `LinkReader` that posts the batch. */
  readonly reader: number;
};

/** A page as it is posted to the thread: an `HttpHead` has methods, and cannot be cloned. */
type PostedPage = Omit<UnreadPage, 'head' | 'bytes'> & {
  readonly head: Uint8Array<ArrayBuffer>;
  readonly bytes: Uint8Array<ArrayBuffer>;
};

/** An answer with more links than this is sent at once, even if some pages of the batch are unread. */
const ANSWER_LINKS_MAX = 10_000;

/** Copies the bytes of each page, because cloning a view would clone its whole buffer. */
export function linkBatch(unread: readonly UnreadPage[], reader: number): LinkBatch {
  const pages = unread.map(({ head, bytes, ...page }) => ({
    ...page,
    head: new Uint8Array(head.bytes),
    bytes: new Uint8Array(bytes),
  }));
  return { pages, reader };
}

/** Returns the findings of the first pages of a batch, as many as fit into one answer. */
export async function readBatch({ pages, reader }: LinkBatch): Promise<PageFindings[]> {
  const reported = reportedTo(reader);
  const answer: PageFindings[] = [];
  let count = 0;
  for (const { omitsReported, depth, ...page } of pages) {
    const { reading, ...findings } = await readFindings({ ...page, head: parseHttpHead(page.head) });
    if (reading) {
      const { links, isNofollow } = reading;
      const sent = omitsReported && !isNofollow ? reported.unreported(links, depth) : links;
      answer.push({ ...findings, reading: { ...reading, links: sent.map(postedLink) } });
      count += sent.length;
    } else answer.push(findings);
    if (findings.sitemap || count > ANSWER_LINKS_MAX) break;
  }
  return answer;
}

/** Removes the fields of a link that the crawl does not need. */
function postedLink({ url, kind, isEmbed, isNofollow }: FoundLink): FoundLink {
  return { url, kind, isEmbed, isNofollow };
}

/** The reader that this thread works for. A closed reader passes its idle thread on to the next reader. */
let current = { reader: -1, reported: new ReportedLinks() };

function reportedTo(reader: number): ReportedLinks {
  if (current.reader !== reader) current = { reader, reported: new ReportedLinks() };
  return current.reported;
}

export async function readFindings({
  url,
  head,
  bytes,
  ...page
}: Omit<UnreadPage, 'omitsReported' | 'depth'>): Promise<PageFindings> {
  try {
    const content = page.isDecoded ? { bytes, isWhole: page.isWhole } : contentOf(bytes, head, true);
    if (page.isSitemap) return { sitemap: readSitemapLinks(content, url) };
    return { reading: await readLinks(url, head, content) };
  } catch (error) {
    // A failure in one page must not stop the crawl or the other pages of the batch. The report says that this page was
    // not read.
    return unreadFindings(page.isSitemap, `its links could not be read: ${String(error)}`);
  }
}

/** The findings of a page that was not read. */
export function unreadFindings(isSitemap: boolean, unreadReason: string): PageFindings {
  if (isSitemap) return { sitemap: { isWhole: false, pages: [], needs: new Map(), sitemaps: [] }, unreadReason };
  return { reading: { isWhole: false, links: [], isNofollow: false }, unreadReason };
}
