/** A parsed query: a tree of words, filters and operators. Places are offsets into the text of the query. */
import type { EpochMs } from '../../base/index.ts';

export type Comparison = '=' | '>' | '>=' | '<' | '<=';

/** The part of a page that words are searched in. */
export type WordField = 'any' | 'title' | 'heading' | 'description' | 'text';

export type Query =
  | { readonly kind: 'all' }
  | { readonly kind: 'words'; readonly field: WordField; readonly text: string; readonly isPrefix: boolean }
  | { readonly kind: 'site'; readonly host: string }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'type'; readonly type: string }
  | { readonly kind: 'language'; readonly language: string }
  | { readonly kind: 'collection'; readonly name: string }
  | { readonly kind: 'status'; readonly from: number; readonly to: number }
  | { readonly kind: 'time'; readonly from?: EpochMs; readonly to?: EpochMs }
  | {
      readonly kind: 'number';
      readonly attribute: NumberField;
      readonly comparison: Comparison;
      readonly value: number;
    }
  | { readonly kind: 'links-to'; readonly url: string }
  | { readonly kind: 'linked-from'; readonly url: string }
  | { readonly kind: 'not'; readonly query: Query }
  | { readonly kind: 'and' | 'or'; readonly queries: readonly Query[] };

export type NumberField = 'size' | 'inlinks' | 'rank' | 'captures';

export type QueryProblem = { readonly at: number; readonly length: number; readonly message: string };

/** The collections that a query names, included or excluded. */
export function collectionsOf(query: Query): string[] {
  if (query.kind === 'collection') return [query.name];
  if (query.kind === 'not') return collectionsOf(query.query);
  if (query.kind === 'and' || query.kind === 'or') return query.queries.flatMap(collectionsOf);
  return [];
}

/**
 * All words and phrases that a result must or may have, for highlighting. A prefix has a star at its end. Excluded
 * words are left out.
 */
export function wordsOf(query: Query): string[] {
  if (query.kind === 'words') return [query.isPrefix ? `${query.text}*` : query.text];
  if (query.kind === 'and' || query.kind === 'or') return query.queries.flatMap(wordsOf);
  return [];
}
