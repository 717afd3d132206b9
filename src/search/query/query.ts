/**
 * A query as it was understood: a tree of words, filters and what joins them. Places are offsets into the text of the
 * query.
 */
import type { EpochMs } from '../../base/index.ts';

export type Comparison = '=' | '>' | '>=' | '<' | '<=';

/** Where words are looked for. */
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

/** The collections that are named, be it to have or to leave out. */
export function collectionsOf(query: Query): string[] {
  if (query.kind === 'collection') return [query.name];
  if (query.kind === 'not') return collectionsOf(query.query);
  if (query.kind === 'and' || query.kind === 'or') return query.queries.flatMap(collectionsOf);
  return [];
}

/**
 * All words and phrases that a result must or may hold, for highlighting, with a star behind what words begin with.
 * What must be absent is left out.
 */
export function wordsOf(query: Query): string[] {
  if (query.kind === 'words') return [query.isPrefix ? `${query.text}*` : query.text];
  if (query.kind === 'and' || query.kind === 'or') return query.queries.flatMap(wordsOf);
  return [];
}
