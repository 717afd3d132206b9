/** Queries the index for the versions or captures that match, best first, up to CANDIDATES_MAX. */
import type { DatabaseSync } from 'node:sqlite';
import { allOf, type Condition, inRanges, isFiltered, type QueryPlan } from './query-plan.ts';
import type { SearchGroup, SearchSort } from './search-result.ts';

/** The number of candidates that are grouped and counted. A search that finds more returns the best of them. */
export const CANDIDATES_MAX = 5000;

/** Weights of title, headings, description and body. */
const WEIGHTS = '8.0, 4.0, 2.0, 1.0';
/**
 * The weight of a page whose last response was an error. "Not found" pages are short, so without this weight they would
 * come first.
 */
const ERROR_WEIGHT = 0.25;
const ERROR_STATUS_MIN = 400;

export type Candidate = {
  readonly version: number;
  readonly url: number;
  readonly document: number;
  readonly score: number;
  readonly time: number;
  /** Set in a search over captures; 0 otherwise. */
  readonly hash: number;
  readonly collection: number;
};

export type CandidateQuery = {
  readonly plan: QueryPlan;
  readonly group: SearchGroup;
  readonly sort: SearchSort;
  /** Only versions that the index had up to this batch. */
  readonly batch?: number;
  readonly limit: number;
  /** The number of contents that have the words. */
  readonly matches: number;
};

/** The number of contents in a sample, which estimates the share of contents that meet a condition. */
const SAMPLE = 200;
/** If the share is smaller, looking at all contents is faster than looking at the best contents first. */
const SHARE_MIN = 0.25;
/** If a site has at most this many URLs, the URLs are selected before the words. */
const SITE_URLS_MAX = 10_000;

type Row = [number, number, number, number, number, number, number];

export function findCandidates(database: DatabaseSync, query: CandidateQuery): Candidate[] {
  const best = bestCount(database, query);
  if (best !== undefined) {
    const found = runStatement(database, statementOf(query, { best }));
    // With fewer results than wanted, more results may be among the contents that were left out.
    if (found.length >= query.limit || best >= query.matches) return found;
  }
  const isOfFewUrls = query.plan.match !== undefined && hasFewUrls(database, query);
  return runStatement(database, statementOf(query, { isOfFewUrls }));
}

const SPREAD_MAX = 2000;
/**
 * A number below 65,536 for each content. Steps of the golden section spread these numbers evenly, whatever the order
 * of contents.
 */
const SPREAD = '(rowid * 40503 & 65535)';

/** An even sample of the contents that have the words: unsorted, without other conditions, up to SPREAD_MAX. */
export function sampleCandidates(
  database: DatabaseSync,
  { plan, batch, matches }: Pick<CandidateQuery, 'plan' | 'batch' | 'matches'>,
): Candidate[] {
  const share = Math.ceil((65_536 * SPREAD_MAX) / Math.max(matches, SPREAD_MAX));
  const sql = `SELECT v.id, v.url, v.document, 0.0, v.last_time, 0, 0 FROM (SELECT rowid AS document FROM words WHERE words MATCH ? AND ${SPREAD} < ?) h
    CROSS JOIN versions v ON v.document = h.document WHERE v.batch <= ? LIMIT ?`;
  return runStatement(database, { sql, values: [plan.match!, share, batch ?? Number.MAX_SAFE_INTEGER, SPREAD_MAX] });
}

/**
 * How many contents, the best by their words, are enough to find the results; undefined if all contents are needed.
 * Without conditions the best contents are the best results. With conditions a sample estimates how many to look at.
 */
function bestCount(database: DatabaseSync, query: CandidateQuery): number | undefined {
  const { plan, group, sort, limit, matches } = query;
  if (plan.match === undefined || sort !== 'relevance' || group === 'capture') return undefined;
  if (!isFiltered(query.plan)) return limit;
  // A condition on captures reads all captures, also for a sample.
  if (matches < 4 * limit || plan.captures.sql !== '') return undefined;
  const sample = statementOf({ ...query, limit: SAMPLE }, { sample: SAMPLE });
  const share = new Set(runStatement(database, sample).map(({ document }) => document)).size / SAMPLE;
  return share < SHARE_MIN ? undefined : Math.ceil((1.5 * limit) / share);
}

/** True if the ranges of the plan have few URLs, compared with the number of contents that have the words. */
function hasFewUrls(database: DatabaseSync, { plan, matches }: CandidateQuery): boolean {
  if (plan.ranges === undefined) return false;
  const most = Math.min(SITE_URLS_MAX, Math.floor(matches / 4));
  const { sql, values } = inRanges(plan.ranges);
  const row = database
    .prepare(`SELECT count(*) AS n FROM (SELECT 1 FROM urls u WHERE ${sql} LIMIT ${most})`)
    .get(...values);
  return Number(row!.n) < most;
}

function runStatement(database: DatabaseSync, { sql, values }: Condition): Candidate[] {
  const statement = database.prepare(sql);
  statement.setReturnArrays(true);
  const rows = statement.all(...values) as unknown as Row[];
  return rows.map(([version, url, document, score, time, hash, collection]) => ({
    version,
    url,
    document,
    score: -score,
    time,
    hash,
    collection,
  }));
}

/** Limits the contents that a statement looks at. */
type Narrowing = {
  /** Only this many contents, the best by their words. */
  readonly best?: number;
  /** Only contents of URLs in the ranges of the plan. */
  readonly isOfFewUrls?: boolean;
  /** Only this many contents, any of them, unsorted. */
  readonly sample?: number;
};

