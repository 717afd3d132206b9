/**
 * A read-only volume of files that stay where they are (`add --in-place`). The manifest is the only file that belongs
 * to the volume itself.
 *
 * - All objects are sealed. `list` and `stat` answer from the manifest, without looking at the files. Reading a file
 *   checks whether it is still there and unchanged.
 * - When a file is opened, its length and a fingerprint of its beginning and end are compared with the manifest. A
 *   different file fails with OBJECT_CHANGED, a missing file with FILE_MISSING. Both errors name the file, and other
 *   files are not affected.
 * - When some sectors of the beginning and end cannot be read, the sectors that could be read both for the manifest and
 *   now are compared. If there are none, an unchanged modification time is accepted as proof. A changed modification
 *   time alone never fails a file, because restoring from a backup changes it.
 *
 * A file on another server is read by ranges (remote/remote-files.ts), and compared in the same way.
 *
 * The fingerprint detects a file that was replaced, cut, or appended to. It does not detect a change in the middle that
 * keeps the length; the digests of records detect it.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { assert, type Clock, fileError, mapLimited, PinakesError } from '../../base/index.ts';
import type { DirectoryVolumeOptions } from '../directory/directory-volume.ts';
import { type CachedHandle, HandleCache } from '../directory/handle-cache.ts';
import { SyncReadGate } from '../directory/sync-read-gate.ts';
import { readRange, streamRange } from '../file-range.ts';
import { assertObjectName, assertOffset, assertPrefix, compareNames } from '../object-name.ts';
import { OperationCount, OperationQueue } from '../operation-queue.ts';
import { type InspectedFile, type RemoteFile, RemoteFiles } from '../remote/remote-files.ts';
import type { ObjectInfo, ReadRange, Volume, VolumeSpace } from '../volume.ts';
import { closedError, whereIn } from '../volume-error.ts';
import { areSameEnds, readEnds } from './file-ends.ts';
import { createManifest, type LinkedFile, LinkedManifest, type LocalFile } from './linked-manifest.ts';

const HANDLES_MAX = 64;
const READS_AT_ONCE = 16;

/** The facts that show whether a file was touched since it was last checked. */
type Checked = { readonly dev: bigint; readonly ino: bigint; readonly size: bigint; readonly ctimeNs: bigint };

/** Creates the manifest of a volume without files; leaves an existing manifest as it is. */
export async function createLinkedVolume(name: string, manifestPath: string): Promise<void> {
  await createManifest(name, resolve(manifestPath));
}

export async function openLinkedVolume(
  name: string,
  manifestPath: string,
  options: LinkedVolumeOptions = {},
): Promise<LinkedVolume> {
  return new LinkedVolume(name, await LinkedManifest.open(name, resolve(manifestPath)), options);
}

export type LinkedVolumeOptions = Pick<DirectoryVolumeOptions, 'stopwatch'> & {
  /** Needed for files in buckets. */
  readonly clock?: Clock | undefined;
};

export class LinkedVolume implements Volume {
  readonly name: string;
  readonly writable = false;
  /** Finds and reads files on other servers, linked or not. */
  readonly remote: RemoteFiles;
  readonly #manifest: LinkedManifest;
  readonly #handles = new HandleCache(HANDLES_MAX, () => undefined);
  readonly #syncReads: SyncReadGate;
  readonly #checked = new Map<string, Checked>();
  readonly #queue = new OperationQueue();
  readonly #underWay = new OperationCount();
  #closing: Promise<void> | undefined;

  constructor(name: string, manifest: LinkedManifest, options: LinkedVolumeOptions) {
    this.name = name;
    this.#manifest = manifest;
    this.remote = new RemoteFiles(name, options.clock);
    this.#syncReads = new SyncReadGate(options.stopwatch);
  }

  /**
   * Numbers, from 1, of the manifest's unreadable lines. Their files are not objects until they are linked again.
   */
  get damagedLines(): readonly number[] {
    return this.#manifest.damagedLines;
  }

  /** The path or the address of an object's file. */
  pathOf(name: string): string | undefined {
    const file = this.#manifest.files.get(name);
    return file && ('url' in file ? file.url : file.path);
  }

