/**
 * The objects of a volume server: plain files at `<directory>/<bucket>/<key>`.
 *
 * - An object has all of its bytes or does not exist. It is written as a draft, synced, and then gets its name.
 * - What a client is told is durable. Changes of one key run one after another, each until its syncs are done, and
 *   readers of the key wait for them: nobody learns of an object, or that it exists already, before it is durable.
 * - A draft stays until its object is durable. What a crash left half done is finished or removed at the next start.
 * - The bytes of an object never change; replacing it gives its name to another file.
 * - Symbolic links are not followed, and only ordinary files are objects.
 */
import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, link, lstat, open, readdir, rename, rmdir, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Clock, IdSource } from '../../base/index.ts';
import { Draft, draftOrigin, draftsFolder } from './draft.ts';
import { DurableFolders, isAbsent } from './durable-folders.ts';
import { FolderNames } from './folder-names.ts';
import { KeyQueue } from './key-queue.ts';
import { FactsFolder, type ObjectFacts } from './object-facts.ts';
import { bucketProblem, keyProblem, randomName } from './object-key.ts';
import { noSuchKey, S3Error } from './s3-error.ts';

export type ObjectName = { readonly bucket: string; readonly key: string };

/** An object as clients see it. */
export type ObjectInfo = ObjectFacts & { readonly bytes: number; readonly mtimeMs: number };

export type OpenObject = { readonly info: ObjectInfo; readonly handle: FileHandle };

/** Decides by the present object, or by none, whether a change may be made; throws when it may not. */
export type Condition = (present: ObjectInfo | undefined) => void;

export class ObjectStore {
  readonly root: string;
  readonly folders: DurableFolders;
  readonly names: FolderNames;
  readonly #facts: FactsFolder;
  readonly #clock: Clock;
  readonly #newId: IdSource;
  readonly #queue = new KeyQueue();
  /** Objects with a change whose sync failed: it shows, and may be lost. */
  readonly #doubtful = new Set<string>();

  constructor(root: string, clock: Clock, newId: IdSource) {
    this.root = root;
    this.#newId = newId;
    this.#clock = clock;
    this.names = new FolderNames(clock);
    this.folders = new DurableFolders(root, (folder, isThere) =>
      this.names.changed(dirname(folder), basename(folder), 'folder', isThere),
    );
    this.#facts = new FactsFolder(root, this.folders);
  }

  bucketFolder(bucket: string): string {
    return join(this.root, bucket);
  }

  hasBucket(bucket: string): Promise<boolean> {
    return this.folders.isFolder(this.bucketFolder(bucket));
  }

  async makeBucket(bucket: string): Promise<void> {
    await this.folders.make(this.bucketFolder(bucket));
    await this.folders.sync(this.bucketFolder(bucket));
  }

  async buckets(): Promise<{ bucket: string; birthtimeMs: number }[]> {
    const names = (await readdir(this.root)).filter((name) => bucketProblem(name) === undefined).sort();
    const found = await Promise.all(
      names.map(async (bucket) => ({ bucket, ...(await lstat(join(this.root, bucket))) })),
    );
    return found.filter(({ mode }) => (mode & constants.S_IFMT) === constants.S_IFDIR);
  }

