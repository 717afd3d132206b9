/**
 * The captures of URL keys that were asked for lately, so that asking again costs no look-up: the database answers on
 * another thread, and waiting for that costs replay and index look-ups more than all their other work.
 *
 * What is held is always what the catalog holds: a change forgets its keys when it is made, and an answer that was
 * under way meanwhile is not kept, because it may tell of the time before.
 */
import { LruCache } from '../../base/index.ts';
import type { UrlKey } from '../../url/index.ts';
import type { Capture, CatalogBatch } from '../catalog.ts';
import { isLongKey } from '../key-order.ts';

/**
 * So many captures are held, and keys without any count as one; about 20 MB. Long URLs count as several captures, and
 * long keys are not held.
 */
const CAPTURES_MAX = 32 * 1024;
const URL_LENGTH = 512;

export class RecentKeys {
  readonly #captures: LruCache<UrlKey, readonly Capture[]>;
  #changes = 0;

  constructor(capturesMax = CAPTURES_MAX) {
    this.#captures = new LruCache(capturesMax, (captures) => Math.max(1, captures.reduce(addWeight, 0)));
  }

  /** Changes so far; told by `keep` from before its captures were asked for. */
  get changes(): number {
    return this.#changes;
  }

  get(key: UrlKey): readonly Capture[] | undefined {
    return this.#captures.get(key);
  }

  /** Keeps what was found out since so many changes, unless there were more meanwhile. */
  keep(key: UrlKey, captures: readonly Capture[], changes: number): void {
    if (changes === this.#changes && !isLongKey(key)) this.#captures.keep(key, captures);
  }

  /** A batch was applied, or perhaps was. */
  changed({ putCaptures = [], removeCaptures = [] }: CatalogBatch): void {
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
