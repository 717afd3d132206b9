/**
 * Replaces the index that serves searches by a new one that was built next to it.
 *
 * ```
 *   search.sqlite        serves searches until the swap, and afterwards has the content of the new index
 *   search-new.sqlite    the new index while it is built; the next run of the indexer removes it after a crash
 * ```
 * The new index is copied into the old file in one transaction of SQLite. So searches see the old index or the new one,
 * also after a crash, and open searches continue without reopening the file. If the old file cannot be read, it serves
 * no searches, and the new file is renamed to its name.
 */
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { openForReading, SEARCH_FILE } from './database.ts';

export const NEW_SEARCH_FILE = 'search-new.sqlite';

/** The number of SQLite pages copied at a time. */
const COPIED_PAGES = 1000;
const BUSY_MS_MAX = 10_000;

/** Deletes the index. The next run of the indexer makes it again. */
export async function dropIndex(directory: string): Promise<void> {
  for (const name of [SEARCH_FILE, NEW_SEARCH_FILE]) await dropIndexFile(join(directory, name));
}

export async function dropIndexFile(path: string): Promise<void> {
  for (const suffix of ['', '-wal', '-shm', '-journal']) await rm(path + suffix, { force: true });
}

/** Replaces the old index by the new one. No connection to the new index may be open. */
export async function swapIndex(directory: string): Promise<void> {
  const [from, to] = [join(directory, NEW_SEARCH_FILE), join(directory, SEARCH_FILE)];
  const batch = batchOf(to);
  if (batch !== undefined) {
    const source = new DatabaseSync(from, { timeout: BUSY_MS_MAX });
    try {
      // Open searches cache counts by the number of the last batch, so a number must not be used twice.
      source.prepare("UPDATE state SET value = max(CAST(value AS INTEGER), ?) + 1 WHERE name = 'batch'").run(batch);
      await backup(source, to, { rate: COPIED_PAGES });
    } finally {
      source.close();
      // The checkpoint also runs after a failure, because it frees space on a full disk.
      tryCheckpoint(to);
    }
    await dropIndexFile(from);
    return;
  }
  checkpoint(from);
  await dropIndexFile(to);
  await rename(from, to);
}

/** The number of the last batch of an index; undefined if there is no usable index. */
function batchOf(path: string): number | undefined {
  try {
    using database = openForReading(path);
    return Number(database.prepare("SELECT value FROM state WHERE name = 'batch'").get()?.value ?? 0);
  } catch {
    return undefined;
  }
}

/** Frees the log, which has a copy of the whole index. The part that open searches still read stays until they end. */
function tryCheckpoint(path: string): void {
  try {
    checkpoint(path);
  } catch {
    // The next batch of the index runs a checkpoint again.
  }
}

/** Moves the content of the log into the index, and truncates the log. */
function checkpoint(path: string): void {
  using database = new DatabaseSync(path, { timeout: BUSY_MS_MAX });
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
}
