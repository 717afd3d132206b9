/**
 * Groups links into rows: one row for each linking page, with all of its links and versions. Does not use the browser.
 */
import type { LinkEnd } from '../../api/replies.ts';

export type LinkRow = Pick<LinkEnd, 'url' | 'first' | 'last' | 'isKnown'> & {
  /** The links of the page that differ in text or kind. */
  readonly links: readonly Pick<LinkEnd, 'text' | 'kind' | 'isNofollow'>[];
};

/** One row for each page, in the order of their first links. */
export function rowsByPage(items: readonly LinkEnd[]): LinkRow[] {
  const rows = new Map<string, LinkRow>();
  for (const item of items) {
    const row = rows.get(item.url);
    rows.set(item.url, row ? joined(row, item) : rowOf(item));
  }
  return [...rows.values()];
}

/** A row with a single link. */
export function rowOf({ url, first, last, isKnown, text, kind, isNofollow }: LinkEnd): LinkRow {
  return { url, first, last, isKnown, links: [{ text, kind, isNofollow }] };
}

function joined(row: LinkRow, { first, last, text, kind, isNofollow }: LinkEnd): LinkRow {
  const isThere = row.links.some((one) => one.text === text && one.kind === kind && one.isNofollow === isNofollow);
  return {
    ...row,
    first: first < row.first ? first : row.first,
    last: last > row.last ? last : row.last,
    links: isThere ? row.links : [...row.links, { text, kind, isNofollow }],
  };
}
