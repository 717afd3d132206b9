/**
 * search: an index of the text and links of the archive's pages, with a query language, a link graph and ranks. It is a
 * client of the archive's stream.
 */
export type { IndexTally } from './index-entry.ts';
export { Indexer, type IndexOptions, type IndexProgress, type IndexReport } from './indexer.ts';
export type { LinkEnd, LinkList, LinkOptions } from './query/link-graph.ts';
export { collectionsOf, type Query, type QueryProblem, wordsOf } from './query/query.ts';
export { type ParsedQuery, parseQuery } from './query/query-parser.ts';
export { type Appearances, type IndexStatus, openSearch, queryError, Search } from './query/search.ts';
export type {
  Facet,
  FacetName,
  Facets,
  SearchGroup,
  SearchOptions,
  SearchPage,
  SearchResult,
  SearchSort,
} from './query/search-result.ts';
export { SearchThread } from './query/search-thread.ts';
export { type Snippet, snippetOf } from './query/snippet.ts';
export { SEARCH_FILE } from './sqlite/database.ts';
export { databaseProblems } from './sqlite/database-check.ts';
export { EDGE_COLUMNS, type Edge, edgeLine, listEdges } from './sqlite/edge-list.ts';
export { dropIndex } from './sqlite/index-swap.ts';
export type { RankOptions, RankReport } from './sqlite/rank.ts';
export { RankingStore } from './sqlite/ranking-store.ts';
export type { RankingName } from './sqlite/ranking-writer.ts';
export { pageExtension, type StreamPageFields } from './stream-page.ts';
