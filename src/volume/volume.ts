/**
 * A volume: a place that holds segments. This interface has implementations in a directory, over linked files, and in
 * memory for tests.
 *
 * A volume knows nothing of records, captures or catalogs: it keeps objects, which are named sequences of bytes. The
 * caller makes the names. A name is unique in the archive and consists of one or more parts of `[A-Za-z0-9._-]` joined
 * by `/`. A part does not begin with a full stop nor end in `.open`, and no object's name is the folder of another
 * object. Callers never treat names as paths of a file system.
 *
 * Rules that every implementation keeps (the contract suite tests them):
 * - An append goes to the end that the caller expects, or fails without writing: two writers can never interleave.
 * - `sync` returns only when everything appended before the call, the object's existence and its name included,
 *   survives power loss (I2).
 * - After a crash an object holds every synced byte, followed by any prefix, possibly empty, of the bytes appended
 *   since the last sync (I3).
 * - After a failed sync, or a failed append that could not be undone, an object is doubted: append fails with
 *   OBJECT_MOVED and sync with VOLUME_IO, until the object is cut to a length at which everything was durable, or the
 *   volume is opened again.
 * - A sealed object never changes again: append and truncate fail with OBJECT_MOVED. `truncate`, `seal`, `rename` and
 *   `remove` are durable when they return, and the first three also make the contents durable. Renaming keeps the seal,
 *   or its absence.
 * - An operation on a missing object fails with OBJECT_MISSING, except `stat` and `remove`. A change of a volume that
 *   is not writable fails with VOLUME_READ_ONLY.
 * - Operations on one object happen in the order of the calls. Operations on different objects do not wait for each
 *   other.
 * - Failures are PinakesErrors that name the volume and the object and say whether a retry can help. A missing volume
 *   (unplugged, unmounted, unreachable) fails with VOLUME_MISSING on every call that has to reach it. Other volumes
 *   are not affected.
 */

export type ObjectInfo = { readonly name: string; readonly bytes: number; readonly sealed: boolean };

export type ReadRange = { readonly name: string; readonly offset: number; readonly length: number };

export type VolumeSpace = { readonly freeBytes: number; readonly totalBytes: number };

export interface Volume {
  readonly name: string;

  /** Whether objects can be created, appended to, renamed and removed in this volume. */
  readonly writable: boolean;

  /** Every object, in order of name, except objects that a crash left half made. */
  list(prefix?: string): Promise<ObjectInfo[]>;

  /** Length and seal of each object, in the order of `names`; undefined for a missing object. */
  stat(names: readonly string[]): Promise<(ObjectInfo | undefined)[]>;

  /** Creates an empty object; fails with OBJECT_EXISTS when the name is taken. */
  create(name: string): Promise<void>;

  /**
   * Appends the parts, in order, to an object that is exactly `at` bytes long; fails with OBJECT_MOVED when it has
   * another length.
   */
  append(name: string, at: number, parts: readonly Uint8Array[]): Promise<void>;

  /** Makes everything appended to these objects durable, all at once. */
  sync(names: readonly string[]): Promise<void>;

  /** Cuts an unsealed object to this length, durably. */
  truncate(name: string, length: number): Promise<void>;

  /** Syncs an object and then declares it finished, durably. Sealing a sealed object does nothing. */
  seal(name: string): Promise<void>;

  /** Renames an object atomically and durably, replacing any object of the new name. */
  rename(from: string, to: string): Promise<void>;

  /** Removes objects, durably. Missing objects are ignored. */
  remove(names: readonly string[]): Promise<void>;

  /** The bytes of each range, in order; shorter where the object ends. Each result belongs to the caller. */
  read(ranges: readonly ReadRange[]): Promise<Uint8Array[]>;

  /** Bytes of an object in pieces, from `from` up to `to` or its end. A piece is valid until the next is requested. */
  stream(name: string, from?: number, to?: number): AsyncIterable<Uint8Array>;

  space(): Promise<VolumeSpace>;

  /** Waits for running operations and closes all handles. Later calls fail with ARCHIVE_CLOSED. */
  close(): Promise<void>;
}
