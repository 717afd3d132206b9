/** How results divide by site, type, language, year and collection; counted by results, the largest first. */
import type { DatabaseSync } from 'node:sqlite';
import { hostOfKey, type UrlKey } from '../url/index.ts';
import type { Candidate } from './candidates.ts';
import type { Facet, Facets } from './search-result.ts';

const VALUES_MAX = 20;

export function facetsOf(database: DatabaseSync, candidates: readonly Candidate[]): Facets {
  // In the order in which they lie, neighbours are read at once.
  const versions = JSON.stringify(Array.from(Float64Array.from(candidates, ({ version }) => version).sort()));
  const site = new Map<string, number>();
  const type = new Map<string, number>();
  const language = new Map<string, number>();
  const year = new Map<string, number>();
  for (const row of database.prepare(KINDS).iterate(versions)) {
    const number = Number(row.number);
    count(site, hostOfKey(String(row.host) as UrlKey), number);
    count(type, String(row.mime), number);
    if (row.language !== '') count(language, String(row.language), number);
  }
  for (const { time } of candidates) count(year, String(new Date(time).getUTCFullYear()));
  return {
    site: largest(site),
    type: largest(type),
    language: largest(language),
    year: largest(year),
    collection: database
      .prepare(COLLECTIONS)
      .all(versions)
      .map((row) => ({ value: String(row.value), count: Number(row.count) })),
  };
}

/** Of a key up to its path, which is all that the host is told by. */
const HOST = "substr(u.key, 1, instr(u.key, ')/') + 1)";
const KINDS = `SELECT ${HOST} AS host, d.mime, d.language, count(*) AS number FROM json_each(?) j CROSS JOIN versions v ON v.id = j.value
  JOIN documents d ON d.id = v.document JOIN urls u ON u.id = v.url GROUP BY 1, 2, 3`;
const COLLECTIONS = `SELECT o.name AS value, sum(n) AS count FROM (
    SELECT c.collection, count(DISTINCT c.version) AS n FROM json_each(?) j CROSS JOIN captures c ON c.version = j.value GROUP BY 1) c
  JOIN collections o ON o.id = c.collection GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${VALUES_MAX}`;

function count(counts: Map<string, number>, value: string, number = 1): void {
  counts.set(value, (counts.get(value) ?? 0) + number);
}

function largest(counts: ReadonlyMap<string, number>): Facet[] {
  return [...counts]
    .map(([value, number]) => ({ value, count: number }))
    .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
    .slice(0, VALUES_MAX);
}
