/**
 * Queries on the facts of captures in the catalog: a few words instead of many options. The query language of search
 * has more fields. Fields of both languages mean the same.
 *
 * ```
 *   query   = { [-] name ( : | = | > | >= | < | <= ) value }            blanks mean AND, a minus before a field NOT
 *   value   = up to the next blank, or in quotation marks
 *
 *   url:http://example.org/a     this URL; url:example.org/a/* all that begins so
 *   site:example.org             a host with all below it; site:.edu the end of hosts
 *   type:html                    html, pdf, image and more as in searches; a media type: type:text/html, type:image/*
 *   status:200                   status:4xx for all from 400 to 499
 *   collection:NAME   kind:revisit   from:2020   to:2021-06   size>10kB
 *
 *   site, type, status, collection and kind take several values with commas between them: any of them
 * ```
 * A query with an error is refused, with the place marked. A size is the size of the payload. A capture whose content
 * is unknown does not have a size and matches no condition on size.
 */
import { MEDIA_KIND_ADVICE, mediaTypesOf, PinakesError, parseAskedTime } from '../base/index.ts';
import type { Capture } from '../catalog/index.ts';
import { isInRanges, type KeyRange, keyRange, parseUrlPattern, unitedRanges } from '../url/index.ts';

/** The facts of a capture that a query looks at. */
export type QueriedFacts = Pick<Capture, 'urlKey' | 'time' | 'kind' | 'collection' | 'status' | 'mime'> & {
  /** Bytes of the payload, if known. */
  readonly size?: number | undefined;
};

type Test = (facts: QueriedFacts) => boolean;

type Term = {
  readonly test: Test;
  readonly isNegated: boolean;
  readonly name: FieldName;
  readonly ranges: readonly KeyRange[] | undefined;
};

export class CaptureQuery {
  readonly text: string;
  readonly #terms: readonly Term[];

  constructor(text: string, terms: readonly Term[]) {
    this.text = text;
    // Fields that need another table are checked last.
    this.#terms = [...terms].sort((a, b) => Number(a.name === 'size') - Number(b.name === 'size'));
  }

  /** The query for captures that match both queries. */
  and(other: CaptureQuery): CaptureQuery {
    return new CaptureQuery(`${this.text} ${other.text}`, [...this.#terms, ...other.#terms]);
  }

  /** Ranges of URL keys that contain every possible match. Undefined when any URL may match. */
  get ranges(): readonly KeyRange[] | undefined {
    return this.#terms.find(({ isNegated, ranges }) => ranges !== undefined && !isNegated)?.ranges;
  }

  /** Whether the query looks at the size of payloads. */
  get asksForSize(): boolean {
    return this.#terms.some(({ name }) => name === 'size');
  }

  /**
   * Whether a capture matches. With `withSize` false, the size is not known yet, and the result is whether the capture
   * may match.
   */
  isMet(facts: QueriedFacts, withSize = true): boolean {
    return this.#terms.every(({ name, test, isNegated }) => {
      if (name !== 'size') return test(facts) !== isNegated;
      return !withSize || (facts.size !== undefined && test(facts) !== isNegated);
    });
  }
}

const FIELDS = ['url', 'site', 'type', 'status', 'collection', 'kind', 'from', 'to', 'size'] as const;
type FieldName = (typeof FIELDS)[number];

const KINDS: readonly string[] = [
  'response',
  'revisit',
  'resource',
  'conversion',
  'metadata',
] satisfies Capture['kind'][];
const TERM = /(-?)([a-z]+)(>=|<=|[:=><])("[^"]*"|[^\s"]+)(?=\s|$)/y;
const QUERY_LENGTH_MAX = 4000;

export type QueryNames = {
  /** The number of a collection. Undefined when none has this name. */
  readonly collection: (name: string) => number | undefined;
};

