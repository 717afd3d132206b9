/**
 * The captures of URL keys that were asked for lately, so that asking again costs no look-up: the database answers on another thread, and waiting for
 * that costs replay and index look-ups more than all their other work.
 *
 * What is held is always what the catalog holds: a change forgets its keys when it is made, and an answer that was under way meanwhile is not kept, because
 * it may tell of the time before.
 */
import type { UrlKey } from '../url/index.ts';
import type { Capture, CatalogBatch } from './catalog.ts';

/** So many captures are held, and keys without any count as one; about 20 MB. */
const CAPTURES_MAX = 32 * 1024;

export class RecentKeys {
  readonly #capturesMax: number;
  /** In order of use, the least recent first. */
  readonly #captures = new Map<UrlKey, readonly Capture[]>();
  #size = 0;
  #changes = 0;

  constructor(capturesMax = CAPTURES_MAX) {
    this.#capturesMax = capturesMax;
  }

  /** Changes so far; told by `keep` from before its captures were asked for. */
  get changes(): number {
    return this.#changes;
  }

  get(key: UrlKey): readonly Capture[] | undefined {
    const captures = this.#captures.get(key);
    if (captures) {
      this.#captures.delete(key);
      this.#captures.set(key, captures);
    }
    return captures;
  }

  /** Keeps what was found out since so many changes, unless there were more meanwhile. */
  keep(key: UrlKey, captures: readonly Capture[], changes: number): void {
    if (changes !== this.#changes || this.#captures.has(key)) return;
    this.#captures.set(key, captures);
    this.#size += sizeOf(captures);
    for (const oldest of this.#captures.keys()) {
      if (this.#size <= this.#capturesMax) break;
      this.#forget(oldest);
    }
  }

  /** A batch was applied, or perhaps was. */
  changed({ putCaptures = [], removeCaptures = [] }: CatalogBatch): void {
    this.#changes++;
    if (this.#captures.size === 0) return;
    for (const { urlKey } of putCaptures) this.#forget(urlKey);
    for (const { urlKey } of removeCaptures) this.#forget(urlKey);
  }

  clear(): void {
    this.#changes++;
    this.#captures.clear();
    this.#size = 0;
  }

  #forget(key: UrlKey): void {
    const captures = this.#captures.get(key);
    if (!captures) return;
    this.#captures.delete(key);
    this.#size -= sizeOf(captures);
  }
}

function sizeOf(captures: readonly Capture[]): number {
  return Math.max(1, captures.length);
}