  /** Removes a bucket that has no files. */
  async removeBucket(bucket: string): Promise<void> {
    await rmdir(this.bucketFolder(bucket)).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'ENOTEMPTY' && cause.code !== 'EEXIST') throw cause;
      throw new S3Error('BucketNotEmpty', 'The bucket still has objects, or other files.');
    });
    this.folders.forget(this.bucketFolder(bucket));
    await this.folders.syncAbsence(this.bucketFolder(bucket));
  }

  newDraft({ bucket, key }: ObjectName): Promise<Draft> {
    return Draft.create(this.root, bucket, key, randomName(this.#newId));
  }

  /** The object; undefined when there is none. Waits for a change that is under way. */
  async info(name: ObjectName): Promise<ObjectInfo | undefined> {
    await this.settled(name);
    const present = await this.#locate(name);
    const info = present && (await this.#infoOf(name, present));
    // A change that has begun meanwhile may already show, and is not durable yet.
    await this.settled(name);
    return info;
  }

  /** The object of a key that a list has found. */
  async listed(name: ObjectName): Promise<ObjectInfo | undefined> {
    await this.settled(name);
    const found = await lstat(this.#path(name), { bigint: true }).catch((cause: unknown): undefined => {
      if (!isAbsent(cause)) throw cause;
    });
    const info = found?.isFile() ? await this.#infoOf(name, found) : undefined;
    await this.settled(name);
    return info;
  }

  /** Settles when the change of this key that is under way is durable. */
  async settled(name: ObjectName): Promise<void> {
    await this.#queue.idle(idOf(name));
    if (this.#doubtful.has(idOf(name))) throw new Error(`the last change of ${idOf(name)} could not be synced`);
  }

  /** Opens the object for reading. It stays this version until the handle is closed. */
  async open(name: ObjectName): Promise<OpenObject> {
    await this.settled(name);
    const path = await this.#reachablePath(name);
    if (path === undefined) throw noSuchKey();
    const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
    const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((cause: NodeJS.ErrnoException) => {
      if (isAbsent(cause) || cause.code === 'ELOOP' || cause.code === 'ENXIO') throw noSuchKey();
      throw cause;
    });
    try {
      const found = await handle.stat({ bigint: true });
      if (!found.isFile()) throw noSuchKey();
      const info = await this.#infoOf(name, found);
      await this.settled(name);
      return { info, handle };
    } catch (cause) {
      await handle.close();
      throw cause;
    }
  }

  /** Makes the draft the object. Returns when this is durable. */
  async commit(
    name: ObjectName,
    draft: Draft,
    facts: Omit<ObjectFacts, 'key'>,
    condition: Condition,
  ): Promise<ObjectInfo> {
    const path = this.#path(name);
    return this.#queue.run(idOf(name), async () => {
      for (;;) {
        const present = await this.#locate(name);
        condition(present && (await this.#infoOf(name, present)));
        const time = Math.max(this.#clock(), present ? Math.floor(Number(present.mtimeMs)) + 1 : 0);
        await draft.handle.utimes(time / 1000, time / 1000);
        await draft.handle.sync();
        const version = await draft.handle.stat({ bigint: true });
        const whole = { ...facts, key: name.key };
        await this.#facts.write(name.bucket, version, whole);
        draft.isNamed = await this.#giveName(path, draft, present !== undefined);
        if (!draft.isNamed) {
          await this.#facts.remove(name.bucket, name.key, version);
          continue;
        }
        this.names.changed(dirname(path), basename(path), 'file', true);
        await this.#synced(name, () => this.folders.sync(dirname(path)));
        draft.isNamed = false;
        if (present) await this.#facts.remove(name.bucket, name.key, present);
        return { ...whole, ...sizeAndTime(version) };
      }
    });
  }

  /** Removes the object, if there is one. Returns when its absence is durable. */
  async remove(name: ObjectName, condition: Condition): Promise<void> {
    // A key that cannot be the name of a file has no object.
    if (keyProblem(name.key)) {
      condition(undefined);
      return;
    }
    const path = this.#path(name);
    await this.#queue.run(idOf(name), async () => {
      const present = await this.#locate(name);
      condition(present && (await this.#infoOf(name, present)));
      if (present) {
        await unlink(path).catch((cause: unknown) => {
          if (!isAbsent(cause)) throw cause;
        });
        this.names.changed(dirname(path), basename(path), 'file', false);
      }
      await this.#synced(name, () => this.folders.syncAbsence(path));
      if (!present) return;
      await this.#facts.remove(name.bucket, name.key, present);
      await this.folders.prune(dirname(path), this.bucketFolder(name.bucket));
    });
  }

  /** Finishes or removes what a crash left among the drafts. */
  async recover(): Promise<void> {
    const folder = draftsFolder(this.root);
    for (const file of await readdir(folder)) {
      const origin = draftOrigin(file);
      if (!origin) continue;
      const path = join(folder, file);
      const draft = await lstat(path, { bigint: true });
      const factsPath = this.#facts.path(origin.bucket, origin.hash, draft);
      const facts = await this.#facts.readFile(factsPath);
      const name = facts && { bucket: origin.bucket, key: facts.key };
      const present = name && (await this.#locate(name));
      if (name && present?.ino === draft.ino && present.dev === draft.dev) {
        await syncFile(path);
        await syncFile(factsPath);
        await this.folders.sync(dirname(factsPath));
        await this.folders.sync(dirname(this.#path(name)));
      } else if (draft.nlink === 1n) await unlink(factsPath).catch(() => {});
      await unlink(path);
    }
    await this.folders.sync(folder);
  }

  async #synced(name: ObjectName, sync: () => Promise<void>): Promise<void> {
    try {
      await sync();
    } catch (cause) {
      this.#doubtful.add(idOf(name));
      throw cause;
    }
  }

  #path({ bucket, key }: ObjectName): string {
    const problem = keyProblem(key);
    if (problem) throw problem;
    return join(this.root, bucket, ...key.split('/'));
  }

  /** The path of a key; undefined when there cannot be an object, or when a symbolic link leads there. */
  async #reachablePath(name: ObjectName): Promise<string | undefined> {
    if (keyProblem(name.key)) return undefined;
    const path = this.#path(name);
    return (await this.folders.isFolder(dirname(path))) ? path : undefined;
  }

  async #locate(name: ObjectName): Promise<BigIntStats | undefined> {
    const path = await this.#reachablePath(name);
    if (path === undefined) return undefined;
    try {
      const found = await lstat(path, { bigint: true });
      return found.isFile() ? found : undefined;
    } catch (cause) {
      if (isAbsent(cause)) return undefined;
      throw cause;
    }
  }

  async #infoOf({ bucket, key }: ObjectName, found: BigIntStats): Promise<ObjectInfo> {
    const facts = (await this.#facts.read(bucket, key, found)) ?? factsOfPlainFile(key, found);
    return { ...facts, ...sizeAndTime(found) };
  }

  /**
   * Gives a complete draft the name of its object, in one step. Returns false when the name was taken or freed
   * meanwhile by somebody who does not use the server.
   */
  async #giveName(path: string, draft: Draft, isReplacing: boolean): Promise<boolean> {
    for (;;) {
      try {
        await this.#makeFolder(dirname(path));
        if (isReplacing) {
          // The draft keeps its own name too, so that a start after a crash finds it.
          const second = `${draft.path}.link`;
          await link(draft.path, second);
          await rename(second, path);
        } else await link(draft.path, path);
        return true;
      } catch (cause) {
        const { code } = cause as NodeJS.ErrnoException;
        if (code === 'EEXIST' && !isReplacing) {
          if (await isOrdinaryFile(path)) return false;
          throw isDirectory();
        }
        if (code === 'EISDIR' || code === 'ENOTEMPTY') throw isDirectory();
        // The last object of the folder was removed meanwhile, and the folder with it.
        if (!isAbsent(cause)) throw cause;
      }
    }
  }

  /** Makes the folder of an object, unless it is there. */
  async #makeFolder(folder: string): Promise<void> {
    if (await this.folders.isFolder(folder)) return;
    await this.folders.make(folder).catch((cause: unknown) => {
      throw (cause as NodeJS.ErrnoException).code === 'ENOTDIR' ? parentIsFile() : cause;
    });
  }
}

function idOf({ bucket, key }: ObjectName): string {
  return `${bucket}/${key}`;
}

function sizeAndTime({ size, mtimeMs }: BigIntStats): { bytes: number; mtimeMs: number } {
  return { bytes: Number(size), mtimeMs: Number(mtimeMs) };
}

/** The facts of a file that was put into the folder by hand. The dash shows clients that the tag is not an MD5. */
function factsOfPlainFile(key: string, { size, mtimeNs }: BigIntStats): ObjectFacts {
  const etag = `${mtimeNs.toString(16).padStart(32, '0')}-${size.toString(16)}`;
  return { key, etag, fields: {}, metadata: {}, checksums: {}, checksumType: 'FULL_OBJECT' };
}

async function isOrdinaryFile(path: string): Promise<boolean> {
  return lstat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

async function syncFile(path: string): Promise<void> {
  await using file = await open(path, 'r+');
  await file.sync();
}

function isDirectory(): S3Error {
  return new S3Error('ExistingObjectIsDirectory', 'There are objects below this key, so it cannot be an object.');
}

function parentIsFile(): S3Error {
  return new S3Error(
    'ObjectParentIsFile',
    'A part of the key is the key of another object, or a link, so there can be no objects below it.',
  );
}
