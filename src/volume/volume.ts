/**
 * A volume: a place where segments rest. A directory here; an S3 bucket or a volume server elsewhere, behind the same
 * interface.
 *
 * A volume knows nothing of records, captures or catalogs: it keeps named sequences of bytes. Names are made by the
 * caller, are unique in the archive, and consist of one or more parts of `[A-Za-z0-9._-]` joined by `/`; they are never
 * paths of the file system to the caller. A part does not begin with a full stop nor end in `.open`, and no object's
 * name is the folder of another's.
 *
 * Rules every implementation keeps (the contract suite tests them):
 * - An append goes to the end the caller expects, or fails without having written: two writers can never interleave.
 * - `sync` returns only when everything appended before it was called, the object's existence and its name included,
 *   survives power loss (I2).
 * - After a crash an object holds every synced byte, followed by any prefix, possibly none, of what was appended and
 *   not synced (I3).
 * - After a failed sync, or a failed append that could not be taken back, an object is doubted: append fails with
 *   OBJECT_MOVED and sync with VOLUME_IO, until it is cut to a length at which everything was durable, or the volume is
 *   opened anew.
 * - A sealed object never changes again: append and truncate fail with OBJECT_MOVED. `truncate`, `seal`, `rename` and
 *   `remove` are durable when they return, and the first three make the contents durable with them. Renaming keeps the
 *   seal, or its absence.
 * - What is not there fails with OBJECT_MISSING, except in `stat` and `remove`. Changing a volume that is not writable
 *   fails with VOLUME_READ_ONLY.
 * - Operations on one object happen in the order they were asked for; those on different objects do not wait for each
 *   other.
 * - Failures are PinakesErrors that name the volume and the object and say whether trying again can help; a volume that
 *   is not there (unplugged, unmounted, unreachable) fails with VOLUME_MISSING on every call that has to reach it, and
 *   costs nobody else anything.
 */

export type ObjectInfo = { readonly name: string; readonly bytes: number; readonly sealed: boolean };

export type ReadRange = { readonly name: string; readonly offset: number; readonly length: number };

export type VolumeSpace = { readonly freeBytes: number; readonly totalBytes: number };

export interface Volume {
  readonly name: string;

  /** Whether objects can be made, appended to, renamed and removed here. */
  readonly writable: boolean;

  /** Every object, in order of name. Objects left half made by a crash are not among them. */
  list(prefix?: string): Promise<ObjectInfo[]>;

  /** Length and seal of each, in order; undefined for those that are not there. */
  stat(names: readonly string[]): Promise<(ObjectInfo | undefined)[]>;

  /** Makes an empty object; fails with OBJECT_EXISTS when there is one of this name. */
  create(name: string): Promise<void>;

  /**
   * Appends the parts, in order, to an object that is exactly `at` bytes long; fails with OBJECT_MOVED when it is not.
   */
  append(name: string, at: number, parts: readonly Uint8Array[]): Promise<void>;

  /** Makes what was appended to these objects durable, in one go. */
  sync(names: readonly string[]): Promise<void>;

  /** Cuts an object that is not sealed to this length, durably. */
  truncate(name: string, length: number): Promise<void>;

  /** Declares an object finished, durably, after a sync of its own. Sealing what is sealed is no failure. */
  seal(name: string): Promise<void>;

  /** Gives an object another name, replacing one of that name, atomically and durably. */
  rename(from: string, to: string): Promise<void>;

  /** Removes objects, durably; those that are not there are no failure. */
  remove(names: readonly string[]): Promise<void>;

  /** The bytes of each range, in order; shorter where the object ends. Each result belongs to the caller. */
  read(ranges: readonly ReadRange[]): Promise<Uint8Array[]>;

  /** Bytes of an object in pieces, from `from` up to `to` or its end. A piece is good until the next is asked for. */
  stream(name: string, from?: number, to?: number): AsyncIterable<Uint8Array>;

  space(): Promise<VolumeSpace>;

  /** Waits for what is under way, and lets go of all handles. Whatever is asked for later fails with ARCHIVE_CLOSED. */
  close(): Promise<void>;
}
