/**
 * A query as SQL. Words that must all hold become one question to the full-text table, which gives the relevance;
 * everything else becomes a condition on documents (d), URLs (u), versions (v) and captures (c). A query over captures
 * asks each capture; one over URLs asks whether a version has a capture that fits.
 */
import { mediaTypesOf } from '../../base/index.ts';
import type { UrlKey } from '../../url/index.ts';
import { type KeyRange, keyRange, parseUrlPattern, typedUrl, urlKey } from '../../url/index.ts';
import { matchForm } from '../token-form.ts';
import { targetWord } from '../url-hash.ts';
import type { NumberField, Query, WordField } from './query.ts';

export type Value = string | number;

export type QueryPlan = {
  /** FTS5 expression whose rank orders the results; undefined when nothing has to match. */
  readonly match: string | undefined;
  /** The parts that `match` joins with AND, when that is all it does. */
  readonly matchParts: readonly string[];
  /** SQL condition and its values. */
  readonly where: string;
  readonly values: readonly Value[];
  /** Condition on a capture alone; '' when any capture does. */
  readonly captureWhere: string;
  readonly captureValues: readonly Value[];
  /**
   * Condition on a capture and its page together, of which `where` asks only that there is such a capture; '' when
   * `captureWhere` says it all.
   */
  readonly mixedWhere: string;
  readonly mixedValues: readonly Value[];
  /** Ranges of URL keys that every result lies in one of; undefined when it may lie anywhere. */
  readonly ranges?: readonly KeyRange[] | undefined;
  /** Whether only pages of the web are meant, since no field of the query asks for anything else. */
  readonly isOfPages: boolean;
};

/** Answers that a plan needs before it can be made. */
export type PlanSource = {
  /** Hashes of everything that pages at this URL link to. */
  targetsOf(key: UrlKey): readonly number[];
};

const COLUMNS: Readonly<Record<WordField, string>> = {
  any: '',
  title: 'title : ',
  heading: 'headings : ',
  description: 'description : ',
  text: 'body : ',
};

const ATTRIBUTES: Readonly<Record<NumberField, string>> = {
  size: 'd.bytes',
  inlinks: 'u.inlinks',
  rank: 'u.rank',
  captures: 'v.captures',
};

/** What the rows of the answer are: versions, of which some capture must fit, or captures. */
export type PlanLevel = 'version' | 'capture';

export function planQuery(query: Query, level: PlanLevel, source: PlanSource): QueryPlan {
  const parts = query.kind === 'and' ? query.queries : [query];
  const matches: string[] = [];
  const without: string[] = [];
  const conditions: Condition[] = [];
  const captureConditions: Condition[] = [];
  /** Of a capture and of its page together. */
  const mixed: Condition[] = [];
  let ranges: readonly KeyRange[] | undefined;
  for (const part of parts) {
    if (part.kind === 'site') ranges ??= keyRange(part.host, 'domain');
    const expression = matchOf(part);
    const negated = part.kind === 'not' ? matchOf(part.query) : undefined;
    if (expression !== undefined) matches.push(expression);
    else if (negated !== undefined) without.push(negated);
    else if (isOfCapture(part)) captureConditions.push(conditionOf(part, source));
    else if (asksCaptures(part)) mixed.push(conditionOf(part, source));
    else conditions.push(conditionOf(part, source));
  }
  const match = matches.length === 0 ? undefined : matchOfAll(matches, without);
  if (match === undefined && without.length > 0)
    conditions.push({
      sql: 'd.id NOT IN (SELECT rowid FROM words WHERE words MATCH ?)',
      values: [joined(without, 'OR')],
    });
  const captures = allOf(captureConditions);
  // One capture must fit all of it.
  const one = allOf(level === 'capture' || mixed.length === 0 ? [] : [...captureConditions, ...mixed]);
  if (level === 'capture') conditions.push(...mixed);
  else if (one.sql !== '')
    conditions.push({
      sql: `EXISTS (SELECT 1 FROM captures c WHERE c.version = v.id AND ${one.sql})`,
      values: one.values,
    });
  const where = allOf(conditions);
  return {
    match,
    matchParts: without.length === 0 ? [...new Set(matches)] : [],
    where: where.sql,
    values: where.values,
    captureWhere: captures.sql,
    captureValues: captures.values,
    mixedWhere: one.sql,
    mixedValues: one.values,
    ranges,
    isOfPages: !namesAddress(query),
  };
}

