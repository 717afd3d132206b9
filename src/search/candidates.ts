/** Asks the index: all versions or captures that fit, best first, up to CANDIDATES_MAX. */
import type { DatabaseSync } from 'node:sqlite';
import type { QueryPlan, Value } from './query-plan.ts';
import type { SearchGroup, SearchSort } from './search-result.ts';

/** So many are grouped, counted and sorted out; a search that finds more gives the best of them. */
export const CANDIDATES_MAX = 5000;

/** Weights of title, headings, description and body. */
const WEIGHTS = '8.0, 4.0, 2.0, 1.0';

export type Candidate = {
  readonly version: number;
  readonly url: number;
  readonly document: number;
  readonly score: number;
  readonly time: number;
  readonly key: string;
  readonly mime: string;
  readonly language: string;
  /** In a search over captures. */
  readonly hash: number;
  readonly collection: number;
};

export type CandidateQuestion = {
  readonly plan: QueryPlan;
  readonly group: SearchGroup;
  readonly sort: SearchSort;
  /** Only what the index had with this batch. */
  readonly batch?: number;
  readonly limit: number;
};

type Row = [number, number, number, number, number, string, string, string, number, number];

export function findCandidates(database: DatabaseSync, question: CandidateQuestion): Candidate[] {
  const { sql, values } = statementOf(question);
  const statement = database.prepare(sql);
  statement.setReturnArrays(true);
  const rows = statement.all(...values) as unknown as Row[];
  return rows.map(([version, url, document, score, time, key, mime, language, hash, collection]) => ({
    version,
    url,
    document,
    score: -score,
    time,
    key,
    mime,
    language,
    hash,
    collection,
  }));
}

function statementOf({ plan, group, sort, batch, limit }: CandidateQuestion): { sql: string; values: Value[] } {
  const isByCapture = group === 'capture';
  const values: Value[] = [];
  const from: string[] = [];
  const where: string[] = [];
  const isFiltered = plan.where !== '' || plan.captureWhere !== '';
  const score = plan.match === undefined ? '0.0' : 'h.score';
  if (plan.match === undefined) {
    from.push('versions v JOIN documents d ON d.id = v.document');
    // What only leads elsewhere has no words; where none are asked for, it has to be told apart.
    where.push("d.kind = 'page'");
  } else {
    // Without conditions the best words are the best results, and the rest need not be looked at.
    const isEnough = !isFiltered && sort === 'relevance' && !isByCapture;
    const best = isEnough ? `ORDER BY score LIMIT ${limit}` : '';
    from.push(`(SELECT rowid AS document, bm25(words, ${WEIGHTS}) AS score FROM words WHERE words MATCH ? ${best}) h`);
    from.push('CROSS JOIN versions v ON v.document = h.document JOIN documents d ON d.id = h.document');
    values.push(plan.match);
  }
  from.push('JOIN urls u ON u.id = v.url');
  let time = 'v.last_time';
  if (isByCapture) {
    from.push('JOIN captures c ON c.version = v.id');
    time = 'c.time';
  } else if (plan.captureWhere !== '') {
    from.push(
      `JOIN (SELECT version, max(time) AS time FROM captures c WHERE ${plan.captureWhere} GROUP BY version) f ON f.version = v.id`,
    );
    values.push(...plan.captureValues);
    time = 'f.time';
  }
  if (batch !== undefined) {
    where.push('v.batch <= ?');
    values.push(batch);
  }
  if (plan.where !== '') {
    where.push(plan.where);
    values.push(...plan.values);
  }
  if (isByCapture && plan.captureWhere !== '') {
    where.push(plan.captureWhere);
    values.push(...plan.captureValues);
  }
  const own = isByCapture ? 'c.hash, c.collection' : '0, 0';
  const sql = `SELECT v.id, v.url, v.document, ${score}, ${time}, u.key, d.mime, d.language, ${own}
    FROM ${from.join(' ')} WHERE ${where.length === 0 ? '1' : where.map((one) => `(${one})`).join(' AND ')}
    ORDER BY ${orderOf(sort, score, time)}, v.id${isByCapture ? ', c.time DESC, c.hash, c.collection' : ''} LIMIT ?`;
  values.push(limit);
  return { sql, values };
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
