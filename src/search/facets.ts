/** How results divide by site, type, language, year and collection; counted by results, the largest first. */
import type { DatabaseSync } from 'node:sqlite';
import { hostOfKey, type UrlKey } from '../url/index.ts';
import type { Candidate } from './candidates.ts';
import type { Facet, Facets } from './search-result.ts';

const VALUES_MAX = 20;

export function facetsOf(database: DatabaseSync, candidates: readonly Candidate[]): Facets {
  const site = new Map<string, number>();
  const type = new Map<string, number>();
  const language = new Map<string, number>();
  const year = new Map<string, number>();
  for (const candidate of candidates) {
    count(site, hostOfKey(candidate.key as UrlKey));
    count(type, candidate.mime);
    if (candidate.language !== '') count(language, candidate.language);
    count(year, String(new Date(candidate.time).getUTCFullYear()));
  }
  return {
    site: largest(site),
    type: largest(type),
    language: largest(language),
    year: largest(year),
    collection: collections(database, candidates),
  };
}

function count(counts: Map<string, number>, value: string): void {
  counts.set(value, (counts.get(value) ?? 0) + 1);
}

function largest(counts: ReadonlyMap<string, number>): Facet[] {
  return [...counts]
    .map(([value, number]) => ({ value, count: number }))
    .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
    .slice(0, VALUES_MAX);
}

function collections(database: DatabaseSync, candidates: readonly Candidate[]): Facet[] {
  const sql = `SELECT o.name AS value, count(DISTINCT c.version) AS count FROM json_each(?) j JOIN captures c ON c.version = j.value
    JOIN collections o ON o.id = c.collection GROUP BY o.name ORDER BY 2 DESC, 1 LIMIT ${VALUES_MAX}`;
  const versions = JSON.stringify(candidates.map(({ version }) => version));
  return database
    .prepare(sql)
    .all(versions)
    .map((row) => ({ value: String(row.value), count: Number(row.count) }));
}
