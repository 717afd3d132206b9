/**
 * Parses the query language: words, "phrases", -not, OR, parentheses, and fields. A space means AND; OR binds weaker
 * than a space.
 *
 * ```
 *   query   = and { OR and }
 *   and     = term { [AND] term }
 *   term    = [ - | NOT ] ( word | "phrase" | field | ( query ) )
 *   field   = name ( : | > | >= | < | <= ) value
 * ```
 * A syntax error is returned with its place. Nothing is thrown, and nothing is guessed.
 */
import { MEDIA_KIND_ADVICE, mediaTypesOf, parseAskedTime } from '../../base/index.ts';
import { matchForm, withoutInvisible } from '../token-form.ts';
import type { Comparison, NumberField, Query, QueryProblem, WordField } from './query.ts';
import { type FieldName, lexQuery, type Token } from './query-lexer.ts';

const QUERY_LENGTH_MAX = 4000;
const DEPTH_MAX = 32;

export type ParsedQuery = { readonly query: Query } | { readonly problem: QueryProblem };

export function parseQuery(text: string): ParsedQuery {
  if (text.length > QUERY_LENGTH_MAX) {
    return {
      problem: { at: QUERY_LENGTH_MAX, length: 1, message: `a query has at most ${QUERY_LENGTH_MAX} characters` },
    };
  }
  // Pasted text may have invisible characters. Before a field or an operator they would turn it into a word.
  const visible = withoutInvisible(text);
  if (visible === text) return parseVisible(text, (token) => token);
  const places = placesOf(text);
  const parsed = parseVisible(visible, (token) => restoredName(token, visible, text, places));
  return 'problem' in parsed ? { problem: atOriginalPlace(text, places, parsed.problem) } : parsed;
}

function parseVisible(text: string, restored: (token: Token) => Token): ParsedQuery {
  const tokens = lexQuery(text);
  if (!Array.isArray(tokens)) return { problem: tokens };
  if (tokens.length === 0) return { query: { kind: 'all' } };
  return new Parser(tokens.map(restored), text.length).parse();
}

/** The offset in the whole text of every code unit of the visible text. */
function placesOf(text: string): number[] {
  const places: number[] = [];
  let end = 0;
  for (const character of text) {
    if (withoutInvisible(character) !== '') for (let unit = 0; unit < character.length; unit++) places.push(end + unit);
    end += character.length;
  }
  return places;
}

/** Moves a problem of the visible text to its place in the whole text. */
function atOriginalPlace(text: string, places: readonly number[], { at, length, message }: QueryProblem): QueryProblem {
  const from = places[at] ?? text.length;
  const last = places[at + length - 1] ?? from + length - 1;
  return { at: from, length: last - from + 1, message };
}

/** Fields whose values are names. In Persian, in the scripts of India and in emoji, joiners distinguish names. */
const NAMES: ReadonlySet<string> = new Set(['url', 'site', 'links-to', 'linked-from', 'collection']);
const NO_JOINER = /[\p{Default_Ignorable_Code_Point}--[\u200c\u200d\ufe0f]]+/gv;

function restoredName(token: Token, visible: string, text: string, places: readonly number[]): Token {
  if (token.kind !== 'field' || !NAMES.has(token.name) || token.value === '') return token;
  const from = visible.indexOf(token.value, token.valueAt);
  const written = text.slice(places[from], places[from + token.value.length - 1]! + 1);
  return { ...token, value: written.replace(NO_JOINER, '') };
}

