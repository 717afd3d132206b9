/** The query that is sent: what was typed, and behind it what the results are narrowed by. */
import { FACETS, type FacetName, type SearchInput } from '../app/route.ts';

export type SentQuery = {
  readonly text: string;
  /** Where in it the typed part begins: places of faults are told from there. */
  readonly typedAt: number;
};

export function sentQuery({ query, filters }: SearchInput): SentQuery {
  const terms = FACETS.flatMap((name) => {
    const value = filters[name];
    return value === undefined ? [] : [termOf(name, value)];
  });
  if (terms.length === 0) return { text: query, typedAt: 0 };
  // OR binds weaker than blanks.
  const isWrapped = /\bOR\b|\|/.test(query);
  const typed = isWrapped ? `(${query})` : query;
  return { text: [typed, ...terms].filter((part) => part !== '').join(' '), typedAt: isWrapped ? 1 : 0 };
}

/** The same query, asked of one address only. */
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

/** A quotation mark cannot stand in quotation marks; addresses have it written as %22. */
function quoted(value: string): string {
  return `"${value.replaceAll('"', '%22')}"`;
}

export type TextPart = { readonly text: string; readonly isMarked: boolean };

/** A text cut at its marks. Marks that overlap or lie outside are left out. */
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
