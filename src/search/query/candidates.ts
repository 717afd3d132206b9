/** Asks the index: all versions or captures that fit, best first, up to CANDIDATES_MAX. */
import type { DatabaseSync } from 'node:sqlite';
import { allOf, type Condition, inRanges, type QueryPlan } from './query-plan.ts';
import type { SearchGroup, SearchSort } from './search-result.ts';

/** So many are grouped, counted and sorted out; a search that finds more gives the best of them. */
export const CANDIDATES_MAX = 5000;

/** Weights of title, headings, description and body. */
const WEIGHTS = '8.0, 4.0, 2.0, 1.0';
/**
 * What a page weighs that the server answered with an error at last: "not found" is short, and so would come before
 * pages that say something.
 */
const ERROR_WEIGHT = 0.25;
const ERROR_STATUS_MIN = 400;

export type Candidate = {
  readonly version: number;
  readonly url: number;
  readonly document: number;
  readonly score: number;
  readonly time: number;
  /** In a search over captures. */
  readonly hash: number;
  readonly collection: number;
};

export type CandidateQuery = {
  readonly plan: QueryPlan;
  readonly group: SearchGroup;
  readonly sort: SearchSort;
  /** Only what the index had with this batch. */
  readonly batch?: number;
  readonly limit: number;
  /** How many contents have the words. */
  readonly matches: number;
};

/** So many contents tell what share of them a condition leaves. */
const SAMPLE = 200;
/** Below this share it is better to ask all than the best ones first. */
const SHARE_MIN = 0.25;
/** So many URLs of a site are gathered before its words are looked at. */
const SITE_URLS_MAX = 10_000;

type Row = [number, number, number, number, number, number, number];

export function findCandidates(database: DatabaseSync, question: CandidateQuery): Candidate[] {
  const best = bestOf(database, question);
  if (best !== undefined) {
    const found = askedFor(database, statementOf(question, { best }));
    // Of fewer than are wanted the rest may lie among those that were left out.
    if (found.length >= question.limit || best >= question.matches) return found;
  }
  const isOfFewUrls = question.plan.match !== undefined && hasFewUrls(database, question);
  return askedFor(database, statementOf(question, { isOfFewUrls }));
}

const SPREAD_MAX = 2000;
/**
 * A number below 65,536 for each content, spread evenly whatever pattern contents come in: steps of the golden section.
 */
const SPREAD = '(rowid * 40503 & 65535)';

/**
 * Contents that have the words, without conditions and in no order: evenly spread over all of them, up to SPREAD_MAX.
 */
export function sampleCandidates(
  database: DatabaseSync,
  { plan, batch, matches }: Pick<CandidateQuery, 'plan' | 'batch' | 'matches'>,
): Candidate[] {
  const share = Math.ceil((65_536 * SPREAD_MAX) / Math.max(matches, SPREAD_MAX));
  const sql = `SELECT v.id, v.url, v.document, 0.0, v.last_time, 0, 0 FROM (SELECT rowid AS document FROM words WHERE words MATCH ? AND ${SPREAD} < ?) h
    CROSS JOIN versions v ON v.document = h.document WHERE v.batch <= ? LIMIT ?`;
  return askedFor(database, { sql, values: [plan.match!, share, batch ?? Number.MAX_SAFE_INTEGER, SPREAD_MAX] });
}

function isFiltered({ plan }: CandidateQuery): boolean {
  return plan.where !== '' || plan.captureWhere !== '';
}

/**
 * How many of the best by words are enough to look at; undefined when all have to be. Without conditions the best words
 * are the best results. Of conditions that many contents meet a sample says how many have to be looked at.
 */
function bestOf(database: DatabaseSync, question: CandidateQuery): number | undefined {
  const { plan, group, sort, limit, matches } = question;
  if (plan.match === undefined || sort !== 'relevance' || group === 'capture') return undefined;
  if (!isFiltered(question)) return limit;
  // What asks for captures looks through all of them, for a sample too.
  if (matches < 4 * limit || plan.captureWhere !== '') return undefined;
  const sample = statementOf({ ...question, limit: SAMPLE }, { sample: SAMPLE });
  const share = new Set(askedFor(database, sample).map(({ document }) => document)).size / SAMPLE;
  return share < SHARE_MIN ? undefined : Math.ceil((1.5 * limit) / share);
}

/** Whether the results lie among few URLs, compared with how many contents have the words. */
function hasFewUrls(database: DatabaseSync, { plan, matches }: CandidateQuery): boolean {
  if (plan.ranges === undefined) return false;
  const most = Math.min(SITE_URLS_MAX, Math.floor(matches / 4));
  const { sql, values } = inRanges(plan.ranges);
  const row = database
    .prepare(`SELECT count(*) AS n FROM (SELECT 1 FROM urls u WHERE ${sql} LIMIT ${most})`)
    .get(...values);
  return Number(row!.n) < most;
}