export function parseCaptureQuery(text: string, names: QueryNames): CaptureQuery {
  if (text.length > QUERY_LENGTH_MAX)
    throw problem(text, QUERY_LENGTH_MAX, 1, `a query has at most ${QUERY_LENGTH_MAX} characters`);
  const terms: Term[] = [];
  let at = 0;
  for (;;) {
    while (at < text.length && /\s/.test(text[at]!)) at++;
    if (at === text.length) break;
    TERM.lastIndex = at;
    const match = TERM.exec(text);
    if (!match) throw unreadable(text, at);
    const [whole, minus, name, comparison, quoted] = match as unknown as [string, string, string, string, string];
    const value = quoted.startsWith('"') ? quoted.slice(1, -1) : quoted;
    const valueAt = at + whole.length - quoted.length;
    const refuse = (message: string) => problem(text, valueAt, quoted.length, message);
    const field = FIELDS.find((one) => one === name);
    if (!field)
      throw problem(text, at + minus.length, name.length, `there is no field of this name; ${FIELDS.join(', ')}`);
    if (field !== 'size' && comparison !== ':')
      throw problem(text, at, valueAt - at, `"${field}" is followed by a colon`);
    terms.push({ ...termOf(field, comparison, value, names, refuse), isNegated: minus !== '', name: field });
    at += whole.length;
  }
  if (terms.length === 0) throw problem(text, 0, 1, 'the query is empty, which would select everything');
  return new CaptureQuery(text, terms);
}

/** A query text, single values of two of its fields, or both. */
export type AskedFacts = {
  readonly query?: string | undefined;
  readonly status?: string | undefined;
  readonly mime?: string | undefined;
};