/** Whether a query says what kind of content or which addresses it means. */
function namesAddress(query: Query): boolean {
  if (query.kind === 'not') return namesAddress(query.query);
  if (query.kind === 'and' || query.kind === 'or') return query.queries.some(namesAddress);
  return ['url', 'site', 'type', 'links-to', 'linked-from'].includes(query.kind);
}

/** The captures that a result can show: what follows FROM, to be joined by `c.version`, and the condition on them. */
export function matchingCaptures(plan: CapturePlan): { from: string; where: string; values: readonly Value[] } {
  if (plan.mixedWhere === '')
    return { from: 'captures c', where: plan.captureWhere || '1', values: plan.captureValues };
  const from =
    'captures c JOIN versions v ON v.id = c.version JOIN documents d ON d.id = v.document JOIN urls u ON u.id = v.url';
  return { from, where: plan.mixedWhere, values: plan.mixedValues };
}

export type CapturePlan = Pick<QueryPlan, 'captureWhere' | 'captureValues' | 'mixedWhere' | 'mixedValues'>;

/** Each once: FTS5 takes very long over a word that is asked for hundreds of times. */
function joined(expressions: readonly string[], sign: 'AND' | 'OR'): string {
  const different = [...new Set(expressions)];
  return different.length === 1 ? different[0]! : different.map((one) => `(${one})`).join(` ${sign} `);
}

/**
 * What has all of these, and none of the others. Those are one question: FTS5 does not nest as deep as a query can be
 * long.
 */
function matchOfAll(wanted: readonly string[], unwanted: readonly string[]): string {
  const all = joined(wanted, 'AND');
  return unwanted.length === 0 ? all : `(${all}) NOT (${joined(unwanted, 'OR')})`;
}

/** A piece of SQL, mostly a condition, and the values of its places. */
export type Condition = { readonly sql: string; readonly values: readonly Value[] };

export function allOf(conditions: readonly Condition[]): Condition {
  return {
    sql: conditions.map(({ sql }) => `(${sql})`).join(' AND '),
    values: conditions.flatMap(({ values }) => values),
  };
}

/**
 * The FTS5 expression of a query of words alone; undefined when something else is in it, or when it asks only for
 * absence.
 */
function matchOf(query: Query): string | undefined {
  if (query.kind === 'words') return COLUMNS[query.field] + matchForm(query.text, query.isPrefix)!;
  if (query.kind !== 'and' && query.kind !== 'or') return undefined;
  const wanted: string[] = [];
  const unwanted: string[] = [];
  for (const part of query.queries) {
    const expression = matchOf(part.kind === 'not' ? part.query : part);
    if (expression === undefined) return undefined;
    if (part.kind !== 'not') wanted.push(expression);
    else if (query.kind === 'or') return undefined;
    else unwanted.push(expression);
  }
  if (wanted.length === 0) return undefined;
  return query.kind === 'and' ? matchOfAll(wanted, unwanted) : joined(wanted, 'OR');
}

/** Whether a query is about captures alone, so that one capture must fit all of it. */
function isOfCapture(query: Query): boolean {
  if (query.kind === 'not') return isOfCapture(query.query);
  if (query.kind === 'and' || query.kind === 'or') return query.queries.every(isOfCapture);
  return query.kind === 'status' || query.kind === 'time' || query.kind === 'collection';
}

/** Whether anything in a query is about captures. */
function asksCaptures(query: Query): boolean {
  if (query.kind === 'not') return asksCaptures(query.query);
  return query.kind === 'and' || query.kind === 'or' ? query.queries.some(asksCaptures) : isOfCapture(query);
}

