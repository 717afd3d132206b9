/** What a search gives. */
import type { EpochMs } from '../../base/index.ts';

export type SearchSort = 'relevance' | 'date' | 'oldest' | 'inlinks' | 'rank';
export type SearchGroup = 'url' | 'capture';

export type SearchOptions = {
  readonly limit?: number;
  /** `next` of the page before. */
  readonly after?: string | undefined;
  readonly sort?: SearchSort;
  readonly group?: SearchGroup;
  readonly facets?: boolean;
  /** Only captures up to this time: the archive as it was then. */
  readonly asOf?: EpochMs | undefined;
};

export type SearchResult = {
  readonly url: string;
  /** Time of the capture: the latest of those that fit. */
  readonly time: EpochMs;
  readonly title: string;
  readonly snippet: string;
  /** Start and end in the snippet of the words that were found. */
  readonly marks: readonly (readonly [number, number])[];
  /** The higher the better; only to be compared within one search. */
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
   * Captures of this URL in the index, whatever their content, with the first and the last time. Of a single capture:
   * 1.
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
  /** Where the next page begins; absent on the last. */
  readonly next?: string;
  readonly total: number;
  /**
   * False when more was found than is counted out; `total` is then what is known quickly: contents, or a number that
   * there are at least.
   */
  readonly isTotalExact: boolean;
  readonly facets?: Facets;
  /** How many values a facet has besides those that are told, the smallest ones; absent where all are. */
  readonly facetsLeftOut?: Readonly<Partial<Record<FacetName, number>>>;
  /** The batch of the index that was asked. */
  readonly batch: number;
};
