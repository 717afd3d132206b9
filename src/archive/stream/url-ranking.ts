/**
 * An order of URLs that somebody outside of the archive knows, such as the search index: which come first, and nothing
 * of why.
 *
 * Streams by such an order are paused, and go on when the world has changed. So a ranking is kept as it was, under a
 * version that cursors name, and handed out by that version as long as it is kept (I8).
 */
import type { UrlKey } from '../../url/index.ts';

export interface UrlRanking {
  /** `inlinks`, `rank`: cursors of one are not good for another. */
  readonly name: string;
  /**
   * Without a version: sees to it that the order of now is kept, and gives its version. With one: gives it back as long
   * as it is kept, and refuses with CURSOR_EXPIRED when it is gone.
   */
  keep(version: string | undefined): Promise<string>;
  open(version: string): Promise<KeptRanking>;
}

/** URLs in their order, as a version has it. URLs that are not in it come behind all others. */
export interface KeptRanking extends AsyncDisposable {
  /** The place of a URL; undefined when it has none. */
  placeOf(key: UrlKey): Promise<number | undefined>;
  /** URLs from a place on, in pages. */
  keysFrom(place: number): AsyncIterable<readonly UrlKey[]>;
  /** Which of these have a place. */
  rankedOf(keys: readonly UrlKey[]): Promise<ReadonlySet<UrlKey>>;
}
