/**
 * Folders whose names are durable. A file is lost in a power cut unless its folder was synced, and the folder too, up
 * to the root. This class knows which folders have been synced in their parents since the server started, and syncs
 * the others; it begins with none, since an earlier process may have been killed before its sync.
 *
 * A sync that failed cannot be repeated: the system may have dropped what it did not write, and report success the next
 * time. So after such a failure everything that needs a sync fails, until the server is started again.
 */
import { lstat, mkdir, realpath, rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncDirectory } from '../../base/index.ts';

type FolderSync = { readonly running: Promise<void>; next: Promise<void> | undefined };

const KNOWN_MAX = 100_000;

export class DurableFolders {
  readonly #root: string;
  readonly #onChange: (folder: string, isThere: boolean) => void;
  readonly #durable = new Set<string>();
  readonly #syncs = new Map<string, FolderSync>();
  /** Counts removed folders: what was learned before a removal may be about another folder of the same name. */
  #removals = 0;
  #failure: unknown;

  /** `onChange` is told of each folder that is made or removed. */
  constructor(root: string, onChange: (folder: string, isThere: boolean) => void) {
    this.#root = root;
    this.#onChange = onChange;
  }

  /** Makes a folder below the root, and its parents. Fails with ENOTDIR where a file or a link has its name. */
  async make(folder: string): Promise<void> {
    try {
      await mkdir(folder);
      this.#onChange(folder, true);
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      if (code === 'EEXIST') {
        if (!(await this.isFolder(folder))) throw Object.assign(new Error('not a folder'), { code: 'ENOTDIR' });
        return;
      }
      if (code !== 'ENOENT' || folder === this.#root) throw cause;
      await this.make(dirname(folder));
      await this.make(folder);
    }
  }

  /** Whether there is a folder here, reached without symbolic links. */
  async isFolder(folder: string): Promise<boolean> {
    try {
      return (await realpath(folder)) === folder && (await lstat(folder)).isDirectory();
    } catch (cause) {
      if (isAbsent(cause)) return false;
      throw cause;
    }
  }

  /** Makes the entries of a folder durable: new files in it, removed ones, and the folder itself up to the root. */
  async sync(folder: string): Promise<void> {
    const removals = this.#removals;
    await this.#syncOne(folder);
    for (let at = folder; at !== this.#root && !this.#durable.has(at); at = dirname(at)) {
      await this.#syncOne(dirname(at));
      if (removals === this.#removals) this.#note(at);
    }
  }

  /** Makes it durable that there is nothing at this path any more, whose folder may be gone too. */
  async syncAbsence(path: string): Promise<void> {
    for (let at = dirname(path); ; at = dirname(at)) {
      try {
        await this.sync(at);
        return;
      } catch (cause) {
        if (!isAbsent(cause) || at === this.#root) throw cause;
      }
    }
  }

  /** The folder was removed. */
  forget(folder: string): void {
    this.#removals++;
    this.#durable.delete(folder);
    this.#onChange(folder, false);
  }

  /** Removes folders that have become empty, from this one outwards, up to `last`, which stays. */
  async prune(folder: string, last: string): Promise<void> {
    for (let at = folder; at !== last; at = dirname(at)) {
      this.#removals++;
      this.#durable.delete(at);
      const isGone = await rmdir(at).then(
        () => true,
        () => false,
      );
      if (!isGone) return;
      this.#onChange(at, false);
      await this.syncAbsence(at);
    }
  }

  #note(folder: string): void {
    if (this.#durable.size >= KNOWN_MAX) this.#durable.clear();
    this.#durable.add(folder);
  }

  /** Callers during a sync share the next one: the running one may have begun before their change. */
  async #syncOne(folder: string): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const current = this.#syncs.get(folder);
    if (current) return (current.next ??= current.running.catch(() => {}).then(() => this.#startSync(folder)));
    return this.#startSync(folder);
  }

  #startSync(folder: string): Promise<void> {
    const running = syncDirectory(folder).catch((cause: unknown) => {
      if ((cause as NodeJS.ErrnoException).syscall === 'fsync') this.#failure ??= cause;
      throw cause;
    });
    const sync: FolderSync = { running, next: undefined };
    this.#syncs.set(folder, sync);
    const end = () => {
      if (this.#syncs.get(folder) === sync && sync.next === undefined) this.#syncs.delete(folder);
    };
    running.then(end, end);
    return running;
  }
}

/** Whether a path does not exist, because of a missing folder or because a file has the name of one. */
export function isAbsent(cause: unknown): boolean {
  const { code } = (cause ?? {}) as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENOTDIR';
}
