/** Splits a query into tokens: words, phrases, fields and operators, each with its place. */
import type { Comparison, QueryProblem } from './query.ts';

export type Token =
  | { readonly kind: 'open' | 'close' | 'or' | 'and' | 'not'; readonly at: number; readonly length: number }
  | { readonly kind: 'word' | 'phrase'; readonly text: string; readonly at: number; readonly length: number }
  | {
      readonly kind: 'field';
      readonly name: string;
      readonly comparison: Comparison;
      readonly value: string;
      readonly at: number;
      readonly length: number;
      readonly valueAt: number;
    };

/** The names of fields. Other text with a colon in it is a word. */
const FIELDS = [
  'title',
  'heading',
  'description',
  'text',
  'url',
  'site',
  'type',
  'lang',
  'status',
  'collection',
  'from',
  'to',
  'size',
  'links-to',
  'linked-from',
  'inlinks',
  'rank',
  'captures',
] as const;
export type FieldName = (typeof FIELDS)[number];

const FIELD = /([A-Za-z][A-Za-z-]*)(:(?:>=|<=|>|<)?|>=|<=|>|<|=)/y;
/** Straight quotation marks, and the English, German, Polish, French and Russian ones that word processors insert. */
const QUOTES = '"\u201c\u201d\u201e\u00ab\u00bb';
/** The marks that close a phrase, by the mark that opened it. Other marks may occur inside the phrase. */
const PARTNERS: Readonly<Record<string, string>> = {
  '"': '"',
  '\u201c': '\u201d"',
  '\u201d': '\u201d"',
  '\u201e': '\u201c\u201d"',
  '\u00ab': '\u00bb"',
  '\u00bb': '\u00ab\u00bb"',
};
const WORD = new RegExp(`[^\\s()${QUOTES}]+`, 'y');

export function lexQuery(text: string): Token[] | QueryProblem {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const character = text[at]!;
    if (/\s/.test(character)) at++;
    else if (character === '(' || character === ')') {
      tokens.push({ kind: character === '(' ? 'open' : 'close', at, length: 1 });
      at++;
    } else if (character === '-' && /\S/.test(text[at + 1] ?? '')) {
      tokens.push({ kind: 'not', at, length: 1 });
      at++;
    } else {
      const token = isQuote(character) ? phraseAt(text, at) : (fieldAt(text, at) ?? wordAt(text, at));
      if (!('kind' in token)) return token;
      tokens.push(token);
      at = token.at + token.length;
    }
  }
  return tokens;
}

function isQuote(character: string): boolean {
  return QUOTES.includes(character);
}

function nextOf(signs: string, text: string, from: number): number | undefined {
  for (let at = from; at < text.length; at++) if (signs.includes(text[at]!)) return at;
  return undefined;
}

function phraseAt(text: string, at: number): Token | QueryProblem {
  const end = nextOf(PARTNERS[text[at]!]!, text, at + 1) ?? nextOf(QUOTES, text, at + 1);
  if (end === undefined)
    return { at, length: 1, message: 'this quotation mark has no partner: the phrase is not closed' };
  return { kind: 'phrase', text: text.slice(at + 1, end), at, length: end + 1 - at };
}

function fieldAt(text: string, at: number): Token | QueryProblem | undefined {
  FIELD.lastIndex = at;
  const match = FIELD.exec(text);
  if (match === null) return undefined;
  const name = match[1]!.toLowerCase();
  const sign = match[2]!;
  const valueAt = at + match[0].length;
  const next = text[valueAt] ?? '';
  if (!(FIELDS as readonly string[]).includes(name)) {
    // `http://example.org` and `12:30` are words; `tilte:x` is a typing error.
    if (sign !== ':' || next === '/' || /[\s)]/.test(next) || next === '') return undefined;
    return {
      at,
      length: match[0].length,
      message: `there is no field "${name}"; the fields are ${FIELDS.join(', ')}; put the text in quotation marks to search for it`,
    };
  }
  const comparison = (sign === ':' ? '=' : sign.replace(':', '')) as Comparison;
  if (isQuote(next)) {
    const phrase = phraseAt(text, valueAt);
    if (!('kind' in phrase) || phrase.kind !== 'phrase') return phrase;
    const length = valueAt + phrase.length - at;
    return { kind: 'field', name, comparison, value: phrase.text, at, length, valueAt };
  }
  WORD.lastIndex = valueAt;
  const value = WORD.exec(text)?.[0] ?? '';
  if (value === '') return { at, length: match[0].length, message: `"${match[0]}" needs a value after it` };
  return { kind: 'field', name, comparison, value, at, length: valueAt + value.length - at, valueAt };
}

function wordAt(text: string, at: number): Token {
  WORD.lastIndex = at;
  const word = WORD.exec(text)?.[0] ?? text[at]!;
  if (word === 'OR' || word === '|') return { kind: 'or', at, length: word.length };
  if (word === 'AND') return { kind: 'and', at, length: 3 };
  if (word === 'NOT') return { kind: 'not', at, length: 3 };
  return { kind: 'word', text: word, at, length: word.length };
}
