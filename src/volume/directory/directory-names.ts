/**
 * The names in a directory volume: lists objects, and creates, seals, renames and removes them durably.
 *
 * - Changes of names run one after the other. Contents are not touched here.
 * - New names in a folder are durable once the folder is synced. `#unsynced` holds the folders that are not.
 * - A folder whose sync failed is doubted: the system may have dropped what it could not write, so a later sync that
 *   succeeds proves nothing.
 * - Folders are made one level at a time below the directory, never the directory itself: when that is missing, its
 *   disk is missing.
 *
 * Failures of the system pass through unchanged; the volume turns them into errors that name the object.
 */
import { type FileHandle, mkdir, open, rename, rmdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { mapLimited, PinakesError, syncDirectory } from '../../base/index.ts';
import { compareNames } from '../object-name.ts';
import { OperationQueue } from '../operation-queue.ts';
import type { ObjectInfo } from '../volume.ts';
import { whereIn } from '../volume-error.ts';
import {
  counting,
  finishRename,
  folderOf,
  foldersOf,
  isGone,
  type LaidFile,
  pathOf,
  settle,
  unlessGone,
  walk,
} from './directory-layout.ts';

const FILES_AT_ONCE = 16;
const KEY = 'names';

export type Place = { readonly path: string; readonly sealed: boolean; readonly bytes: number };

export class DirectoryNames {
  readonly #volume: string;
  readonly #directory: string;
  readonly #queue = new OperationQueue();
  /** Objects whose rename is not finished; they count before all other files of their names. */
  readonly #renamed = new Map<string, LaidFile>();
  readonly #unsynced = new Set<string>();
  readonly #doubted = new Set<string>();

  constructor(volume: string, directory: string) {
    this.#volume = volume;
    this.#directory = directory;
  }

  /**
   * Lists the directory. A writable directory is also repaired, and its names are made durable. Returns the files that
   * were set aside.
   */
  async open(writable: boolean): Promise<string[]> {
    const { files, folders } = await walk(this.#directory);
    if (!writable) {
      for (const [name, file] of counting(files)) if (file.renamed) this.#renamed.set(name, file);
      return [];
    }
    const setAside = await settle(this.#directory, files);
    // A killed process may have left names that are only in memory.
    await mapLimited(folders, FILES_AT_ONCE, (folder) => syncDirectory(join(this.#directory, folder)));
    return setAside;
  }

  async list(prefix: string): Promise<ObjectInfo[]> {
    const { files } = await walk(this.#directory, folderOf(prefix));
    const counted = [...counting(files).values()].filter(({ name }) => name.startsWith(prefix));
    counted.sort((a, b) => compareNames(a.name, b.name));
    const infos = await mapLimited(counted, FILES_AT_ONCE, async (file): Promise<ObjectInfo | undefined> => {
      const found = await stat(pathOf(this.#directory, file)).catch(unlessGone);
      return found ? { name: file.name, bytes: found.size, sealed: file.sealed } : this.info(file.name);
    });
    return infos.filter((info) => info !== undefined);
  }

  async info(name: string): Promise<ObjectInfo | undefined> {
    const place = await this.find(name);
    return place && { name, bytes: place.bytes, sealed: place.sealed };
  }

  /** The file that counts for this name. */
  async find(name: string): Promise<Place | undefined> {
    // The sealed name is tried twice: sealing may rename the file between the first two tries.
    for (const sealed of [true, false, true]) {
      const file = this.#renamed.get(name) ?? { name, sealed, renamed: false };
      const path = pathOf(this.#directory, file);
      const found = await stat(path).catch(unlessGone);
      if (found && !found.isDirectory()) return { path, sealed: file.sealed, bytes: found.size };
    }
    return undefined;
  }

  /** Creates the empty file of a new object. Its name is durable after `sync`. */
  create(name: string): Promise<FileHandle> {
    return this.#queue.run([KEY], async () => {
      const taken = await stat(pathOf(this.#directory, { name, sealed: true, renamed: false })).catch(unlessGone);
      if (taken || this.#renamed.has(name)) throw this.#exists(name);
      const file = await this.#createFile(name).catch(async (cause: unknown) => {
        if (!isGone(cause)) throw cause;
        await this.#makeFolders(name);
        return this.#createFile(name);
      });
      this.#unsynced.add(folderOf(name));
      return file;
    });
  }

  /** Makes the names of these objects durable. */
  async sync(names: readonly string[]): Promise<void> {
    const folders = [...new Set(names.flatMap(foldersOf))];
    this.#refuseDoubted(folders);
    if (folders.some((folder) => this.#unsynced.has(folder))) {
      await this.#queue.run([KEY], () => this.#syncFolders(folders.filter((folder) => this.#unsynced.has(folder))));
    }
  }

  /** Gives the file of an object the name of a sealed object. The contents must be durable already. */
  seal(name: string): Promise<void> {
    return this.#queue.run([KEY], async () => {
      this.#refuseDoubted(foldersOf(name));
      const place = await this.find(name);
      if (place && !place.sealed) {
        await rename(place.path, pathOf(this.#directory, { name, sealed: true, renamed: false }));
        this.#renamed.delete(name);
      }
      // A sealed object needs this too: the sync of an earlier attempt to seal it may have failed.
      await this.#syncFolders(foldersOf(name));
    });
  }

  /** Renames an existing object. Its contents must be durable already. */
  rename(from: string, to: string): Promise<void> {
    return this.#queue.run([KEY], async () => {
      this.#refuseDoubted([...foldersOf(to), folderOf(from)]);
      await this.#finish(from);
      await this.#finish(to);
      const [source, target] = [await this.find(from), await this.find(to)];
      if (!source) throw new PinakesError('OBJECT_MISSING', { where: whereIn(this.#volume, from) });
      await this.#makeFolders(to);
      const renamed = target !== undefined && target.sealed !== source.sealed;
      const file = { name: to, sealed: source.sealed, renamed };
      const folder = await stat(pathOf(this.#directory, { name: to, sealed: true, renamed: false })).catch(unlessGone);
      if (folder?.isDirectory()) throw this.#exists(to, 'an object cannot also be a folder');
      await rename(source.path, pathOf(this.#directory, file));
      if (renamed) this.#renamed.set(to, file);
      await this.#syncFolders([...foldersOf(to), folderOf(from)]);
      await this.#finish(to);
      await this.#prune([from]);
    });
  }

  /** Removes objects, and folders that have become empty. */
  remove(names: readonly string[]): Promise<void> {
    return this.#queue.run([KEY], async () => {
      await mapLimited(names, FILES_AT_ONCE, async (name) => {
        // The file that counts goes last, so that a crash in between does not bring back a replaced file.
        for (const sealed of [false, true]) {
          await unlink(pathOf(this.#directory, { name, sealed, renamed: false })).catch(unlessGone);
        }
        const renamed = this.#renamed.get(name);
        if (renamed) await unlink(pathOf(this.#directory, renamed)).catch(unlessGone);
        this.#renamed.delete(name);
      });
      await this.#syncFolders(names.map(folderOf), true);
      await this.#prune(names);
    });
  }

  async #finish(name: string): Promise<void> {
    const file = this.#renamed.get(name);
    if (!file) return;
    await finishRename(this.#directory, file);
    this.#renamed.delete(name);
    await this.#syncFolders([folderOf(name)]);
  }

  async #createFile(name: string): Promise<FileHandle> {
    try {
      return await open(pathOf(this.#directory, { name, sealed: false, renamed: false }), 'wx+');
    } catch (cause) {
      throw (cause as NodeJS.ErrnoException).code === 'EEXIST' ? this.#exists(name) : cause;
    }
  }

  async #makeFolders(name: string): Promise<void> {
    for (const folder of foldersOf(name).slice(1)) {
      const path = join(this.#directory, folder);
      const found = await stat(path).catch(unlessGone);
      if (found?.isDirectory()) continue;
      if (found || (await this.find(folder))) throw this.#exists(folder, 'an object cannot also be a folder');
      await mkdir(path);
      this.#unsynced.add(folderOf(folder));
      this.#unsynced.add(folder);
    }
  }

  /** Removes folders that have become empty. A folder that cannot be removed stays. */
  async #prune(names: readonly string[]): Promise<void> {
    const folders = new Set(names.flatMap((name) => foldersOf(name).slice(1)));
    // The longest paths first, so that inner folders are removed before outer folders.
    for (const folder of [...folders].sort((a, b) => b.length - a.length)) {
      const gone = await rmdir(join(this.#directory, folder)).then(
        () => true,
        () => false,
      );
      if (!gone) continue;
      this.#unsynced.delete(folder);
      this.#unsynced.add(folderOf(folder));
    }
    const parents = names.flatMap(foldersOf).filter((folder) => this.#unsynced.has(folder));
    await this.#syncFolders(parents, true);
  }

  async #syncFolders(folders: readonly string[], mayBeGone = false): Promise<void> {
    this.#refuseDoubted(folders);
    await mapLimited([...new Set(folders)], FILES_AT_ONCE, async (folder) => {
      try {
        await syncDirectory(join(this.#directory, folder));
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).syscall === 'fsync') this.#doubted.add(folder);
        if (!(mayBeGone && folder !== '' && isGone(cause))) throw cause;
      }
      this.#unsynced.delete(folder);
    });
  }

  #refuseDoubted(folders: readonly string[]): void {
    const doubted = folders.find((folder) => this.#doubted.has(folder));
    if (doubted === undefined) return;
    throw new PinakesError('VOLUME_IO', {
      where: whereIn(this.#volume),
      detail: `an earlier sync of the folder ${JSON.stringify(doubted)} failed; open the volume again`,
    });
  }

  #exists(name: string, detail?: string): PinakesError {
    return new PinakesError('OBJECT_EXISTS', { where: whereIn(this.#volume, name), ...(detail && { detail }) });
  }
}