  /** Makes a file an object, durably. The file is only read. */
  link(path: string, name: string): Promise<void> {
    return this.#do(() =>
      this.#queue.run([name], async () => {
        assertObjectName(name);
        this.#assertNew(name);
        await this.#manifest.add([await describe(resolve(path), name)]);
      }),
    );
  }

  /** Makes a file on another server an object, durably. `copy`: a file on this machine with the same bytes. */
  linkRemote(file: InspectedFile, copy: string, name: string): Promise<void> {
    return this.#do(() =>
      this.#queue.run([name], async () => {
        assertObjectName(name);
        this.#assertNew(name);
        const { bytes, sha256 } = await describe(resolve(copy), name);
        assert(bytes === file.bytes && sha256 !== undefined, 'a copy has all bytes of its file');
        await this.#manifest.add([{ ...file, name, sha256 }]);
      }),
    );
  }

  /**
   * Removes objects from the manifest, durably. Their files stay as they are. Names that are not linked are ignored.
   */
  unlink(names: readonly string[]): Promise<void> {
    const distinct = [...new Set(names)];
    return this.#do(() =>
      this.#queue.run(distinct, async () => {
        distinct.forEach(assertObjectName);
        const linked = distinct.filter((name) => this.#manifest.files.has(name));
        await this.#manifest.add(linked.map((name) => ({ unlinked: name })));
        for (const name of linked) {
          this.#checked.delete(name);
          await this.#handles.drop(name);
        }
      }),
    );
  }

  list(prefix = ''): Promise<ObjectInfo[]> {
    return this.#do(async () => {
      assertPrefix(prefix);
      const names = [...this.#manifest.files.keys()].filter((name) => name.startsWith(prefix));
      return names.sort(compareNames).map((name) => this.#info(name)!);
    });
  }

  stat(names: readonly string[]): Promise<(ObjectInfo | undefined)[]> {
    return this.#do(async () => {
      names.forEach(assertObjectName);
      return names.map((name) => this.#info(name));
    });
  }

  read(ranges: readonly ReadRange[]): Promise<Uint8Array[]> {
    const [only] = ranges;
    const prompt = only && ranges.length === 1 && this.#readSync(only);
    if (prompt) return Promise.resolve([prompt]);
    return this.#do(async () => {
      for (const { offset, length } of ranges) {
        assertOffset(offset, 'the offset');
        assertOffset(length, 'the length');
      }
      const isRemote = ranges.map(({ name }) => 'url' in this.#file(name));
      const far = this.remote.read(
        ranges.filter((_, index) => isRemote[index]),
        (name) => this.#file(name) as RemoteFile,
      );
      const near = this.#readLocal(ranges.filter((_, index) => !isRemote[index]));
      const [fromFar, fromNear] = await allEnded(far, near);
      return isRemote.map((isFar) => (isFar ? fromFar : fromNear).shift()!);
    });
  }

  #readLocal(ranges: readonly ReadRange[]): Promise<Uint8Array[]> {
    return mapLimited(ranges, READS_AT_ONCE, async ({ name, offset, length }) => {
      const handle = await this.#take(name);
      try {
        return await this.#naming(name, () => readRange(handle.file, offset, length));
      } finally {
        this.#handles.give(handle);
      }
    });
  }

  /**
   * The bytes of a range, if its file is open and the disk is fast; undefined in all other cases, errors included.
   */
  #readSync({ name, offset, length }: ReadRange): Uint8Array | undefined {
    const handle = this.#closing ? undefined : this.#handles.peek(name);
    return handle && this.#syncReads.read(handle.file.fd, offset, length);
  }

  async *stream(name: string, from = 0, to = Number.MAX_SAFE_INTEGER): AsyncGenerator<Uint8Array, void, void> {
    assertOffset(from, 'the offset');
    assertOffset(to, 'the end');
    const file = await this.#do(async () => this.#file(name));
    if ('url' in file) {
      yield* this.#streamRemote(file, from, to);
      return;
    }
    const handle = await this.#do(() => this.#take(name));
    try {
      yield* streamRange(handle.file, from, to, (action) => this.#do(() => this.#naming(name, action)));
    } finally {
      this.#handles.give(handle);
    }
  }

  /** Each piece is an operation, so that a reader that pauses does not delay the closing of the volume. */
  async *#streamRemote(file: RemoteFile, from: number, to: number): AsyncGenerator<Uint8Array, void, void> {
    const pieces = this.remote.stream(file, from, to);
    try {
      for (;;) {
        const { done, value } = await this.#do(() => pieces.next());
        if (done) return;
        yield value;
      }
    } finally {
      await pieces.return(undefined);
    }
  }

  space(): Promise<VolumeSpace> {
    return this.#do(async () => {
      let totalBytes = 0;
      for (const { bytes } of this.#manifest.files.values()) totalBytes += bytes;
      return { freeBytes: 0, totalBytes };
    });
  }

  close(): Promise<void> {
    this.#closing ??= this.#underWay.idle().then(async () => {
      await this.#manifest.idle();
      await this.#handles.close();
      await this.remote.close();
    });
    return this.#closing;
  }

  create(name: string): Promise<void> {
    return this.#refuse(name);
  }

  append(name: string): Promise<void> {
    return this.#refuse(name);
  }

  sync(names: readonly string[]): Promise<void> {
    return this.#refuse(names[0]);
  }

  truncate(name: string): Promise<void> {
    return this.#refuse(name);
  }

  seal(name: string): Promise<void> {
    return this.#refuse(name);
  }

  rename(from: string): Promise<void> {
    return this.#refuse(from);
  }

  remove(names: readonly string[]): Promise<void> {
    return this.#refuse(names[0]);
  }

  async #refuse(name: string | undefined): Promise<never> {
    const detail = 'its files are only linked; unlink them instead';
    throw new PinakesError('VOLUME_READ_ONLY', { where: whereIn(this.name, name), detail });
  }

  #do<T>(action: () => Promise<T>): Promise<T> {
    return this.#underWay.during(async () => {
      if (this.#closing) throw closedError(this.name);
      return action();
    });
  }

  async #naming<T>(name: string, action: () => Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (cause) {
      throw fileError(cause, this.pathOf(name) ?? name);
    }
  }

  #info(name: string): ObjectInfo | undefined {
    const file = this.#manifest.files.get(name);
    return file && { name, bytes: file.bytes, sealed: true };
  }

  #assertNew(name: string): void {
    if (this.#manifest.files.has(name)) throw new PinakesError('OBJECT_EXISTS', { where: whereIn(this.name, name) });
  }

  #file(name: string): LinkedFile {
    assertObjectName(name);
    const file = this.#manifest.files.get(name);
    if (!file) throw new PinakesError('OBJECT_MISSING', { where: whereIn(this.name, name) });
    return file;
  }

  async #take(name: string): Promise<CachedHandle> {
    const linked = this.#file(name);
    assert(!('url' in linked), 'a file on another server has no handle');
    return this.#handles.take(name, () => this.#naming(name, () => this.#open(linked)));
  }

  async #open(linked: LocalFile): Promise<FileHandle> {
    const file = await open(linked.path);
    try {
      const { dev, ino, size, ctimeNs } = await file.stat({ bigint: true });
      const checked = this.#checked.get(linked.name);
      const untouched =
        checked?.dev === dev && checked.ino === ino && checked.size === size && checked.ctimeNs === ctimeNs;
      if (!untouched) {
        if (Number(size) !== linked.bytes) throw changed(linked, `it is ${size} bytes long, not ${linked.bytes}`);
        await assertSame(file, linked);
        this.#checked.set(linked.name, { dev, ino, size, ctimeNs });
      }
      return file;
    } catch (cause) {
      await file.close();
      throw cause;
    }
  }
}

