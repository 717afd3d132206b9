/**
 * Locks a directory for one process. The lock is the lock of an SQLite database file. The system releases it when the
 * process ends in any way, it also works between machines that share the disk, and only one of two simultaneous
 * attempts gets it.
 *
 * The file is removed on release, while the lock is still held. A process that opened the file before then locks a file
 * without a name; it notices this by the inode and tries again.
 */
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileError, PinakesError } from '../base/index.ts';

const SQLITE_BUSY = 5;
const LOCK_FILE = 'lock.sqlite';
const HOLDER_FILE = 'lock';

/** The names of the files of the lock. */
export const LOCK_FILES: ReadonlySet<string> = new Set([LOCK_FILE, HOLDER_FILE]);

export class WorkLock {
  readonly #directory: string;
  readonly #database: DatabaseSync;

  /** Throws SLIM_LOCKED when another process has the lock. */
  static take(directory: string): WorkLock {
    const path = fileOf(directory);
    for (;;) {
      writeFileSync(path, '', { flag: 'a' });
      const inode = inodeOf(path);
      const database = new DatabaseSync(path);
      try {
        database.exec('BEGIN EXCLUSIVE');
      } catch (cause) {
        database.close();
        if ((cause as { errcode?: number }).errcode !== SQLITE_BUSY) throw fileError(cause, path, 'writing');
        throw new PinakesError('SLIM_LOCKED', { where: directory, detail: holderIn(directory) });
      }
      if (inode !== undefined && inode === inodeOf(path)) return new WorkLock(directory, database);
      database.close();
    }
  }

  /** Whether a process has the lock, or was killed while it had it. */
  static wasTaken(directory: string): boolean {
    return existsSync(fileOf(directory)) && existsSync(holderFileOf(directory));
  }

  private constructor(directory: string, database: DatabaseSync) {
    this.#directory = directory;
    this.#database = database;
    try {
      writeFileSync(holderFileOf(directory), String(process.pid));
    } catch (cause) {
      this.release();
      throw cause;
    }
  }

  release(): void {
    rmSync(holderFileOf(this.#directory), { force: true });
    try {
      rmSync(fileOf(this.#directory), { force: true });
    } catch {
      // Some systems do not remove an open file. The file does not lock anything any more.
    }
    this.#database.close();
  }
}

function fileOf(directory: string): string {
  return join(directory, LOCK_FILE);
}

/** The file with the process id of the holder, for messages; it exists from when the lock was taken. */
function holderFileOf(directory: string): string {
  return join(directory, HOLDER_FILE);
}

function holderIn(directory: string): string {
  try {
    return readFileSync(holderFileOf(directory), 'utf8').split(' ')[0]!;
  } catch {
    return '';
  }
}

function inodeOf(path: string): bigint | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}
