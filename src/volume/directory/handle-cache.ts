/**
 * Open files, kept for the next use. When there are more than `handlesMax`, the least recently used is closed.
 *
 * A handle in use is never closed. A handle with unsynced writes is synced before it is closed: the system may never
 * report an error of writing back when no handle is open. When that sync fails, `onSyncFailure` is called before the
 * file can be opened again.
 */
import type { FileHandle } from 'node:fs/promises';

export type CachedHandle = {
  readonly key: string;
  readonly file: FileHandle;
  /** Whether the file was written to since its last sync. */
  dirty: boolean;
  users: number;
  /** Whether the handle was removed from its key. It is closed when its last user gives it back. */
  dropped: boolean;
};

export class HandleCache {
  readonly #handlesMax: number;
  readonly #onSyncFailure: (key: string) => void;
  /** In order of use, the least recently used first. */
  readonly #handles = new Map<string, CachedHandle>();
  readonly #open = new Set<CachedHandle>();
  readonly #opening = new Map<string, Promise<CachedHandle>>();
  readonly #closing = new Map<string, Promise<void>>();

  constructor(handlesMax: number, onSyncFailure: (key: string) => void) {
    this.#handlesMax = handlesMax;
    this.#onSyncFailure = onSyncFailure;
  }

  /** How many files are open. */
  get size(): number {
    return this.#open.size;
  }

  /**
   * The handle of this key, if it is open, for a use without any `await`. It need not be given back.
   */
  peek(key: string): CachedHandle | undefined {
    const held = this.#handles.get(key);
    if (held) {
      this.#handles.delete(key);
      this.#handles.set(key, held);
    }
    return held;
  }

  /** The handle of this key; opens the file if it is not open. Every handle taken must be given back. */
  async take(key: string, open: () => Promise<FileHandle>): Promise<CachedHandle> {
    for (;;) {
      const held = this.peek(key);
      if (held) {
        held.users++;
        return held;
      }
      const closing = this.#closing.get(key);
      if (closing) {
        await closing;
        continue;
      }
      let opening = this.#opening.get(key);
      if (!opening) {
        opening = this.#openFile(key, open).finally(() => this.#opening.delete(key));
        this.#opening.set(key, opening);
      }
      await opening;
    }
  }

  give(handle: CachedHandle): void {
    handle.users--;
    if (handle.dropped && handle.users === 0) void this.#close(handle);
    else this.#shrink();
  }

  /** Forgets a handle whose file was renamed or removed. It is closed when its last user gives it back. */
  async drop(key: string): Promise<void> {
    await this.#opening.get(key)?.catch(() => undefined);
    const held = this.#handles.get(key);
    if (held) {
      this.#handles.delete(key);
      held.dropped = true;
      if (held.users === 0) await this.#close(held);
    }
    await this.#closing.get(key);
  }

  /** Closes all handles, including handles that readers use. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#opening.values());
    this.#handles.clear();
    await Promise.all(Array.from(this.#open, (handle) => this.#close(handle)));
    await Promise.all(this.#closing.values());
  }

  async #openFile(key: string, open: () => Promise<FileHandle>): Promise<CachedHandle> {
    const handle = { key, file: await open(), dirty: false, users: 0, dropped: false };
    this.#open.add(handle);
    this.#handles.set(key, handle);
    return handle;
  }

  #shrink(): void {
    if (this.#handles.size <= this.#handlesMax) return;
    for (const [key, handle] of this.#handles) {
      if (handle.users > 0) continue;
      this.#handles.delete(key);
      handle.dropped = true;
      void this.#close(handle);
      if (this.#handles.size <= this.#handlesMax) return;
    }
  }

  #close(handle: CachedHandle): Promise<void> {
    const earlier = this.#closing.get(handle.key);
    if (!this.#open.delete(handle)) return earlier ?? Promise.resolve();
    const closing = (async () => {
      await earlier;
      try {
        if (handle.dirty) await handle.file.datasync();
        await handle.file.close();
      } catch {
        this.#onSyncFailure(handle.key);
        await handle.file.close().catch(() => undefined);
      }
    })().finally(() => {
      if (this.#closing.get(handle.key) === closing) this.#closing.delete(handle.key);
    });
    this.#closing.set(handle.key, closing);
    return closing;
  }
}
