/**
 * What sitemaps say is shown on pages that are not kept yet: pictures, films and their players. It waits for its page and is offered with what stands on it, so that whatever
 * bounds the pages of a crawl bounds this too: a sitemap names it for thousands of pages of which a crawl may want ten.
 */
import type { LinkKind } from '../page/index.ts';
import type { QueuedUrl } from './known-url.ts';
import type { FoundLink } from './page-links.ts';
import type { CrawlState } from './state.ts';

type Place = Pick<QueuedUrl, 'host' | 'key' | 'page'>;

export class SitemapNeeds {
  readonly #state: CrawlState;
  /** Whether there may be any; most crawls have none. */
  #mayHave: boolean;

  constructor(state: CrawlState) {
    this.#state = state;
    this.#mayHave = state.get('SELECT 1 FROM need LIMIT 1') !== undefined;
  }

  /** Keeps what is shown on a page. To be called within a transaction. */
  put({ host, key, page }: Place, links: readonly FoundLink[]): void {
    this.#mayHave = true;
    for (const { url, kind } of links)
      this.#state.run(
        'INSERT INTO need (host, key, page, url, kind) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
        host,
        key,
        page,
        url,
        kind,
      );
  }

  /** Gives back what is shown on a page, and keeps it no longer. To be called within a transaction. */
  take({ host, key, page }: Place): FoundLink[] {
    if (!this.#mayHave) return [];
    const rows = this.#state.all<{ url: string; kind: LinkKind }>(
      'DELETE FROM need WHERE host = ? AND key = ? AND page = ? RETURNING url, kind',
      host,
      key,
      page,
    );
    return rows.map(({ url, kind }) => ({ url, kind, isEmbed: true, isNofollow: false }));
  }
}