async function describe(path: string, name: string): Promise<LocalFile> {
  try {
    await using file = await open(path);
    const before = await file.stat();
    if (before.isDirectory()) throw new PinakesError('FILE_IS_DIRECTORY', { where: path });
    const { failure: _, ...ends } = await readEnds(file, before.size);
    const linked = { name, path, bytes: before.size, mtimeMs: before.mtimeMs, ...ends };
    const after = await file.stat();
    if (after.size !== before.size || after.mtimeMs !== before.mtimeMs) {
      throw changed(linked, 'something writes to it');
    }
    return linked;
  } catch (cause) {
    throw fileError(cause, path);
  }
}

async function assertSame(file: FileHandle, linked: LocalFile): Promise<void> {
  const { failure, ...ends } = await readEnds(file, linked.bytes);
  const isSame = areSameEnds(linked, ends);
  if (isSame === false) throw changed(linked, 'its beginning or its end has other bytes');
  // If nothing can be compared, only an unchanged modification time shows that the file is the same.
  if (isSame || (await file.stat()).mtimeMs === linked.mtimeMs) return;
  throw (
    failure ??
    changed(linked, 'its modification time has changed, and no part of it that could be compared is readable')
  );
}

function changed({ name, path }: LocalFile, detail: string): PinakesError {
  return new PinakesError('OBJECT_CHANGED', { where: path, detail: `linked as ${name}; ${detail}` });
}

/** Both results, once both have ended: nothing runs after the caller has an error. */
async function allEnded<A, B>(one: Promise<A>, other: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([one, other]);
  return [await one, await other];
}
