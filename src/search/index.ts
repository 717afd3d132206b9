/** search: text and links out of the archive's pages, a query language over them, link graph and ranks. A client of the archive's stream. */
export { SEARCH_FILE } from './database.ts';
export { databaseProblems } from './database-check.ts';
export { dropIndex } from './drop-index.ts';
export { EDGE_COLUMNS, type Edge, edgeLine, listEdges } from './edge-list.ts';
export type { IndexTally } from './index-entry.ts';
export { Indexer, type IndexOptions, type IndexProgress, type IndexReport } from './indexer.ts';
export type { LinkEnd, LinkList, LinkOptions } from './link-graph.ts';
export { collectionsOf, type Query, type QueryProblem, wordsOf } from './query.ts';
export { type ParsedQuery, parseQuery } from './query-parser.ts';
export type { RankOptions, RankReport } from './rank.ts';
export type { RankingName } from './ranking-copy.ts';
export { RankingShelf } from './ranking-shelf.ts';
export { type Appearances, type IndexStatus, openSearch, queryError, Search } from './search.ts';
export type {
  Facet,
  FacetName,
  Facets,
  SearchGroup,
  SearchOptions,
  SearchPage,
  SearchResult,
  SearchSort,
} from './search-result.ts';
export { SearchThread } from './search-thread.ts';
export { type Snippet, snippetOf } from './snippet.ts';
export { type PageParts, pageExtension } from './stream-page.ts';
