/**
 * An order of URLs from outside of the archive, such as from the search index.
 *
 * A stream may be interrupted, and resumed after the order has changed. So a ranking is kept unchanged under a version.
 * Cursors name the version, and a resumed stream opens the same version as long as it is kept (I8).
 */
import type { UrlKey } from '../../url/index.ts';

export interface UrlRanking {
  /** `inlinks`, `rank`: cursors of one ranking are not valid for another. */
  readonly name: string;
  /**
   * Without a version: keeps the current order and returns its version. With a version: returns it while it is kept,
   * and fails with CURSOR_EXPIRED when it is gone.
   */
  keep(version: string | undefined): Promise<string>;
  open(version: string): Promise<KeptRanking>;
}

/** The URLs of a version in their order. URLs without a place follow all others. */
export interface KeptRanking extends AsyncDisposable {
  /** The place of a URL. Undefined when it does not have one. */
  placeOf(key: UrlKey): Promise<number | undefined>;
  /** URLs from a place on, in pages. */
  keysFrom(place: number): AsyncIterable<readonly UrlKey[]>;
  /** The keys among these that have a place. */
  rankedOf(keys: readonly UrlKey[]): Promise<ReadonlySet<UrlKey>>;
}
