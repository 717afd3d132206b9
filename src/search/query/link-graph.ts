/** The links between pages: the links from a capture of a URL, and the links to a URL from every page. */
import type { DatabaseSync } from 'node:sqlite';
import type { EpochMs } from '../../base/index.ts';
import type { Link } from '../../page/index.ts';
import { typedUrl, type UrlKey, urlKey } from '../../url/index.ts';
import { unpackLinks } from '../document-links.ts';
import { hashOfKey, targetWord } from '../url-hash.ts';

export type LinkOptions = {
  readonly direction?: 'in' | 'out';
  /** Out: links of the latest capture up to this time. In: links of all captures up to this time. */
  readonly at?: EpochMs | undefined;
  readonly limit?: number;
  /** `next` of the previous page of the list. */
  readonly after?: string | undefined;
};

export type LinkEnd = {
  /** The URL at the other end of the link. */
  readonly url: string;
  readonly kind: Link['kind'];
  readonly text: string;
  readonly isNofollow: boolean;
  readonly isEmbed: boolean;
  /** The times of the first and the last capture with the link. */
  readonly first: EpochMs;
  readonly last: EpochMs;
  /** True if the index has a page or a redirect at the other end. */
  readonly isKnown: boolean;
};

export type LinkList = {
  readonly items: readonly LinkEnd[];
  /**
   * Out: the number of links. In: the number of pages with a link to the URL. A page with several links, or links in
   * several versions, counts once.
   */
  readonly total: number;
  readonly next?: string;
};

const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 1000;
/** The maximum number of listed links from one version to the same URL. */
const SAME_MAX = 5;
/** The place of a link in the list is: number of its version * PLACES + number of the link within the version. */
const PLACES = 8;

export class LinkGraph {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  links(url: string, options: LinkOptions): LinkList {
    const key = urlKey(typedUrl(url));
    return options.direction === 'in' ? this.#linksTo(key, options) : this.#linksFrom(key, options);
  }

  #linksFrom(key: UrlKey, { at, limit, after }: LinkOptions): LinkList {
    const time = at ?? Number.MAX_SAFE_INTEGER;
    const sql = `SELECT t.links, t.base, u.url, v.first_time AS first, v.last_time AS last FROM urls u JOIN versions v ON v.url = u.id
      JOIN texts t ON t.document = v.document JOIN captures c ON c.version = v.id WHERE u.key = ? AND c.time <= ? ORDER BY c.time DESC LIMIT 1`;
    const row = this.#database.prepare(sql).get(key, time);
    if (!row) return { items: [], total: 0 };
    const links = unpackLinks(row.links as Uint8Array | null, row.base as string | null, String(row.url));
    const known = this.#database.prepare('SELECT 1 FROM urls WHERE key = ?');
    const from = rowAfter(after);
    const some = links.slice(from, from + bounded(limit));
    const items = some.map(({ url, kind, text, isNofollow, isEmbed }) => ({
      ...{ url, kind, text, isNofollow, isEmbed },
      ...timesOf(row),
      isKnown: known.get(urlKey(url)) !== undefined,
    }));
    const end = from + some.length;
    return { items, total: links.length, ...(end < links.length && { next: String(end) }) };
  }

  #linksTo(key: UrlKey, { at, limit, after }: LinkOptions): LinkList {
    const word = `"${targetWord(key)}"`;
    const time = at ?? Number.MAX_SAFE_INTEGER;
    const total = this.#database
      .prepare(
        `SELECT count(DISTINCT v.url) AS n FROM targets JOIN versions v ON v.id = targets.rowid WHERE targets MATCH ? AND v.first_time <= ?`,
      )
      .get(word, time)!;
    const sql = `SELECT v.id, u.url, t.links, t.base, v.first_time AS first, v.last_time AS last FROM targets JOIN versions v ON v.id = targets.rowid
      JOIN urls u ON u.id = v.url JOIN texts t ON t.document = v.document
      WHERE targets MATCH ? AND targets.rowid >= ? AND v.first_time <= ? ORDER BY targets.rowid`;
    const count = bounded(limit);
    const from = rowAfter(after);
    const items: LinkEnd[] = [];
    for (const row of this.#database.prepare(sql).iterate(word, Math.floor(from / PLACES), time)) {
      const url = String(row.url);
      const links = unpackLinks(row.links as Uint8Array | null, row.base as string | null, url);
      const same = links.filter((link) => urlKey(link.url) === key).slice(0, SAME_MAX);
      for (const [number, { kind, text, isNofollow, isEmbed }] of same.entries()) {
        const place = Number(row.id) * PLACES + number;
        if (place < from) continue;
        if (items.length === count) return { items, total: Number(total.n), next: String(place) };
        items.push({ url, kind, text, isNofollow, isEmbed, ...timesOf(row), isKnown: true });
      }
    }
    return { items, total: Number(total.n) };
  }

  /** The hashes of all targets that any version of a page links to. */
  targetsOf(key: UrlKey): number[] {
    const sql = `SELECT t.links, t.base, u.url FROM urls u JOIN versions v ON v.url = u.id JOIN texts t ON t.document = v.document WHERE u.key = ?`;
    const hashes = new Set<number>();
    for (const row of this.#database.prepare(sql).iterate(key)) {
      const links = unpackLinks(row.links as Uint8Array | null, row.base as string | null, String(row.url));
      for (const { url } of links) hashes.add(hashOfKey(urlKey(url)));
    }
    return [...hashes];
  }
}

function timesOf({ first, last }: Readonly<Record<string, unknown>>): Pick<LinkEnd, 'first' | 'last'> {
  return { first: Number(first), last: Number(last) };
}

function bounded(limit: number | undefined): number {
  return Math.max(1, Math.min(LIMIT_MAX, Math.floor(limit ?? LIMIT_DEFAULT)));
}

function rowAfter(after: string | undefined): number {
  const number = Number(after ?? 0);
  return Number.isSafeInteger(number) && number >= 0 ? number : 0;
}
