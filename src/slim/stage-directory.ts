/**
 * A place for what a stage needs only while it works: beside its result, so that it lies on a disk with room and the
 * result needs only a new name, and gone afterwards. What a stage left that was killed goes with the next one of the
 * same result.
 */
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileError } from '../base/index.ts';
import { Database } from './database.ts';
import { LOCK_FILES, WorkLock } from './work-lock.ts';

export async function withStageDirectory<Result>(
  out: string,
  signal: AbortSignal | undefined,
  work: (directory: string, database: Database) => Promise<Result>,
): Promise<Result> {
  clearLeft(out);
  const directory = directoryBeside(out);
  const lock = lockIfPossible(directory);
  try {
    const database = await Database.open(directory, signal);
    try {
      return await work(directory, database);
    } finally {
      database.close();
    }
  } catch (cause) {
    throw fileError(cause, out, 'writing');
  } finally {
    remove(directory, lock);
  }
}

/** Of a name that nothing there has. */
function directoryBeside(out: string): string {
  try {
    mkdirSync(dirname(out), { recursive: true });
    return mkdtempSync(join(dirname(out), `.${basename(out)}-`));
  } catch (cause) {
    throw fileError(cause, out, 'writing');
  }
}

/** Removes the directories of stages that are no more: those that this user once locked, and that nobody holds. */
function clearLeft(out: string): void {
  const prefix = `.${basename(out)}-`;
  for (const name of namesIn(dirname(out))) {
    if (!name.startsWith(prefix) || name.length !== prefix.length + RANDOM_LETTERS) continue;
    const directory = join(dirname(out), name);
    if (!isOwn(directory) || !WorkLock.wasTaken(directory)) continue;
    const lock = lockIfPossible(directory);
    if (!lock) continue;
    try {
      remove(directory, lock);
    } catch {
      // What cannot be removed takes room, and is in nobody's way.
    }
  }
}

/** The lock goes last, and before the directory: on a disk of the network a file that is open keeps its directory. */
function remove(directory: string, lock: WorkLock | undefined): void {
  try {
    for (const name of namesIn(directory)) {
      if (!LOCK_FILES.has(name)) rmSync(join(directory, name), { recursive: true, force: true });
    }
  } finally {
    lock?.release();
  }
  rmSync(directory, { recursive: true, force: true });
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    // It is not there yet, or cannot be listed: then nothing is cleared.
    return [];
  }
}

/** Temporary directories are shared with others, whose links lead anywhere. */
function isOwn(path: string): boolean {
  const info = lstatSync(path, { throwIfNoEntry: false });
  return info?.isDirectory() === true && info.uid === process.getuid?.();
}

/** What `mkdtemp` puts after a name. */
const RANDOM_LETTERS = 6;

/** Where a disk knows no locks, or another has it, there is none; what is not locked is cleared by no one. */
function lockIfPossible(directory: string): WorkLock | undefined {
  try {
    return WorkLock.take(directory);
  } catch {
    return undefined;
  }
}
