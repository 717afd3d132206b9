/**
 * The captures of recently read URL keys. The database answers on another thread, and waiting for it costs replay and
 * CDX look-ups more than all their other work.
 *
 * The cache always agrees with the catalog: a change forgets the keys it touches, and an answer that was read while a
 * change was made is not kept, because it may be older than the change.
 */
import { LruCache } from '../../base/index.ts';
import type { UrlKey } from '../../url/index.ts';
import type { Capture } from '../catalog.ts';
import { isLongKey } from '../key-order.ts';

/**
 * The most captures that are kept, about 20 MB. A key without captures counts as one. Long URLs count as several
 * captures, and long keys are not kept.
 */
const CAPTURES_MAX = 32 * 1024;
const URL_LENGTH = 512;

/** The captures that a change puts, and those that it removes. */
export type ChangedCaptures = {
  readonly putCaptures?: readonly Capture[];
  readonly removeCaptures?: readonly Capture[];
};

export class RecentKeys {
  readonly #captures: LruCache<UrlKey, readonly Capture[]>;
  #changes = 0;

  constructor(capturesMax = CAPTURES_MAX) {
    this.#captures = new LruCache(capturesMax, (captures) => Math.max(1, captures.reduce(addWeight, 0)));
  }

  /** The number of changes so far. A caller of `keep` passes the number from before its read. */
  get changes(): number {
    return this.#changes;
  }

  get(key: UrlKey): readonly Capture[] | undefined {
    return this.#captures.get(key);
  }

  /** Keeps captures that were read after this number of changes, unless there were more changes meanwhile. */
  keep(key: UrlKey, captures: readonly Capture[], changes: number): void {
    if (changes === this.#changes && !isLongKey(key)) this.#captures.keep(key, captures);
  }

  /** A change was made, or may have been. */
  changed({ putCaptures = [], removeCaptures = [] }: ChangedCaptures): void {
    this.#changes++;
    if (this.#captures.size === 0) return;
    for (const { urlKey } of putCaptures) this.#captures.forget(urlKey);
    for (const { urlKey } of removeCaptures) this.#captures.forget(urlKey);
  }

  clear(): void {
    this.#changes++;
    this.#captures.clear();
  }
}

function addWeight(weight: number, { url }: Capture): number {
  return weight + Math.ceil(url.length / URL_LENGTH);
}
