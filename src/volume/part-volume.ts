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
 * - Joining fails with OBJECT_MOVED when an object ends before a range of it does.
 * - Names, ranges and failures are those of `Volume`. An aborted call fails with the reason of its signal; like a call
 *   that failed, it may have been carried out.
 */
import type { ObjectInfo, ReadRange, Volume } from './volume.ts';

export type VolumeCall = { readonly signal?: AbortSignal | undefined };

export interface PartVolume {
  readonly name: string;
  readonly writable: boolean;

  /** Every object whose name begins with the prefix, in order of name, in pages. All objects are sealed. */
  list(prefix?: string, call?: VolumeCall): AsyncIterable<ObjectInfo[]>;
  stat(names: readonly string[], call?: VolumeCall): Promise<(ObjectInfo | undefined)[]>;
  put(name: string, bytes: readonly Uint8Array[], call?: VolumeCall): Promise<void>;
  /** Puts an object whose bytes are those of the ranges of other objects, in order. */
  join(name: string, ranges: readonly ReadRange[], call?: VolumeCall): Promise<void>;
  remove(names: readonly string[], call?: VolumeCall): Promise<void>;
  /** The bytes of each range, in order; shorter where the object ends. */
  read(ranges: readonly ReadRange[], call?: VolumeCall): Promise<Uint8Array[]>;
  stream(name: string, from?: number, to?: number, call?: VolumeCall): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

/** The bytes of a small object, and a tag that another version of it does not have. */
export type TaggedObject = { readonly bytes: Uint8Array; readonly tag: string };

/** A volume on which small objects are created and replaced under a condition. */
export interface ConditionalVolume extends PartVolume {
  /** Undefined when the object is missing. */
  readTagged(name: string): Promise<TaggedObject | undefined>;
  /** Creates an object. Returns its tag; undefined when an object with other bytes exists. */
  putIfAbsent(name: string, bytes: Uint8Array): Promise<string | undefined>;
  /** Replaces the version of an object that has this tag. Returns the new tag; undefined at another tag. */
  putIfTag(name: string, tag: string, bytes: Uint8Array): Promise<string | undefined>;
}

export function isConditional(volume: PartVolume): volume is ConditionalVolume {
  return 'putIfTag' in volume;
}

/** A volume of either kind. */
export type AnyVolume = Volume | PartVolume;

export function isPartVolume(volume: AnyVolume): volume is PartVolume {
  return 'put' in volume;
}