function askedFor(database: DatabaseSync, { sql, values }: Condition): Candidate[] {
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

/** What a statement looks at less than all for. */
type Narrowing = {
  /** Only so many, the best by their words. */
  readonly best?: number;
  /** Only contents of URLs in the ranges of the plan. */
  readonly isOfFewUrls?: boolean;
  /** Only so many, whichever, in no order. */
  readonly sample?: number;
};

function statementOf(question: CandidateQuery, narrowing: Narrowing = {}): Condition {
  const { plan, group, sort, limit } = question;
  const isByCapture = group === 'capture';
  const isSorted = narrowing.sample === undefined;
  const isWeighed = plan.match !== undefined && isSorted;
  const time = timeOf(question);
  const from = [...contentsOf(question, narrowing), { sql: 'JOIN urls u ON u.id = v.url', values: [] }, ...time.from];
  const where = allOf(conditionsOf(question, narrowing));
  const ties = isByCapture ? 'v.id, c.time DESC, c.hash, c.collection' : 'v.id';
  const order = isSorted ? `ORDER BY ${orderOf(sort, isWeighed ? 'weighed' : '0.0', time.name)}, ${ties}` : '';
  const sql = `SELECT v.id, v.url, v.document, ${isWeighed ? weighedScore(isByCapture) : '0.0'}, ${time.column.sql}, ${isByCapture ? 'c.hash, c.collection' : '0, 0'}
    FROM ${from.map((one) => one.sql).join(' ')} WHERE ${where.sql || '1'}
    ${order} LIMIT ?`;
  // In the order in which their places stand in the statement.
  return { sql, values: [...time.column.values, ...from.flatMap(({ values }) => values), ...where.values, limit] };
}

function weighedScore(isByCapture: boolean): string {
  const lastStatus = isByCapture
    ? 'c.status'
    : '(SELECT c.status FROM captures c WHERE c.version = v.id ORDER BY c.time DESC LIMIT 1)';
  return `h.score * iif(${lastStatus} >= ${ERROR_STATUS_MIN}, ${ERROR_WEIGHT}, 1) AS weighed`;
}

/** The contents (h) that have the words, or all of them, with their versions (v) and what conditions ask of (d). */
function contentsOf(question: CandidateQuery, { best, sample }: Narrowing): Condition[] {
  const { match } = question.plan;
  if (match === undefined) return [{ sql: 'versions v JOIN documents d ON d.id = v.document', values: [] }];
  const isSorted = sample === undefined;
  const weight = isSorted ? `, bm25(words, ${WEIGHTS}) AS score` : '';
  const bestFirst = best === undefined ? '' : `ORDER BY score LIMIT ${best}`;
  const some = isSorted ? bestFirst : `LIMIT ${sample}`;
  const from: Condition[] = [
    { sql: `(SELECT rowid AS document${weight} FROM words WHERE words MATCH ? ${some}) h`, values: [match] },
    { sql: 'CROSS JOIN versions v ON v.document = h.document', values: [] },
  ];
  if (isFiltered(question)) from.push({ sql: 'JOIN documents d ON d.id = h.document', values: [] });
  return from;
}

/** The time that a result shows: its column, the name that sorting knows it by, and what has to be joined for it. */
function timeOf({ plan, group }: CandidateQuery): { column: Condition; name: string; from: Condition[] } {
  const plain = (name: string, from: Condition[]) => ({ column: { sql: name, values: [] }, name, from });
  if (group === 'capture') return plain('c.time', [{ sql: 'JOIN captures c ON c.version = v.id', values: [] }]);
  if (plan.mixedWhere !== '') {
    const sql = `(SELECT max(c.time) FROM captures c WHERE c.version = v.id AND ${plan.mixedWhere}) AS shown_time`;
    return { column: { sql, values: plan.mixedValues }, name: 'shown_time', from: [] };
  }
  if (plan.captureWhere === '') return plain('v.last_time', []);
  const sql = `JOIN (SELECT version, max(time) AS time FROM captures c WHERE ${plan.captureWhere} GROUP BY version) f ON f.version = v.id`;
  return plain('f.time', [{ sql, values: plan.captureValues }]);
}

/**
 * Leaves out what crawlers write for themselves: robots.txt, and records that are not of the web, such as `urn:`,
 * `metadata:`, `dns:` and `warcinfo:`.
 */
const PAGES_ONLY =
  "u.key NOT LIKE '%)/robots.txt' AND (u.url LIKE 'http://%' OR u.url LIKE 'https://%' OR u.url LIKE 'ftp://%')";

function conditionsOf({ plan, group, batch }: CandidateQuery, { isOfFewUrls }: Narrowing): Condition[] {
  const conditions: Condition[] = [];
  // What only leads elsewhere has no words; where none are asked for, it has to be told apart.
  if (plan.match === undefined) conditions.push({ sql: "d.kind = 'page'", values: [] });
  if (plan.isOfPages) conditions.push({ sql: PAGES_ONLY, values: [] });
  if (isOfFewUrls) {
    // Contents of other URLs are left out before anything is looked up for them. The sign keeps SQLite from asking for
    // each of these contents by itself.
    const { sql, values } = inRanges(plan.ranges!);
    conditions.push({
      sql: `+h.document IN (SELECT w.document FROM urls u CROSS JOIN versions w ON w.url = u.id WHERE ${sql})`,
      values,
    });
  }
  if (batch !== undefined) conditions.push({ sql: 'v.batch <= ?', values: [batch] });
  if (plan.where !== '') conditions.push({ sql: plan.where, values: plan.values });
  if (group === 'capture' && plan.captureWhere !== '')
    conditions.push({ sql: plan.captureWhere, values: plan.captureValues });
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
