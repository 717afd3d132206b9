/**
 * Everything that a catalog has, for a copy of it in another database. The copy has the same rows under the same
 * numbers, so that places, cursors and content keys stay true. Leases are copied as ended ones, so that their epochs go
 * on growing. What is not copied: what a catalog keeps for itself, such as indexes and totals, which it makes again.
 */
import type { Alias, Catalog, CatalogView, LeaseRow, Mark } from './catalog.ts';

/** The numbers that a catalog deals next, and its life (R2). */
export type CatalogNumbers = {
  readonly segment: number;
  readonly sequence: number;
  readonly collection: number;
  readonly incarnation: number;
  readonly isAdopting: boolean;
};

/** Of a catalog that others change, the rows are those of the time when they are read. */
export interface CatalogContents extends CatalogView, AsyncDisposable {
  aliases(): AsyncIterable<Alias[]>;
  deletedMarks(): AsyncIterable<Mark[]>;
  leases(): Promise<LeaseRow[]>;
  numbers(): Promise<CatalogNumbers>;
}

/** The rows of these tables are counted while they are copied. */
export type CopiedTable =
  | 'captures'
  | 'blocks'
  | 'segments'
  | 'aliases'
  | 'notes'
  | 'dead'
  | 'surplus'
  | 'deleted'
  | 'bars';

export type FillOptions = {
  readonly signal?: AbortSignal | undefined;
  /** Called with the number of rows of a table that were read so far. */
  readonly onProgress?: ((table: CopiedTable, rows: number) => void) | undefined;
};

/** The numbers of a catalog that has those of both: nothing that one of them has dealt is dealt again. */
export function numbersAbove(one: CatalogNumbers, other: CatalogNumbers): CatalogNumbers {
  return {
    segment: Math.max(one.segment, other.segment),
    sequence: Math.max(one.sequence, other.sequence),
    collection: Math.max(one.collection, other.collection),
    incarnation: Math.max(one.incarnation, other.incarnation),
    isAdopting: one.isAdopting || other.isAdopting,
  };
}

/** A catalog that can be copied, and filled by a copy. */
export interface CopyableCatalog extends Catalog {
  contents(): Promise<CatalogContents>;
  /** Takes all rows of another catalog, if it is empty. ARCHIVE_EXISTS: it is not. */
  fill(contents: CatalogContents, options?: FillOptions): Promise<void>;
}
