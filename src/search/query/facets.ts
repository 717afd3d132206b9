/** Counts the results by site, type, language, year and collection, the largest values first. */
import type { DatabaseSync } from 'node:sqlite';
import { hostOfKey, type UrlKey } from '../../url/index.ts';
import type { Candidate } from './candidates.ts';
import { type CapturePlan, matchingCaptures } from './query-plan.ts';
import type { Facets, SearchPage } from './search-result.ts';

const VALUES_MAX = 20;

export function facetsOf(
  database: DatabaseSync,
  candidates: readonly Candidate[],
  plan: CapturePlan,
): Pick<SearchPage, 'facets' | 'facetsLeftOut'> {
  // Sorted as in the table, so that neighbouring rows are read together.
  const versions = JSON.stringify(Array.from(Float64Array.from(candidates, ({ version }) => version).sort()));
  const site = new Map<string, number>();
  const type = new Map<string, number>();
  const language = new Map<string, number>();
  const year = new Map<string, number>();
  for (const row of database.prepare(COUNTS).iterate(versions)) {
    const number = Number(row.number);
    count(site, hostOfKey(String(row.host) as UrlKey), number);
    count(type, String(row.mime), number);
    if (row.language !== '') count(language, String(row.language), number);
  }
  for (const { time } of candidates) count(year, String(new Date(time).getUTCFullYear()));
  const all = { site, type, language, year, collection: countByCollection(database, candidates, versions, plan) };
  const over = Object.entries(all).filter(([, counts]) => counts.size > VALUES_MAX);
  return {
    facets: Object.fromEntries(Object.entries(all).map(([name, counts]) => [name, largest(counts)])) as Facets,
    ...(over.length > 0 && {
      facetsLeftOut: Object.fromEntries(over.map(([name, counts]) => [name, counts.size - VALUES_MAX])),
    }),
  };
}

/** A capture is in one collection. A page counts in every collection with a matching capture of the page. */
function countByCollection(
  database: DatabaseSync,
  candidates: readonly Candidate[],
  versions: string,
  plan: CapturePlan,
): Map<string, number> {
  const names = new Map<number, string>();
  for (const { id, name } of database.prepare('SELECT id, name FROM collections').all())
    names.set(Number(id), String(name));
  const counts = new Map<string, number>();
  const isByCapture = candidates.some(({ collection }) => collection !== 0);
  if (isByCapture) for (const { collection } of candidates) count(counts, names.get(collection)!);
  else {
    const { from, sql: where, values } = matchingCaptures(plan);
    const sql = `SELECT c.collection, count(DISTINCT c.version) AS number FROM json_each(?) j CROSS JOIN ${from}
      WHERE c.version = j.value AND (${where}) GROUP BY 1`;
    for (const row of database.prepare(sql).all(versions, ...values))
      count(counts, names.get(Number(row.collection))!, Number(row.number));
  }
  return counts;
}

/** The part of a URL key before its path, which identifies the host. */
const HOST = "substr(u.key, 1, instr(u.key, ')/') + 1)";
const COUNTS = `SELECT ${HOST} AS host, d.mime, d.language, count(*) AS number FROM json_each(?) j CROSS JOIN versions v ON v.id = j.value
  JOIN documents d ON d.id = v.document JOIN urls u ON u.id = v.url GROUP BY 1, 2, 3`;

function count(counts: Map<string, number>, value: string, number = 1): void {
  counts.set(value, (counts.get(value) ?? 0) + number);
}

function largest(counts: ReadonlyMap<string, number>): Facets[keyof Facets] {
  return [...counts]
    .map(([value, number]) => ({ value, count: number }))
    .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
    .slice(0, VALUES_MAX);
}