class Parser {
  readonly #tokens: readonly Token[];
  readonly #end: number;
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly Token[], end: number) {
    this.#tokens = tokens;
    this.#end = end;
  }

  parse(): ParsedQuery {
    const query = this.#orQuery();
    if (isProblem(query)) return { problem: query };
    const left = this.#tokens[this.#at];
    if (left) return { problem: { at: left.at, length: left.length, message: 'this parenthesis was not opened' } };
    return { query };
  }

  #orQuery(): Query | QueryProblem {
    const queries: Query[] = [];
    for (;;) {
      const part = this.#andQuery();
      if (isProblem(part)) return part;
      queries.push(part);
      if (this.#tokens[this.#at]?.kind !== 'or') return joined('or', queries);
      this.#at++;
    }
  }

  #andQuery(): Query | QueryProblem {
    const queries: Query[] = [];
    for (;;) {
      const token = this.#tokens[this.#at];
      const isOver = token === undefined || token.kind === 'or' || token.kind === 'close';
      if (isOver && queries.length > 0) return joined('and', queries);
      if (isOver) return this.#missing(token);
      if (token.kind === 'and') {
        const next = this.#tokens[this.#at + 1];
        if (queries.length === 0 || next === undefined || next.kind === 'or' || next.kind === 'close') {
          return { at: token.at, length: token.length, message: 'AND needs a term on both sides' };
        }
        this.#at++;
        continue;
      }
      const term = this.#term(token);
      if (isProblem(term)) return term;
      queries.push(term);
    }
  }

  #missing(token: Token | undefined): QueryProblem {
    const before = this.#tokens[this.#at - 1];
    if (before?.kind === 'or')
      return { at: before.at, length: before.length, message: 'OR needs a term on both sides' };
    if (before?.kind === 'open') return { at: before.at, length: 1, message: 'there is nothing in these parentheses' };
    if (token?.kind === 'or') return { at: token.at, length: token.length, message: 'OR needs a term on both sides' };
    if (token?.kind === 'close') return { at: token.at, length: 1, message: 'this parenthesis was not opened' };
    return { at: this.#end, length: 1, message: 'a term is missing here' };
  }

  #term(token: Token): Query | QueryProblem {
    this.#at++;
    if (token.kind === 'not') {
      const next = this.#tokens[this.#at];
      if (next === undefined || next.kind === 'close' || next.kind === 'or' || next.kind === 'and') {
        return { at: token.at, length: token.length, message: 'the term to exclude is missing' };
      }
      if (this.#depth++ > DEPTH_MAX) return tooDeep(token);
      const query = this.#term(next);
      this.#depth--;
      return isProblem(query) ? query : { kind: 'not', query };
    }
    if (token.kind === 'open') {
      if (this.#depth++ > DEPTH_MAX) return tooDeep(token);
      const query = this.#orQuery();
      this.#depth--;
      if (isProblem(query)) return query;
      if (this.#tokens[this.#at]?.kind !== 'close')
        return { at: token.at, length: 1, message: 'this parenthesis is not closed' };
      this.#at++;
      return query;
    }
    if (token.kind === 'field') return fieldQuery(token);
    if (token.kind === 'word' || token.kind === 'phrase') return words('any', token.text, token);
    return { at: token.at, length: token.length, message: 'this is not allowed here' };
  }
}

function tooDeep(token: Token): QueryProblem {
  return { at: token.at, length: token.length, message: 'the query is nested too deeply' };
}

function isProblem(value: Query | QueryProblem): value is QueryProblem {
  return 'message' in value;
}

function joined(kind: 'and' | 'or', queries: readonly Query[]): Query {
  return queries.length === 1 ? queries[0]! : { kind, queries };
}

type Place = { readonly at: number; readonly length: number };

function words(field: WordField, text: string, place: Place): Query | QueryProblem {
  const isPrefix = /\S\*$/.test(text);
  const bare = isPrefix ? text.slice(0, -1) : text;
  if (matchForm(bare) === undefined) {
    return { at: place.at, length: place.length, message: 'there is no letter or digit to search for' };
  }
  return { kind: 'words', field, text: bare, isPrefix };
}

type FieldToken = Extract<Token, { kind: 'field' }>;

/** Fields that accept several values, separated by commas, as in the queries of the archive. */
const LISTS: ReadonlySet<string> = new Set(['site', 'type', 'lang', 'collection', 'status']);

function fieldQuery(token: FieldToken): Query | QueryProblem {
  if (!LISTS.has(token.name) || !token.value.includes(',')) return singleQuery(token);
  const queries: Query[] = [];
  for (const value of token.value.split(',')) {
    if (value === '') {
      const message = 'there is no value before or after a comma';
      return { at: token.valueAt, length: token.at + token.length - token.valueAt, message };
    }
    const query = singleQuery({ ...token, value });
    if (isProblem(query)) return query;
    queries.push(query);
  }
  return { kind: 'or', queries };
}

function singleQuery(token: FieldToken): Query | QueryProblem {
  const name = token.name as FieldName;
  const { value, comparison } = token;
  const place = { at: token.valueAt, length: Math.max(1, token.at + token.length - token.valueAt) };
  const problem = (message: string): QueryProblem => ({ ...place, message });
  const isNumber = name === 'size' || name === 'inlinks' || name === 'rank' || name === 'captures';
  if (!isNumber && comparison !== '=')
    return { at: token.at, length: token.length, message: `"${name}" must be followed by a colon` };
  switch (name) {
    case 'title':
    case 'heading':
    case 'description':
    case 'text':
      return words(name, value, place);
    case 'url':
      return /^[*\s]*$/.test(value)
        ? problem('a URL, a part of a URL, or a prefix with a star: example.org/a/*')
        : { kind: 'url', url: value };
    case 'links-to':
    case 'linked-from':
      return { kind: name, url: value };
    case 'site': {
      const host = value
        .toLowerCase()
        .replace(/^\*?\./, '')
        .replace(/\.$/, '');
      return /^[^\s/:?#*]+$/.test(host)
        ? { kind: 'site', host }
        : problem('a site is a host or a domain: example.org, .edu');
    }
    case 'type':
      return mediaTypesOf(value) ? { kind: 'type', type: value.toLowerCase() } : problem(MEDIA_KIND_ADVICE);
    case 'lang':
      return /^[a-z]{2,3}$/i.test(value)
        ? { kind: 'language', language: value.toLowerCase() }
        : problem('a language is a code like en, de, zh');
    case 'collection':
      return { kind: 'collection', name: value };
    case 'status':
      return statusQuery(value) ?? problem('a status is a number like 200, or 4xx for 400 to 499');
    case 'from':
    case 'to':
      return timeQuery(name, value) ?? problem('a time is 2024, 2024-03, 20240301120000 or 2024-03-01T12:00:00Z');
    default:
      return (
        numberQuery(name, comparison, value) ??
        problem(name === 'size' ? 'a size is a number, optionally with kB, MB or GB after it' : 'this must be a number')
      );
  }
}

function statusQuery(value: string): Query | undefined {
  if (/^[1-9]xx$/i.test(value))
    return { kind: 'status', from: Number(value[0]) * 100, to: Number(value[0]) * 100 + 99 };
  return /^\d{1,3}$/.test(value) ? { kind: 'status', from: Number(value), to: Number(value) } : undefined;
}

function timeQuery(side: 'from' | 'to', value: string): Query | undefined {
  const time = parseAskedTime(value, side === 'to' ? 'end' : 'start');
  if (time === undefined) return undefined;
  return side === 'from' ? { kind: 'time', from: time } : { kind: 'time', to: time };
}

const UNITS: Readonly<Record<string, number>> = { '': 1, b: 1, k: 1e3, kb: 1e3, m: 1e6, mb: 1e6, g: 1e9, gb: 1e9 };

function numberQuery(attribute: NumberField, comparison: Comparison, value: string): Query | undefined {
  const match = /^(\d+(?:\.\d+)?(?:e-?\d+)?)([a-z]{0,2})$/i.exec(value);
  const unit = UNITS[match?.[2]?.toLowerCase() ?? '?'];
  if (match === null || unit === undefined || (attribute !== 'size' && match[2] !== '')) return undefined;
  return { kind: 'number', attribute, comparison, value: Number(match[1]) * unit };
}
