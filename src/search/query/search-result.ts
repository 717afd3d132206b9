/** The options and results of a search. */
import type { EpochMs } from '../../base/index.ts';

export type SearchSort = 'relevance' | 'date' | 'oldest' | 'inlinks' | 'rank';
export type SearchGroup = 'url' | 'capture';

export type SearchOptions = {
  readonly limit?: number;
  /** `next` of the previous page. */
  readonly after?: string | undefined;
  readonly sort?: SearchSort;
  readonly group?: SearchGroup;
  readonly facets?: boolean;
  /** Only captures up to this time: the archive as it was then. */
  readonly asOf?: EpochMs | undefined;
};

export type SearchResult = {
  readonly url: string;
  /** The time of the latest capture that matches. */
  readonly time: EpochMs;
  readonly title: string;
  readonly snippet: string;
  /** The start and end of each found word in the snippet. */
  readonly marks: readonly (readonly [number, number])[];
  /** Higher is better. Scores of different searches cannot be compared. */
  readonly score: number;
  readonly status: number;
  readonly mime: string;
  readonly language: string;
  readonly collection: string;
  readonly bytes: number;
  /** `sha256:<hex>`: the content. */
  readonly digest: string;
  readonly inlinks: number;
  readonly rank: number;
  /** Contents of this URL that match the query. */
  readonly versions: number;
  /**
   * All captures of this URL in the index, with the first and the last time. In a search over captures the number is 1.
   */
  readonly captures: number;
  readonly first: EpochMs;
  readonly last: EpochMs;
};

export type Facet = { readonly value: string; readonly count: number };
export type FacetName = 'site' | 'type' | 'language' | 'year' | 'collection';
export type Facets = Readonly<Record<FacetName, readonly Facet[]>>;

export type SearchPage = {
  readonly items: readonly SearchResult[];
  /** The token for the next page; absent on the last page. */
  readonly next?: string;
  readonly total: number;
  /** False if there are too many results to count. `total` is then the number of contents, or a lower bound. */
  readonly isTotalExact: boolean;
  readonly facets?: Facets;
  /** For each facet, the number of values that are not listed, which are the smallest; absent if all are listed. */
  readonly facetsLeftOut?: Readonly<Partial<Record<FacetName, number>>>;
  /** The batch of the index that was searched. */
  readonly batch: number;
};
