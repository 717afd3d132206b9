/**
 * How far an object that is being written can be trusted.
 *
 * Two failures leave an object in a state that a later success must not hide:
 * - An append failed half way and could not be undone: the bytes after the old end may be anything.
 * - A sync failed. The operating system may have marked the unwritten pages clean, so that the next sync would succeed
 *   without writing them. Everything appended since the last good sync is lost until it is written again.
 *
 * Either way the object is doubted from some length on. It takes no append and no sync until it is cut to a length that
 * is not in doubt.
 */

export class ObjectTrust {
  /** Everything before this length is known to be durable. */
  durableBytes: number;
  #trustedBytes = Number.POSITIVE_INFINITY;

  constructor(durableBytes: number) {
    this.durableBytes = durableBytes;
  }

  get doubted(): boolean {
    return this.#trustedBytes !== Number.POSITIVE_INFINITY;
  }

  /** The longest length to which a doubted object can be cut. */
  get trustedBytes(): number {
    return this.#trustedBytes;
  }

  appendFailedAt(length: number): void {
    this.#trustedBytes = Math.min(this.#trustedBytes, length);
  }

  syncFailed(): void {
    this.#trustedBytes = Math.min(this.#trustedBytes, this.durableBytes);
  }

  synced(length: number): void {
    this.durableBytes = length;
  }

  /** The object was cut to this length, durably. */
  cut(length: number): void {
    this.durableBytes = length;
    if (length <= this.#trustedBytes) this.#trustedBytes = Number.POSITIVE_INFINITY;
  }
}
