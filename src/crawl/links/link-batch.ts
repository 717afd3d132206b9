/**
 * Batches of pages for the thread that reads links, and what it found in them.
 *
 * They are plain objects, cloned on the way. A packed buffer each way would save 4 % of the processor time of a crawl,
 * but needs a binary format (`bench/crawl.ts`, 20,000 pages, 11 alternating runs).
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
  /** As received, with framing and codings, or decoded. */
  readonly bytes: Uint8Array;
  readonly isDecoded: boolean;
  /** False when only the beginning of the body is here. */
  readonly isWhole: boolean;
  readonly isSitemap: boolean;
  /** Whether links may be left out that were reported for another page as near to the seeds as this one. */
  readonly omitsReported: boolean;
  readonly depth: number;
};

/** What was found in a page or a sitemap. */
export type PageFindings = {
  readonly reading?: PageReading;
  readonly sitemap?: SitemapReading;
  /** Why links may be missing. */
  readonly unreadReason?: string;
};

export type LinkBatch = {
  readonly pages: readonly PostedPage[];
  /** The number of the `LinkReader`. */
  readonly reader: number;
};

/** A page as it is posted to the thread: an `HttpHead` has methods, and cannot be cloned. */
type PostedPage = Omit<UnreadPage, 'head' | 'bytes'> & {
  readonly head: Uint8Array<ArrayBuffer>;
  readonly bytes: Uint8Array<ArrayBuffer>;
};

/** An answer with more links than this is sent, even if pages of the batch are left. */
const ANSWER_LINKS_MAX = 10_000;

/** The bytes are copied: a clone of a view would take its whole buffer along. */
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

/** A link of a page has further fields, which the crawl does not need. */
function postedLink({ url, kind, isEmbed, isNofollow }: FoundLink): FoundLink {
  return { url, kind, isEmbed, isNofollow };
}

/** The reader that this thread works for; an idle thread is passed on from a closed reader to the next one. */
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
    // No content of one page may stop the crawl or the other pages of the batch. The report says that it was not read.
    return unreadFindings(page.isSitemap, `its links could not be read: ${String(error)}`);
  }
}

/** The findings of a page that was not read. */
export function unreadFindings(isSitemap: boolean, unreadReason: string): PageFindings {
  if (isSitemap) return { sitemap: { isWhole: false, pages: [], needs: new Map(), sitemaps: [] }, unreadReason };
  return { reading: { isWhole: false, links: [], isNofollow: false }, unreadReason };
}
