/**
 * A volume of immutable objects, such as a bucket. A segment that grows there is a list of parts; sealing makes one
 * object of them (P1, H1).
 *
 * Rules that every implementation keeps:
 * - An object has all of its bytes or does not exist. A put object is durable when the call returns.
 * - A call that fails with a retryable error may have been carried out, or may be carried out at any later time. So the
 *   bytes of a name never change: a caller that puts a name again puts the same bytes (P2).
 * - Putting an object that exists succeeds and changes nothing, or replaces it with the same bytes.
 * - Removing a missing object does nothing.
 * - Names, ranges and failures are those of `Volume`.
 */
import type { ObjectInfo, ReadRange, Volume } from './volume.ts';

export interface PartVolume {
  readonly name: string;
  readonly writable: boolean;

  /** Every object whose name begins with the prefix, in order of name, in pages. All objects are sealed. */
  list(prefix?: string): AsyncIterable<ObjectInfo[]>;
  stat(names: readonly string[]): Promise<(ObjectInfo | undefined)[]>;
  put(name: string, bytes: readonly Uint8Array[]): Promise<void>;
  /** Puts an object whose bytes are those of the ranges of other objects, in order. */
  join(name: string, ranges: readonly ReadRange[]): Promise<void>;
  remove(names: readonly string[]): Promise<void>;
  /** The bytes of each range, in order; shorter where the object ends. */
  read(ranges: readonly ReadRange[]): Promise<Uint8Array[]>;
  stream(name: string, from?: number, to?: number): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

/** A volume of either kind. */
export type AnyVolume = Volume | PartVolume;

export function isPartVolume(volume: AnyVolume): volume is PartVolume {
  return 'put' in volume;
}
