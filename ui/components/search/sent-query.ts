/** Builds the query that is sent: the typed query, then the filters. */
import { FACETS, type FacetName, type SearchInput } from '../../app/route.ts';

export type SentQuery = {
  readonly text: string;
  /** The offset of the typed query in the text, to find the place of a syntax error. */
  readonly typedAt: number;
};

export function sentQuery({ query, filters }: SearchInput): SentQuery {
  const terms = FACETS.flatMap((name) => {
    const value = filters[name];
    return value === undefined ? [] : [termOf(name, value)];
  });
  if (terms.length === 0) return { text: query, typedAt: 0 };
  // OR binds weaker than a space.
  const isWrapped = /\bOR\b|\|/.test(query);
  const typed = isWrapped ? `(${query})` : query;
  return { text: [typed, ...terms].filter((part) => part !== '').join(' '), typedAt: isWrapped ? 1 : 0 };
}

/** The same query, limited to one address. */
export function queryWithin(input: SearchInput, url: string): string {
  return `(${sentQuery(input).text}) url:${quoted(url)}`;
}

function termOf(name: FacetName, value: string): string {
  switch (name) {
    case 'site':
      return `site:${quoted(value)}`;
    case 'type':
      return `type:${quoted(value)}`;
    case 'language':
      return `lang:${quoted(value)}`;
    case 'year':
      return `from:${quoted(value)} to:${quoted(value)}`;
    case 'collection':
      return `collection:${quoted(value)}`;
  }
}

/** A quoted value cannot contain a quotation mark. In addresses it is written as %22. */
function quoted(value: string): string {
  return `"${value.replaceAll('"', '%22')}"`;
}

export type TextPart = { readonly text: string; readonly isMarked: boolean };

/** Splits a text at its highlighted ranges. Ranges that overlap or lie outside of the text are ignored. */
export function markedParts(text: string, marks: readonly (readonly [number, number])[]): TextPart[] {
  const parts: TextPart[] = [];
  let at = 0;
  for (const [start, end] of marks) {
    if (start < at || end <= start || end > text.length) continue;
    if (start > at) parts.push({ text: text.slice(at, start), isMarked: false });
    parts.push({ text: text.slice(start, end), isMarked: true });
    at = end;
  }
  if (at < text.length) parts.push({ text: text.slice(at), isMarked: false });
  return parts;
}
