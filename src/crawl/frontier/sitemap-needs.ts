/**
 * What sitemaps say is shown on pages that are not kept yet: pictures, films and their players. It waits for its page
 * and is offered with what stands on it, so that whatever bounds the pages of a crawl bounds this too: a sitemap names
 * it for thousands of pages of which a crawl may want ten.
 */
import type { LinkKind } from '../../page/index.ts';
import type { FoundLink } from '../links/page-links.ts';
import type { QueuedUrl } from './known-url.ts';
import type { CrawlState } from './state.ts';

type UrlId = Pick<QueuedUrl, 'host' | 'key' | 'page'>;

/** What waits for one page, of whatever many sitemaps and runs: ten times what search engines take. */
const PAGE_NEEDS_MAX = 10_000;

const OF_PAGE = 'FROM need WHERE host = ? AND key = ? AND page = ?';
const COUNT = `SELECT count(*) AS count ${OF_PAGE}`;
const HAS = `SELECT 1 ${OF_PAGE} AND url = ?`;
const INSERT = 'INSERT INTO need (host, key, page, url, kind) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING';
const TAKE = `DELETE ${OF_PAGE} RETURNING url, kind`;

export class SitemapNeeds {
  readonly #state: CrawlState;
  /** Whether there may be any; most crawls have none. */
  #mayHave: boolean;

  constructor(state: CrawlState) {
    this.#state = state;
    this.#mayHave = state.get('SELECT 1 FROM need LIMIT 1') !== undefined;
  }

  /**
   * Keeps what is shown on a page, up to a bound, and says how much more there was. To be called within a transaction.
   */
  put({ host, key, page }: UrlId, links: readonly FoundLink[]): number {
    this.#mayHave = true;
    let room = PAGE_NEEDS_MAX - this.#state.get<{ count: number }>(COUNT, host, key, page)!.count;
    let leftOut = 0;
    for (const { url, kind } of links)
      if (room > 0) room -= this.#state.run(INSERT, host, key, page, url, kind);
      else if (!this.#state.get(HAS, host, key, page, url)) leftOut++;
    return leftOut;
  }

  /** Gives back what is shown on a page, and keeps it no longer. To be called within a transaction. */
  take({ host, key, page }: UrlId): FoundLink[] {
    if (!this.#mayHave) return [];
    const rows = this.#state.all<{ url: string; kind: LinkKind }>(TAKE, host, key, page);
    return rows.map(({ url, kind }) => ({ url, kind, isEmbed: true, isNofollow: false }));
  }
}
