/**
 * Holds a directory for one process. The lock is SQLite's, on a file there: the system drops it with the process,
 * however that ends, it holds between machines that share the disk, and no two who come at the same moment both get it.
 *
 * The file goes with the lock, while it is held. Who had opened it before that holds a file that has no name any more,
 * sees it, and tries again.
 */
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileError, PinakesError } from '../base/index.ts';

const SQLITE_BUSY = 5;
const LOCK_FILE = 'lock.sqlite';
const HOLDER_FILE = 'lock';

/** The names that are the lock's in the directory. */
export const LOCK_FILES: ReadonlySet<string> = new Set([LOCK_FILE, HOLDER_FILE]);

export class WorkLock {
  readonly #directory: string;
  readonly #database: DatabaseSync;

  /** Throws SLIM_LOCKED when another has it. */
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

  /** Whether somebody has it, or had it and was killed. */
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
      // Some systems keep a file that is open; it locks nothing any more.
    }
    this.#database.close();
  }
}

function fileOf(directory: string): string {
  return join(directory, LOCK_FILE);
}

/** Says who has the lock, for messages; it is there once the lock was taken. */
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
