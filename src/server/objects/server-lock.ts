/**
 * One volume server for each folder. The lock is that of an SQLite database file: the system releases it when the
 * process ends in any way. The file stays.
 */
import { DatabaseSync } from 'node:sqlite';
import { fileError, PinakesError } from '../../base/index.ts';

const SQLITE_BUSY = 5;

/** Takes the lock. Returns the function that releases it. */
export function takeServerLock(path: string, folder: string): () => void {
  const database = new DatabaseSync(path);
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (cause) {
    database.close();
    if ((cause as { errcode?: number }).errcode !== SQLITE_BUSY) throw fileError(cause, path, 'writing');
    throw new PinakesError('FILE_BUSY', { where: folder, detail: 'another volume server uses this folder' });
  }
  return () => database.close();
}