const LONE_FIELDS = [
  {
    name: 'status',
    field: 'status',
    form: /^(\d{1,3}|[1-9]xx)$/i,
    says: 'a status is 200, or 4xx for all from 400 to 499',
  },
  {
    name: 'mime',
    field: 'type',
    form: /^[^\s"/*]+\/([^\s"/*]+|\*)$/,
    says: 'a media type is text/html, or image/* for all of a kind',
  },
] as const;

/**
 * The query for these facts. Undefined when no facts are given. A single value means the same as in a query. A value
 * that no capture could ever have is refused, since an empty result would look as if there were no captures.
 */
export function askedQuery(asked: AskedFacts, names: QueryNames): CaptureQuery | undefined {
  const queries = asked.query === undefined ? [] : [parseCaptureQuery(asked.query, names)];
  for (const { name, field, form, says } of LONE_FIELDS) {
    const value = asked[name];
    if (value === undefined) continue;
    if (!value.split(',').every((one) => form.test(one)))
      throw new PinakesError('BAD_ARGUMENT', { where: `${name} ${value}`, detail: says });
    queries.push(parseCaptureQuery(`${field}:${value}`, names));
  }
  return queries.length === 0 ? undefined : queries.reduce((all, query) => all.and(query));
}

function unreadable(text: string, at: number): PinakesError {
  const word = /^\S+/.exec(text.slice(at))![0];
  if (word.includes('"'))
    return problem(text, at, word.length, 'a quotation mark is not closed, or is inside of a value');
  const isField = new RegExp(`^-?(${FIELDS.join('|')})([:=<>]|>=|<=)?$`).test(word);
  if (isField) return problem(text, at, word.length, 'the value is missing');
  const message = '`pinakes search` looks for words; this query has fields such as status:200';
  return problem(text, at, word.length, message);
}

function termOf(
  name: FieldName,
  comparison: string,
  value: string,
  names: QueryNames,
  refuse: (message: string) => PinakesError,
): Pick<Term, 'test' | 'ranges'> {
  switch (name) {
    case 'url': {
      const pattern = parseUrlPattern(value);
      return within(keyRange(pattern.url, pattern.matchType));
    }
    case 'site':
      return within(unitedRanges(value.split(',').flatMap((one) => siteRanges(one, refuse))));
    case 'type':
      return anyOf(value, (one) => typeTest(one, refuse));
    case 'status':
      return anyOf(value, (one) => statusTest(one, refuse));
    case 'collection':
      return anyOf(value, (one) => {
        const number = names.collection(one);
        if (number === undefined) throw refuse(`there is no collection ${one}`);
        return ({ collection }) => collection === number;
      });
    case 'kind':
      return anyOf(value, (one) => {
        if (!KINDS.includes(one)) throw refuse(`a kind is one of ${KINDS.join(', ')}`);
        return ({ kind }) => kind === one;
      });
    case 'from':
    case 'to':
      return { test: timeTest(name, value, refuse), ranges: undefined };
    case 'size':
      return { test: sizeTest(comparison, value, refuse), ranges: undefined };
  }
}

function within(ranges: readonly KeyRange[]): Pick<Term, 'test' | 'ranges'> {
  return { test: ({ urlKey }) => isInRanges(urlKey, ranges), ranges };
}

function anyOf(value: string, testOf: (one: string) => Test): Pick<Term, 'test' | 'ranges'> {
  const tests = value.split(',').map(testOf);
  return { test: (facts) => tests.some((test) => test(facts)), ranges: undefined };
}

function siteRanges(value: string, refuse: (message: string) => PinakesError): KeyRange[] {
  const host = value
    .toLowerCase()
    .replace(/^\*?\./, '')
    .replace(/\.$/, '');
  if (!/^[^\s/:?#]+$/.test(host)) throw refuse('a site is a host or the end of one: example.org, .edu');
  return keyRange(`http://${host}/`, 'domain');
}

function typeTest(type: string, refuse: (message: string) => PinakesError): Test {
  const meant = mediaTypesOf(type);
  if (!meant) throw refuse(MEDIA_KIND_ADVICE);
  return ({ mime }) => meant.some((one) => (one.endsWith('*') ? mime.startsWith(one.slice(0, -1)) : mime === one));
}

function statusTest(value: string, refuse: (message: string) => PinakesError): Test {
  if (/^[1-9]xx$/i.test(value)) {
    const hundreds = Number(value[0]);
    return ({ status }) => Math.floor(status / 100) === hundreds;
  }
  if (!/^\d{1,3}$/.test(value)) throw refuse('a status is 200, or 4xx for all from 400 to 499');
  return ({ status }) => status === Number(value);
}

function timeTest(side: 'from' | 'to', value: string, refuse: (message: string) => PinakesError): Test {
  const bound = parseAskedTime(value, side === 'to' ? 'end' : 'start');
  if (bound === undefined) throw refuse('a time is 2024, 2024-03, 20240301120000 or 2024-03-01T12:00:00Z');
  return side === 'from' ? ({ time }) => time >= bound : ({ time }) => time <= bound;
}

const UNITS: Readonly<Record<string, number>> = { '': 1, b: 1, k: 1e3, kb: 1e3, m: 1e6, mb: 1e6, g: 1e9, gb: 1e9 };

function sizeTest(comparison: string, value: string, refuse: (message: string) => PinakesError): Test {
  const match = /^(\d+(?:\.\d+)?)([a-z]{0,2})$/i.exec(value);
  const unit = UNITS[match?.[2]?.toLowerCase() ?? '?'];
  if (!match || unit === undefined) throw refuse('a size is a number, optionally with kB, MB or GB after it');
  const bound = Number(match[1]) * unit;
  switch (comparison) {
    case '>':
      return ({ size }) => size! > bound;
    case '>=':
      return ({ size }) => size! >= bound;
    case '<':
      return ({ size }) => size! < bound;
    case '<=':
      return ({ size }) => size! <= bound;
    default:
      return ({ size }) => size === bound;
  }
}

/** The error of an invalid query, with the place marked. */
function problem(text: string, at: number, length: number, message: string): PinakesError {
  const marked = `${text.slice(0, at)}\u00bb${text.slice(at, at + length)}\u00ab${text.slice(at + length)}`;
  return new PinakesError('BAD_QUERY', { where: marked, detail: message });
}
