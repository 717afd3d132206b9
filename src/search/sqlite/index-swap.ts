/**
 * Making the index anew beside the one that serves, and putting it in its place.
 *
 * ```
 *   search.sqlite        serves until the end, and then has what the new one has
 *   search-new.sqlite    being made; left over from a crash, the next indexing removes it
 * ```
 * The new index is copied into the old file in one transaction of SQLite, so that searches see the old index or the
 * new one, and so does whoever opens it after a crash. Searches that are open go on without opening anything again.
 * Where the old file cannot be read, nothing is served by it, and the new one takes its name.
 */
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { openForReading, SEARCH_FILE } from './database.ts';

export const NEW_SEARCH_FILE = 'search-new.sqlite';

/** Pages of SQLite that are copied at a time. */
const COPIED_PAGES = 1000;
const BUSY_MS_MAX = 10_000;

export async function dropIndexFile(path: string): Promise<void> {
  for (const suffix of ['', '-wal', '-shm', '-journal']) await rm(path + suffix, { force: true });
}

/** Puts the new index, which nothing has open any more, into the place of the old one. */
export async function swapIndex(directory: string): Promise<void> {
  const [from, to] = [join(directory, NEW_SEARCH_FILE), join(directory, SEARCH_FILE)];
  const batch = batchOf(to);
  if (batch !== undefined) {
    const source = new DatabaseSync(from, { timeout: BUSY_MS_MAX });
    try {
      // Open searches remember counts by the number of the last batch, which must not come again.
      source.prepare("UPDATE state SET value = max(CAST(value AS INTEGER), ?) + 1 WHERE name = 'batch'").run(batch);
      await backup(source, to, { rate: COPIED_PAGES });
    } finally {
      source.close();
      // Also after a failure: on a full disk the room is needed.
      shrinkLog(to);
    }
    await dropIndexFile(from);
    return;
  }
  carryOver(from);
  await dropIndexFile(to);
  await rename(from, to);
}

/** The last batch of an index that can serve; undefined where there is none. */
function batchOf(path: string): number | undefined {
  try {
    const database = openForReading(path);
    try {
      return Number(database.prepare("SELECT value FROM state WHERE name = 'batch'").get()?.value ?? 0);
    } finally {
      database.close();
    }
  } catch {
    return undefined;
  }
}

/** The log holds a copy of the whole index; what searches still read of it stays until they are done. */
function shrinkLog(path: string): void {
  try {
    carryOver(path);
  } catch {
    // The next batch of the index carries it over.
  }
}

/** Carries over to an index what is in its log. */
function carryOver(path: string): void {
  const database = new DatabaseSync(path, { timeout: BUSY_MS_MAX });
  try {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } finally {
    database.close();
  }
}
