/**
 * Embeds that sitemaps list for pages which are not captured yet: pictures, films and their players. They wait until
 * their page is captured, and are offered together with its links. So the bounds on pages also bound these embeds: a
 * sitemap may list embeds for thousands of pages when the crawl wants ten pages.
 */
import type { LinkKind } from '../../../page/index.ts';
import type { FoundLink } from '../../links/page-links.ts';
import { PAGE_EMBEDS_MAX, type QueuedUrl } from '../known-url.ts';
import type { CrawlFile } from './crawl-file.ts';

type UrlId = Pick<QueuedUrl, 'host' | 'key' | 'page'>;

const OF_PAGE = 'FROM need WHERE host = ? AND key = ? AND page = ?';
const COUNT = `SELECT count(*) AS count ${OF_PAGE}`;
const HAS = `SELECT 1 ${OF_PAGE} AND url = ?`;
const INSERT = 'INSERT INTO need (host, key, page, url, kind) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING';
const TAKE = `DELETE ${OF_PAGE} RETURNING url, kind`;

export class WaitingEmbeds {
  readonly #file: CrawlFile;
  /** False when no embeds wait, as in most crawls. */
  #mayHave: boolean;

  constructor(file: CrawlFile) {
    this.#file = file;
    this.#mayHave = file.get('SELECT 1 FROM need LIMIT 1') !== undefined;
  }

  /**
   * Stores embeds of a page up to PAGE_EMBEDS_MAX, and returns the number of embeds that were left out. Must be called
   * within a transaction.
   */
  put({ host, key, page }: UrlId, links: readonly FoundLink[]): number {
    this.#mayHave = true;
    let room = PAGE_EMBEDS_MAX - this.#file.get<{ count: number }>(COUNT, host, key, page)!.count;
    let leftOut = 0;
    for (const { url, kind } of links)
      if (room > 0) room -= this.#file.run(INSERT, host, key, page, url, kind);
      else if (!this.#file.get(HAS, host, key, page, url)) leftOut++;
    return leftOut;
  }

  /** Returns the embeds of a page, and deletes them. Must be called within a transaction. */
  take({ host, key, page }: UrlId): FoundLink[] {
    if (!this.#mayHave) return [];
    const rows = this.#file.all<{ url: string; kind: LinkKind }>(TAKE, host, key, page);
    return rows.map(({ url, kind }) => ({ url, kind, isEmbed: true, isNofollow: false }));
  }
}
