/** Lists all links of the index, for tables of edges that other tools read. */
import { join } from 'node:path';
import { type EpochMs, formatW3cDate } from '../../base/index.ts';
import { unpackLinks } from '../document-links.ts';
import { indexError, openForReading, SEARCH_FILE } from './database.ts';

export const EDGE_COLUMNS = [
  { name: 'source', type: 'VARCHAR' },
  { name: 'target', type: 'VARCHAR' },
  { name: 'kind', type: 'VARCHAR' },
  { name: 'text', type: 'VARCHAR' },
  { name: 'nofollow', type: 'BOOLEAN' },
  { name: 'embed', type: 'BOOLEAN' },
  { name: 'first', type: 'TIMESTAMP_MS' },
  { name: 'last', type: 'TIMESTAMP_MS' },
  { name: 'captures', type: 'BIGINT' },
] as const;

/** Values in the order of EDGE_COLUMNS. The two times belong to the first and the last capture with the link. */
export type Edge = readonly [string, string, string, string, boolean, boolean, EpochMs, EpochMs, number];

export function* listEdges(directory: string): Generator<Edge> {
  using database = openForReading(join(directory, SEARCH_FILE));
  try {
    const sql = `SELECT u.url, t.links, t.base, v.first_time AS first, v.last_time AS last, v.captures FROM versions v
      JOIN urls u ON u.id = v.url JOIN texts t ON t.document = v.document WHERE t.links IS NOT NULL ORDER BY v.id`;
    for (const row of database.prepare(sql).iterate()) {
      const source = String(row.url);
      for (const link of unpackLinks(row.links as Uint8Array | null, row.base as string | null, source)) {
        const { url, kind, text, isNofollow, isEmbed } = link;
        yield [source, url, kind, text, isNofollow, isEmbed, Number(row.first), Number(row.last), Number(row.captures)];
      }
    }
  } catch (error) {
    throw indexError(error);
  }
}

/** An edge as a line of CSV (RFC 4180). */
export function edgeLine(edge: Edge): string {
  const values = edge.map((value, at) => {
    if (at === 6 || at === 7) return formatW3cDate(value as EpochMs);
    const text = String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return values.join(',');
}
