/**
 * A volume in a directory: every object is a plain file that any tool can read. `directory-layout.ts` describes the
 * files.
 *
 * - One process at a time opens it for writing: that process holds the lock of the archive's catalog. As a guard
 *   against other writers, every append first compares the length of the file, so a second writer gets OBJECT_MOVED.
 * - An append is written at a given offset, not "to the end". A failed append is undone before the failure is thrown.
 *   When undoing fails too, or a sync fails, the object is doubted (see `object-trust.ts`): it takes no append and no
 *   sync until it is cut to a length that is known to be good.
 * - An object that existed at the opening is synced at its first write: the process that wrote it may have been killed
 *   before its sync.
 * - Files stay open between calls, at most `handlesMax` of them. So bytes of a volume that was unplugged may still be
 *   readable. Every call that needs the directory then fails with VOLUME_MISSING, until the same directory is back.
 *
 * Some file systems write a file's new length before its new bytes. After power loss, bytes that were never synced may
 * then read as zeros instead of being absent. Code that reads an unsynced tail must check it.
 */
import { type FileHandle, open, stat, statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { makeDirectories, mapLimited, PinakesError, syncDirectory } from '../../base/index.ts';
import { readRange, streamRange, writeParts } from '../file-range.ts';
import { assertObjectName, assertOffset, assertPrefix } from '../object-name.ts';
import { ObjectTrust } from '../object-trust.ts';
import { OperationCount, OperationQueue } from '../operation-queue.ts';
import type { ObjectInfo, ReadRange, Volume, VolumeSpace } from '../volume.ts';
import { closedError, type Doing, systemCode, volumeError, whereIn } from '../volume-error.ts';
import { isGone } from './directory-layout.ts';
import { DirectoryNames } from './directory-names.ts';
import { isEmptyDirectory, readSentinel, removeSentinel, writeSentinel } from './directory-sentinel.ts';
import { type CachedHandle, HandleCache } from './handle-cache.ts';
import { SyncReadGate } from './sync-read-gate.ts';

const HANDLES_MAX = 64;
const READS_AT_ONCE = 16;
const SYNCS_AT_ONCE = 16;

export type DirectoryVolumeOptions = {
  readonly writable: boolean;
  /** How many files stay open between calls. */
  readonly handlesMax?: number;
  /** A monotonic clock in milliseconds. With it, small ranges of a fast disk are read on the calling thread. */
  readonly stopwatch?: (() => number) | undefined;
};

/** Creates the directory, if it is missing, and marks it as a volume. Files in it become objects of the volume. */
export async function createDirectoryVolume(name: string, directory: string): Promise<void> {
  directory = resolve(directory);
  try {
    const first = await makeDirectories(directory);
    await writeSentinel(directory, name);
    await syncDirectory(directory);
    for (let made = directory; first && made.length >= first.length; made = dirname(made)) {
      await syncDirectory(dirname(made));
    }
  } catch (cause) {
    throw volumeError(cause, whereIn(name), 'writing');
  }
}

/** Turns a volume back into a plain directory. Everything but the sentinel stays. */
export async function removeDirectorySentinel(directory: string): Promise<void> {
  await removeSentinel(directory);
  await syncDirectory(directory);
}

/**
 * Opens a directory as a volume. Fails with VOLUME_MISSING when the directory is missing, or is empty and has no
 * sentinel.
 */
export async function openDirectoryVolume(
  name: string,
  directory: string,
  options: DirectoryVolumeOptions,
): Promise<DirectoryVolume> {
  directory = resolve(directory);
  const found = await stat(directory, { bigint: true }).catch((cause: unknown) => {
    throw missing(name, directory, undefined, cause);
  });
  if (!found.isDirectory()) throw missing(name, directory, 'this is not a directory');
  try {
    const sentinel = await readSentinel(directory);
    if (!sentinel && (await isEmptyDirectory(directory))) {
      throw missing(name, directory, 'it is empty and is not marked as a volume; is the disk mounted?');
    }
    if (options.writable && sentinel?.name !== undefined && sentinel.name !== name) {
      throw missing(name, directory, `this is the volume ${sentinel.name}`);
    }
    if (options.writable && !sentinel) await writeSentinel(directory, name);
    const names = new DirectoryNames(name, directory);
    const setAside = await names.open(options.writable);
    return new DirectoryVolume(name, directory, found, names, setAside, options);
  } catch (cause) {
    throw volumeError(cause, whereIn(name), options.writable ? 'writing' : 'reading');
  }
}

function missing(name: string, directory: string, detail?: string, cause?: unknown): PinakesError {
  return new PinakesError('VOLUME_MISSING', {
    where: `${whereIn(name)} at ${directory}`,
    ...(detail && { detail }),
    cause,
  });
}

export class DirectoryVolume implements Volume {
  readonly name: string;
  readonly writable: boolean;
  readonly directory: string;
  /**
   * Unsealed files found at opening beside a sealed object of the same name and with other bytes. They were renamed to
   * hidden names.
   */
  readonly setAside: readonly string[];
  readonly #identity: { readonly dev: bigint; readonly ino: bigint };
  readonly #names: DirectoryNames;
  readonly #handles: HandleCache;
  readonly #syncReads: SyncReadGate;
  readonly #queue = new OperationQueue();
  readonly #underWay = new OperationCount();
  /** The trust of every unsealed object that was written to. */
  readonly #trust = new Map<string, ObjectTrust>();
  #closing: Promise<void> | undefined;

  constructor(
    name: string,
    directory: string,
    identity: { readonly dev: bigint; readonly ino: bigint },
    names: DirectoryNames,
    setAside: readonly string[],
    options: DirectoryVolumeOptions,
  ) {
    this.name = name;
    this.directory = directory;
    this.writable = options.writable;
    this.setAside = setAside;
    this.#identity = { dev: identity.dev, ino: identity.ino };
    this.#names = names;
    this.#syncReads = new SyncReadGate(options.stopwatch);
    this.#handles = new HandleCache(options.handlesMax ?? HANDLES_MAX, (key) => {
      this.#trust.get(objectOf(key))?.syncFailed();
    });
  }

  list(prefix = ''): Promise<ObjectInfo[]> {
    return this.#do('reading', undefined, async () => {
      assertPrefix(prefix);
      await this.#assertThere();
      return this.#names.list(prefix);
    });
  }

  stat(names: readonly string[]): Promise<(ObjectInfo | undefined)[]> {
    return this.#do('reading', undefined, async () => {
      names.forEach(assertObjectName);
      const infos = await mapLimited(names, READS_AT_ONCE, (name) => this.#names.info(name));
      if (infos.includes(undefined)) await this.#assertThere();
      return infos;
    });
  }

  create(name: string): Promise<void> {
    return this.#change([name], async () => {
      const file = await this.#names.create(name);
      await this.#dropHandles([name]);
      this.#trust.set(name, new ObjectTrust(0));
      this.#handles.give(await this.#handles.take(writing(name), async () => file));
    });
  }

  append(name: string, at: number, parts: readonly Uint8Array[]): Promise<void> {
    return this.#change([name], () =>
      this.#write(name, async (handle, trust) => {
        assertOffset(at, 'the end');
        if (trust.doubted) throw this.#doubted('OBJECT_MOVED', name, trust);
        const { size } = await handle.file.stat();
        if (size !== at) throw this.#moved(name, `it is ${size} bytes long, not ${at}`);
        handle.dirty = true;
        try {
          await writeParts(handle.file, at, parts);
        } catch (cause) {
          await handle.file.truncate(at).catch(() => trust.appendFailedAt(at));
          throw cause;
        }
      }),
    );
  }

  sync(names: readonly string[]): Promise<void> {
    return this.#do('writing', undefined, async () => {
      const distinct = [...new Set(names)];
      distinct.forEach(assertObjectName);
      this.#assertWritable();
      await this.#assertThere();
      await mapLimited(distinct, SYNCS_AT_ONCE, (name) =>
        this.#queue.run([name], () => this.#naming('writing', name, () => this.#syncObject(name))),
      );
      await this.#names.sync(distinct);
    });
  }

  truncate(name: string, length: number): Promise<void> {
    return this.#change([name], () =>
      this.#write(name, async (handle, trust) => {
        assertOffset(length, 'the length');
        const { size } = await handle.file.stat();
        if (size < length) throw this.#moved(name, `it is ${size} bytes long and cannot be cut to ${length}`);
        if (length > trust.trustedBytes) throw this.#doubted('OBJECT_MOVED', name, trust);
        handle.dirty = true;
        await handle.file.truncate(length);
        await this.#datasync(handle, trust);
        await this.#names.sync([name]);
        trust.cut(length);
      }),
    );
  }

  seal(name: string): Promise<void> {
    return this.#change([name], async () => {
      await this.#syncObject(name);
      try {
        await this.#names.seal(name);
      } finally {
        // Needed after a failure too: the file may be sealed nevertheless, so the next write must look again.
        this.#trust.delete(name);
        await this.#handles.drop(writing(name));
      }
    });
  }

  rename(from: string, to: string): Promise<void> {
    return this.#change([from, to], async () => {
      await this.#syncObject(from);
      if (from === to) return this.#names.sync([from]);
      try {
        await this.#dropHandles([from, to]);
        await this.#names.rename(from, to);
        this.#trust.delete(to);
      } finally {
        // Needed after a failure too: the files may have their new names nevertheless, and readers may have opened the
        // old files during the rename.
        await this.#dropHandles([from, to]);
        this.#trust.delete(from);
        if (!this.#trust.get(to)?.doubted) this.#trust.delete(to);
      }
    });
  }

  remove(names: readonly string[]): Promise<void> {
    const distinct = [...new Set(names)];
    return this.#change(distinct, async () => {
      try {
        await this.#dropHandles(distinct);
        await this.#names.remove(distinct);
      } finally {
        await this.#dropHandles(distinct);
      }
      for (const name of distinct) this.#trust.delete(name);
      // A file that was not found may be on a disk that was unplugged.
      await this.#assertThere();
    });
  }

  read(ranges: readonly ReadRange[]): Promise<Uint8Array[]> {
    const [only] = ranges;
    // Retrieval reads one range at a time. The code for many ranges would cost as much as the read itself.
    if (only && ranges.length === 1) {
      const bytes = this.#readSync(only);
      if (bytes) return Promise.resolve([bytes]);
      return this.#do('reading', only.name, async () => [await this.#readRange(only)]);
    }
    return this.#do('reading', undefined, () =>
      mapLimited(ranges, READS_AT_ONCE, (range) => this.#naming('reading', range.name, () => this.#readRange(range))),
    );
  }

  /**
   * The bytes of a range, if its file is open and the disk is fast; undefined in all other cases, errors included.
   */
  #readSync({ name, offset, length }: ReadRange): Uint8Array | undefined {
    const handle = this.#closing ? undefined : this.#handles.peek(reading(name));
    return handle && this.#syncReads.read(handle.file.fd, offset, length);
  }

  async #readRange({ name, offset, length }: ReadRange): Promise<Uint8Array> {
    assertObjectName(name);
    assertOffset(offset, 'the offset');
    assertOffset(length, 'the length');
    const handle = await this.#take(name);
    try {
      return await readRange(handle.file, offset, length);
    } finally {
      this.#handles.give(handle);
    }
  }

  async *stream(name: string, from = 0, to = Number.MAX_SAFE_INTEGER): AsyncGenerator<Uint8Array, void, void> {
    assertObjectName(name);
    assertOffset(from, 'the offset');
    assertOffset(to, 'the end');
    const handle = await this.#do('reading', name, () => this.#take(name));
    try {
      yield* streamRange(handle.file, from, to, (action) => this.#do('reading', name, action));
    } finally {
      this.#handles.give(handle);
    }
  }

  space(): Promise<VolumeSpace> {
    return this.#do('reading', undefined, async () => {
      await this.#assertThere();
      const { bavail, blocks, bsize } = await statfs(this.directory);
      return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
    });
  }

  close(): Promise<void> {
    this.#closing ??= this.#underWay.idle().then(() => this.#handles.close());
    return this.#closing;
  }

  /** Runs one operation of the volume: closing waits for it, and its failures become failures of the volume. */
  #do<T>(doing: Doing, object: string | undefined, action: () => Promise<T>): Promise<T> {
    return this.#underWay.during(async () => {
      if (this.#closing) throw closedError(this.name);
      return this.#naming(doing, object, action);
    });
  }

  /** Turns failures of the system into failures of the volume or of this object. */
  async #naming<T>(doing: Doing, object: string | undefined, action: () => Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (cause) {
      if (systemCode(cause) !== undefined) await this.#assertThere();
      throw volumeError(cause, whereIn(this.name, object), doing);
    }
  }

  #change(names: readonly string[], action: () => Promise<void>): Promise<void> {
    return this.#do('writing', names.length === 1 ? names[0] : undefined, async () => {
      names.forEach(assertObjectName);
      this.#assertWritable();
      await this.#queue.run(names, async () => {
        await this.#assertThere();
        await action();
      });
    });
  }

  /** Calls `action` with the handle and the trust of an unsealed object. */
  async #write(name: string, action: (handle: CachedHandle, trust: ObjectTrust) => Promise<void>): Promise<void> {
    if (!this.#trust.has(name) && (await this.#find(name)).sealed) throw this.#moved(name, 'it is sealed');
    const handle = await this.#handles.take(writing(name), () => this.#open(name, 'r+'));
    try {
      let trust = this.#trust.get(name);
      if (!trust) {
        trust = new ObjectTrust(0);
        this.#trust.set(name, trust);
        await this.#datasync(handle, trust);
      }
      await action(handle, trust);
    } finally {
      this.#handles.give(handle);
    }
  }

  /** Makes the contents of an object durable. A sealed object was synced before it was sealed. */
  async #syncObject(name: string): Promise<void> {
    if (!this.#trust.has(name) && (await this.#find(name)).sealed) return;
    await this.#write(name, async (handle, trust) => {
      if (trust.doubted) throw this.#doubted('VOLUME_IO', name, trust);
      await this.#datasync(handle, trust);
    });
  }

  async #datasync(handle: CachedHandle, trust: ObjectTrust): Promise<void> {
    const { size } = await handle.file.stat();
    try {
      await handle.file.datasync();
    } catch (cause) {
      trust.syncFailed();
      throw cause;
    } finally {
      handle.dirty = false;
    }
    trust.synced(size);
  }

  #take(name: string): Promise<CachedHandle> {
    return this.#handles.take(reading(name), () => this.#open(name, 'r'));
  }

  async #open(name: string, flags: 'r' | 'r+'): Promise<FileHandle> {
    for (let attempt = 1; ; attempt++) {
      const { path } = await this.#find(name);
      try {
        return await open(path, flags);
      } catch (cause) {
        // Sealing may have renamed the file between the two steps.
        if (!isGone(cause) || attempt > 1) throw cause;
      }
    }
  }

  async #find(name: string): Promise<{ readonly path: string; readonly sealed: boolean }> {
    const place = await this.#names.find(name);
    if (place) return place;
    await this.#assertThere();
    throw new PinakesError('OBJECT_MISSING', { where: whereIn(this.name, name) });
  }

  async #dropHandles(names: readonly string[]): Promise<void> {
    for (const name of names) await Promise.all([reading(name), writing(name)].map((key) => this.#handles.drop(key)));
  }

  /**
   * Fails unless the directory is still the directory that was opened. Its disk may be unplugged, which can leave an
   * empty mount point.
   */
  async #assertThere(): Promise<void> {
    let found: { readonly dev: bigint; readonly ino: bigint };
    try {
      found = await stat(this.directory, { bigint: true });
    } catch (cause) {
      throw missing(this.name, this.directory, undefined, cause);
    }
    if (found.dev !== this.#identity.dev || found.ino !== this.#identity.ino) {
      throw missing(this.name, this.directory, 'another directory is there now; open the archive again');
    }
  }

  #assertWritable(): void {
    if (!this.writable) throw new PinakesError('VOLUME_READ_ONLY', { where: whereIn(this.name) });
  }

  #moved(name: string, detail: string): PinakesError {
    return new PinakesError('OBJECT_MOVED', { where: whereIn(this.name, name), detail });
  }

  #doubted(code: 'OBJECT_MOVED' | 'VOLUME_IO', name: string, trust: ObjectTrust): PinakesError {
    const detail = `an earlier write or sync failed, and only the first ${trust.trustedBytes} bytes are known to be good`;
    return new PinakesError(code, { where: whereIn(this.name, name), detail });
  }
}

function reading(name: string): string {
  return `reading ${name}`;
}

function writing(name: string): string {
  return `writing ${name}`;
}

function objectOf(key: string): string {
  return key.slice(key.indexOf(' ') + 1);
}