function statementOf(query: CandidateQuery, narrowing: Narrowing = {}): Condition {
  const { plan, group, sort, limit } = query;
  const isByCapture = group === 'capture';
  const isSorted = narrowing.sample === undefined;
  const isWeighed = plan.match !== undefined && isSorted;
  const time = timeOf(query);
  const from = [...contentsOf(query, narrowing), { sql: 'JOIN urls u ON u.id = v.url', values: [] }, ...time.from];
  const where = allOf(conditionsOf(query, narrowing));
  const ties = isByCapture ? 'v.id, c.time DESC, c.hash, c.collection' : 'v.id';
  const order = isSorted ? `ORDER BY ${orderOf(sort, isWeighed ? 'weighed' : '0.0', time.name)}, ${ties}` : '';
  const sql = `SELECT v.id, v.url, v.document, ${isWeighed ? weighedScore(isByCapture) : '0.0'}, ${time.column.sql}, ${isByCapture ? 'c.hash, c.collection' : '0, 0'}
    FROM ${from.map((one) => one.sql).join(' ')} WHERE ${where.sql || '1'}
    ${order} LIMIT ?`;
  // In the order of their placeholders in the statement.
  return { sql, values: [...time.column.values, ...from.flatMap(({ values }) => values), ...where.values, limit] };
}

function weighedScore(isByCapture: boolean): string {
  const lastStatus = isByCapture
    ? 'c.status'
    : '(SELECT c.status FROM captures c WHERE c.version = v.id ORDER BY c.time DESC LIMIT 1)';
  return `h.score * iif(${lastStatus} >= ${ERROR_STATUS_MIN}, ${ERROR_WEIGHT}, 1) AS weighed`;
}

/** The contents (h) that have the words, or all contents, with their versions (v) and documents (d). */
function contentsOf(query: CandidateQuery, { best, sample }: Narrowing): Condition[] {
  const { match } = query.plan;
  if (match === undefined) return [{ sql: 'versions v JOIN documents d ON d.id = v.document', values: [] }];
  const isSorted = sample === undefined;
  const weight = isSorted ? `, bm25(words, ${WEIGHTS}) AS score` : '';
  const bestFirst = best === undefined ? '' : `ORDER BY score LIMIT ${best}`;
  const some = isSorted ? bestFirst : `LIMIT ${sample}`;
  const from: Condition[] = [
    { sql: `(SELECT rowid AS document${weight} FROM words WHERE words MATCH ? ${some}) h`, values: [match] },
    { sql: 'CROSS JOIN versions v ON v.document = h.document', values: [] },
  ];
  if (isFiltered(query.plan)) from.push({ sql: 'JOIN documents d ON d.id = h.document', values: [] });
  return from;
}

/** The time that a result shows: its column, its name for sorting, and the tables to join for it. */
function timeOf({ plan, group }: CandidateQuery): { column: Condition; name: string; from: Condition[] } {
  const plain = (name: string, from: Condition[]) => ({ column: { sql: name, values: [] }, name, from });
  if (group === 'capture') return plain('c.time', [{ sql: 'JOIN captures c ON c.version = v.id', values: [] }]);
  if (plan.mixed.sql !== '') {
    const sql = `(SELECT max(c.time) FROM captures c WHERE c.version = v.id AND ${plan.mixed.sql}) AS shown_time`;
    return { column: { sql, values: plan.mixed.values }, name: 'shown_time', from: [] };
  }
  if (plan.captures.sql === '') return plain('v.last_time', []);
  const sql = `JOIN (SELECT version, max(time) AS time FROM captures c WHERE ${plan.captures.sql} GROUP BY version) f ON f.version = v.id`;
  return plain('f.time', [{ sql, values: plan.captures.values }]);
}

/** Leaves out records that crawlers write for themselves: robots.txt, and `urn:`, `metadata:`, `dns:`, `warcinfo:`. */
const PAGES_ONLY =
  "u.key NOT LIKE '%)/robots.txt' AND (u.url LIKE 'http://%' OR u.url LIKE 'https://%' OR u.url LIKE 'ftp://%')";

function conditionsOf({ plan, group, batch }: CandidateQuery, { isOfFewUrls }: Narrowing): Condition[] {
  const conditions: Condition[] = [];
  // A redirect has no words, so only a query without words has to exclude it.
  if (plan.match === undefined) conditions.push({ sql: "d.kind = 'page'", values: [] });
  if (plan.isOfPages) conditions.push({ sql: PAGES_ONLY, values: [] });
  if (isOfFewUrls) {
    // Leaves out contents of other URLs before anything is looked up for them. The plus sign keeps SQLite from looking
    // up each of these contents separately.
    const { sql, values } = inRanges(plan.ranges!);
    conditions.push({
      sql: `+h.document IN (SELECT w.document FROM urls u CROSS JOIN versions w ON w.url = u.id WHERE ${sql})`,
      values,
    });
  }
  if (batch !== undefined) conditions.push({ sql: 'v.batch <= ?', values: [batch] });
  if (plan.where.sql !== '') conditions.push(plan.where);
  if (group === 'capture' && plan.captures.sql !== '') conditions.push(plan.captures);
  return conditions;
}

function orderOf(sort: SearchSort, score: string, time: string): string {
  switch (sort) {
    case 'relevance':
      return score === '0.0' ? `${time} DESC` : `${score}, u.rank DESC`;
    case 'date':
      return `${time} DESC`;
    case 'oldest':
      return time;
    case 'inlinks':
      return `u.inlinks DESC, ${score}`;
    case 'rank':
      return `u.rank DESC, ${score}`;
  }
}