function conditionOf(query: Query, source: PlanSource): Condition {
  switch (query.kind) {
    case 'all':
      return { sql: '1', values: [] };
    case 'words':
      return { sql: 'd.id IN (SELECT rowid FROM words WHERE words MATCH ?)', values: [matchOf(query)!] };
    case 'not': {
      const inner = conditionOf(query.query, source);
      return { sql: `NOT (${inner.sql})`, values: inner.values };
    }
    case 'and':
    case 'or': {
      const inner = query.queries.map((part) => conditionOf(part, source));
      return {
        sql: chained(
          inner.map(({ sql }) => sql),
          query.kind === 'and' ? 'AND' : 'OR',
        ),
        values: inner.flatMap(({ values }) => values),
      };
    }
    case 'site':
      return inRanges(keyRange(query.host, 'domain'));
    case 'url':
      return urlCondition(query.url);
    case 'type':
      return typeCondition(query.type);
    case 'language':
      return { sql: 'd.language = ?', values: [query.language] };
    case 'number':
      return { sql: `${ATTRIBUTES[query.attribute]} ${query.comparison} ?`, values: [query.value] };
    case 'links-to':
      return {
        sql: 'v.id IN (SELECT rowid FROM targets WHERE targets MATCH ?)',
        values: [`"${targetWord(urlKey(typedUrl(query.url)))}"`],
      };
    case 'linked-from':
      return {
        sql: 'u.hash IN (SELECT value FROM json_each(?))',
        values: [JSON.stringify(source.targetsOf(urlKey(typedUrl(query.url))))],
      };
    case 'status':
      return { sql: 'c.status BETWEEN ? AND ?', values: [query.from, query.to] };
    case 'collection':
      // Not `=`: what is compared with nothing is neither true nor false, and neither is its opposite.
      return { sql: 'c.collection IN (SELECT id FROM collections WHERE name = ?)', values: [query.name] };
    case 'time':
      return query.from !== undefined
        ? { sql: 'c.time >= ?', values: [query.from] }
        : { sql: 'c.time <= ?', values: [query.to!] };
  }
}

/** Conditions joined by halves: SQLite refuses a chain of more than a thousand, and a query may have more. */
function chained(conditions: readonly string[], sign: 'AND' | 'OR'): string {
  if (conditions.length === 1) return `(${conditions[0]})`;
  const half = conditions.length >> 1;
  return `(${chained(conditions.slice(0, half), sign)} ${sign} ${chained(conditions.slice(half), sign)})`;
}

export function inRanges(ranges: readonly KeyRange[]): Condition {
  return {
    sql: ranges.map(() => '(u.key >= ? AND u.key < ?)').join(' OR '),
    values: ranges.flatMap(({ from, to }) => [from, to]),
  };
}

/** A whole URL, a pattern with a star, or a part of one. */
function urlCondition(value: string): Condition {
  if (value.includes('*')) {
    const pattern = parseUrlPattern(value);
    return inRanges(keyRange(pattern.url, pattern.matchType));
  }
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(value)) return { sql: 'u.key = ?', values: [urlKey(value)] };
  return { sql: "u.url LIKE ? ESCAPE '\\'", values: [`%${value.replace(/[\\%_]/g, '\\$&')}%`] };
}

function typeCondition(type: string): Condition {
  const meant = mediaTypesOf(type) ?? [type];
  const whole = meant.filter((one) => !one.endsWith('*'));
  const starts = meant.filter((one) => one.endsWith('*')).map((one) => one.slice(0, -1));
  const conditions = starts.map(() => 'substr(d.mime, 1, ?) = ?');
  if (whole.length > 0) conditions.push(`d.mime IN (${whole.map(() => '?').join(', ')})`);
  return { sql: conditions.join(' OR '), values: [...starts.flatMap((start) => [start.length, start]), ...whole] };
}
