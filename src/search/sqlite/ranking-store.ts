/**
 * Stores the rankings that streams follow, each in the state in which the first stream requested it.
 *
 * ```
 *   rankings/<inlinks | rank>-<computation>-<content>.sqlite   see ranking-file.ts; mtime is its last use
 *   rankings/<inlinks | rank>.tmp   a file that is being written; the next writer removes it after a crash
 * ```
 * A version is `<computation>-<content>`. A version always has the same order, even if its file was deleted and written
 * again. Files are kept for LIFE_MS after their last use, as long as all files together take at most BYTES_MAX.
 */
import { mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { Archive, UrlRanking } from '../../archive/index.ts';
import { PinakesError } from '../../base/index.ts';
import type { UrlKey } from '../../url/index.ts';
import { ThreadCalls } from '../thread-calls.ts';
import { indexError } from './database.ts';
import { lockIndex } from './index-lock.ts';
import { forgetRanked, isCompleteRanking, RankingFile } from './ranking-file.ts';
import { type RankingName, RankingWriter } from './ranking-writer.ts';

export const RANKINGS_DIRECTORY = 'rankings';
const SUFFIX = '.sqlite';
const VERSION = /^[0-9a-f]{32}-[0-9a-f]{32}$/;
const LIFE_MS = 30 * 24 * 3600 * 1000;
const BYTES_MAX = 4 * 1024 ** 3;

export class RankingStore {
  readonly #archive: Archive;
  readonly #directory: string;

  constructor(archive: Archive) {
    this.#archive = archive;
    this.#directory = join(archive.directory, RANKINGS_DIRECTORY);
  }

  /** A ranking of URLs for streams: by citations, or by rank. */
  ranking(name: RankingName): UrlRanking {
    return {
      name,
      keep: (version) => (version === undefined ? this.#keepCurrent(name) : this.#keepVersion(name, version)),
      open: async (version) => {
        await this.#keepVersion(name, version);
        try {
          return new RankingFile(this.#pathOf(name, version));
        } catch (error) {
          throw indexError(error);
        }
      },
    };
  }

  #pathOf(name: RankingName, version: string): string {
    return join(this.#directory, `${name}-${version}${SUFFIX}`);
  }

  async #keepVersion(name: RankingName, version: string): Promise<string> {
    const isKept = VERSION.test(version) && (await this.#touch(this.#pathOf(name, version)));
    if (!isKept) throw new PinakesError('CURSOR_EXPIRED', { detail: `its ranking by ${name} is no longer kept` });
    return version;
  }

  async #touch(path: string): Promise<boolean> {
    const seconds = this.#archive.clock() / 1000;
    return utimes(path, seconds, seconds).then(
      () => true,
      () => false,
    );
  }

  async #keepCurrent(name: RankingName): Promise<string> {
    const known = await this.#findCurrent(name);
    if (known !== undefined) return known;
    const unlock = await lockIndex(this.#directory);
    try {
      return (await this.#findCurrent(name)) ?? (await this.#write(name));
    } finally {
      unlock();
    }
  }

  /** The version of a complete file with the current ranking; undefined if it has to be written. */
  async #findCurrent(name: RankingName): Promise<string | undefined> {
    const writer = new RankingWriter(this.#archive.directory);
    let computation: string;
    try {
      computation = writer.computation();
    } finally {
      writer.close();
    }
    const prefix = `${name}-${computation}-`;
    for (const file of await this.#files()) {
      const path = join(this.#directory, file);
      if (file.startsWith(prefix) && isCompleteRanking(path) && (await this.#touch(path)))
        return file.slice(name.length + 1, -SUFFIX.length);
    }
    return undefined;
  }

  async #write(name: RankingName): Promise<string> {
    await mkdir(this.#directory, { recursive: true });
    for (const left of await readdir(this.#directory))
      if (left.endsWith('.tmp')) await rm(join(this.#directory, left), { force: true });
    const temporary = join(this.#directory, `${name}.tmp`);
    const { directory } = this.#archive;
    const thread = await ThreadCalls.open(new URL('./ranking-worker.ts', import.meta.url), { directory });
    try {
      const written: Awaited<ReturnType<RankingWriter['write']>> = await thread.call('write', [name, temporary]);
      const version = `${written.computation}-${written.content}`;
      const file = await open(temporary, 'r+');
      await file.sync().finally(() => file.close());
      await rename(temporary, this.#pathOf(name, version));
      await this.#touch(this.#pathOf(name, version));
      await this.#removeOld();
      return version;
    } finally {
      await thread.close();
      await rm(temporary, { force: true });
    }
  }

  /** Removes files that were not used for LIFE_MS, and the least recently used files beyond BYTES_MAX. */
  async #removeOld(): Promise<void> {
    const files: { path: string; bytes: number; usedMs: number }[] = [];
    for (const file of await this.#files()) {
      const path = join(this.#directory, file);
      const { size, mtimeMs } = await stat(path);
      files.push({ path, bytes: size, usedMs: mtimeMs });
    }
    const now = this.#archive.clock();
    let bytes = 0;
    for (const [at, file] of files.sort((a, b) => b.usedMs - a.usedMs).entries()) {
      bytes += file.bytes;
      if (at > 0 && (bytes > BYTES_MAX || now - file.usedMs > LIFE_MS)) await rm(file.path, { force: true });
    }
  }

  async #files(): Promise<string[]> {
    const names = await readdir(this.#directory).catch(() => []);
    return names.filter((name) => name.endsWith(SUFFIX));
  }

  /** Removes URLs from all files if the archive no longer has captures of these URLs (I6). */
  async forget(keys: readonly UrlKey[]): Promise<void> {
    const files = await this.#files();
    if (files.length === 0) return;
    const gone: UrlKey[] = [];
    for (const key of keys) if (!(await this.#hasCaptures(key))) gone.push(key);
    if (gone.length === 0) return;
    for (const file of files) forgetRanked(join(this.#directory, file), gone);
  }

  async #hasCaptures(key: UrlKey): Promise<boolean> {
    return (await this.#archive.capturesOf(key))?.length !== 0;
  }

  /** Deletes all rankings. This is done when the index is made again. */
  async clear(): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true });
  }
}
