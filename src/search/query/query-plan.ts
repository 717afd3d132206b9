/**
 * Translates a query to SQL. Words that must all match become one full-text query, which also gives the relevance.
 * Everything else becomes a condition on documents (d), URLs (u), versions (v) and captures (c). A search over captures
 * tests each capture. A search over URLs tests whether a version has a matching capture.
 */
import { mediaTypesOf } from '../../base/index.ts';
import type { UrlKey } from '../../url/index.ts';
import { type KeyRange, keyRange, parseUrlPattern, typedUrl, urlKey } from '../../url/index.ts';
import { matchForm } from '../token-form.ts';
import { targetWord } from '../url-hash.ts';
import type { NumberField, Query, WordField } from './query.ts';

export type Value = string | number;

export type QueryPlan = {
  /** The FTS5 expression whose rank orders the results; undefined if no words have to match. */
  readonly match: string | undefined;
  /** The parts that `match` joins with AND; empty if it also excludes words. */
  readonly matchParts: readonly string[];
  /** The condition on a version; its SQL is '' if every version matches. */
  readonly where: Condition;
  /** The condition on a capture alone; its SQL is '' if every capture matches. */
  readonly captures: Condition;
  /**
   * The condition on a capture and its page together; its SQL is '' if `captures` is enough. `where` only tests that a
   * capture meets this condition.
   */
  readonly mixed: Condition;
  /** The ranges of URL keys that contain all results; undefined if results can have any key. */
  readonly ranges?: readonly KeyRange[] | undefined;
  /** True if only web pages are searched, because the query has no field for addresses or types. */
  readonly isOfPages: boolean;
};

/** Lookups that planning needs. */
export type PlanSource = {
  /** The hashes of all targets that versions of this URL link to. */
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

/** The rows of the result: versions with at least one matching capture, or captures. */
export type PlanLevel = 'version' | 'capture';

export function planQuery(query: Query, level: PlanLevel, source: PlanSource): QueryPlan {
  const parts = query.kind === 'and' ? query.queries : [query];
  const matches: string[] = [];
  const without: string[] = [];
  const conditions: Condition[] = [];
  const captureConditions: Condition[] = [];
  /** Conditions on a capture and its page together. */
  const mixed: Condition[] = [];
  let ranges: readonly KeyRange[] | undefined;
  for (const part of parts) {
    if (part.kind === 'site') ranges ??= keyRange(part.host, 'domain');
    const expression = matchOf(part);
    const negated = part.kind === 'not' ? matchOf(part.query) : undefined;
    if (expression !== undefined) matches.push(expression);
    else if (negated !== undefined) without.push(negated);
    else if (isOfCapture(part)) captureConditions.push(conditionOf(part, source));
    else if (hasCaptureCondition(part)) mixed.push(conditionOf(part, source));
    else conditions.push(conditionOf(part, source));
  }
  const match = matches.length === 0 ? undefined : matchOfAll(matches, without);
  if (match === undefined && without.length > 0)
    conditions.push({
      sql: 'd.id NOT IN (SELECT rowid FROM words WHERE words MATCH ?)',
      values: [joined(without, 'OR')],
    });
  // One capture must meet all of these conditions.
  const one = allOf(level === 'capture' || mixed.length === 0 ? [] : [...captureConditions, ...mixed]);
  if (level === 'capture') conditions.push(...mixed);
  else if (one.sql !== '')
    conditions.push({
      sql: `EXISTS (SELECT 1 FROM captures c WHERE c.version = v.id AND ${one.sql})`,
      values: one.values,
    });
  return {
    match,
    matchParts: without.length === 0 ? [...new Set(matches)] : [],
    where: allOf(conditions),
    captures: allOf(captureConditions),
    mixed: one,
    ranges,
    isOfPages: !namesAddress(query),
  };
}

export function isFiltered({ where, captures }: QueryPlan): boolean {
  return where.sql !== '' || captures.sql !== '';
}

/** True if a query has a field for addresses, types or links. */
function namesAddress(query: Query): boolean {
  if (query.kind === 'not') return namesAddress(query.query);
  if (query.kind === 'and' || query.kind === 'or') return query.queries.some(namesAddress);
  return ['url', 'site', 'type', 'links-to', 'linked-from'].includes(query.kind);
}

/** The captures that a result can show: the tables after FROM, to be joined by `c.version`, and their condition. */
export function matchingCaptures({ captures, mixed }: CapturePlan): Condition & { readonly from: string } {
  if (mixed.sql === '') return { from: 'captures c', sql: captures.sql || '1', values: captures.values };
  const from =
    'captures c JOIN versions v ON v.id = c.version JOIN documents d ON d.id = v.document JOIN urls u ON u.id = v.url';
  return { from, ...mixed };
}

export type CapturePlan = Pick<QueryPlan, 'captures' | 'mixed'>;

/** Joins distinct expressions, because FTS5 is very slow if a word is repeated hundreds of times. */
function joined(expressions: readonly string[], sign: 'AND' | 'OR'): string {
  const different = [...new Set(expressions)];
  return different.length === 1 ? different[0]! : different.map((one) => `(${one})`).join(` ${sign} `);
}

/**
 * The FTS5 expression for contents that have all wanted words and no unwanted word. The unwanted words are one OR
 * expression, because FTS5 limits the depth of nesting.
 */
function matchOfAll(wanted: readonly string[], unwanted: readonly string[]): string {
  const all = joined(wanted, 'AND');
  return unwanted.length === 0 ? all : `(${all}) NOT (${joined(unwanted, 'OR')})`;
}

/** A piece of SQL, mostly a condition, and the values of its placeholders. */
export type Condition = { readonly sql: string; readonly values: readonly Value[] };

export function allOf(conditions: readonly Condition[]): Condition {
  return {
    sql: conditions.map(({ sql }) => `(${sql})`).join(' AND '),
    values: conditions.flatMap(({ values }) => values),
  };
}

/** The FTS5 expression of a query of words; undefined if it has other terms, or only excludes words. */
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

/** True if a query has conditions on captures only, so that one capture must meet all of them. */
function isOfCapture(query: Query): boolean {
  if (query.kind === 'not') return isOfCapture(query.query);
  if (query.kind === 'and' || query.kind === 'or') return query.queries.every(isOfCapture);
  return query.kind === 'status' || query.kind === 'time' || query.kind === 'collection';
}

/** True if a query has a condition on captures. */
function hasCaptureCondition(query: Query): boolean {
  if (query.kind === 'not') return hasCaptureCondition(query.query);
  return query.kind === 'and' || query.kind === 'or' ? query.queries.some(hasCaptureCondition) : isOfCapture(query);
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
      // Not `=`: if the collection does not exist, a comparison with NULL is neither true nor false, nor is its
      // negation.
      return { sql: 'c.collection IN (SELECT id FROM collections WHERE name = ?)', values: [query.name] };
    case 'time':
      return query.from !== undefined
        ? { sql: 'c.time >= ?', values: [query.from] }
        : { sql: 'c.time <= ?', values: [query.to!] };
  }
}

/** Joins conditions as a balanced tree, because SQLite refuses a chain of more than a thousand. */
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

/** The condition for a whole URL, a pattern with a star, or a part of a URL. */
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
