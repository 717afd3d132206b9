/**
 * A temporary directory for one stage, beside its result: that disk has free space, and the result only has to be
 * renamed. It is removed afterwards. The next stage of the same result removes the directories of killed stages.
 */
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileError, writingFile } from '../base/index.ts';
import { Database } from './database.ts';
import { LOCK_FILES, WorkLock } from './work-lock.ts';

export async function withStageDirectory<Result>(
  out: string,
  signal: AbortSignal | undefined,
  work: (directory: string, database: Database) => Promise<Result>,
): Promise<Result> {
  removeAbandoned(out);
  const directory = directoryBeside(out);
  const lock = lockIfPossible(directory);
  try {
    using database = await Database.open(directory, signal);
    return await work(directory, database);
  } catch (cause) {
    throw fileError(cause, out, 'writing');
  } finally {
    remove(directory, lock);
  }
}

/** Creates the directory under a name that is not taken. */
function directoryBeside(out: string): string {
  return writingFile(out, () => {
    mkdirSync(dirname(out), { recursive: true });
    return mkdtempSync(join(dirname(out), `.${basename(out)}-`));
  });
}

/** Removes the directories of killed stages: directories of this user that were once locked and are not locked now. */
function removeAbandoned(out: string): void {
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
      // A directory that cannot be removed only takes space.
    }
  }
}

/** Releases the lock last but before removing the directory: on a network disk, an open file keeps its directory. */
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
    // The directory does not exist yet or cannot be listed, so nothing is removed.
    return [];
  }
}

/** The directory may be shared, as a temporary directory is, and links of other users can lead anywhere. */
function isOwn(path: string): boolean {
  const info = lstatSync(path, { throwIfNoEntry: false });
  return info?.isDirectory() === true && info.uid === process.getuid?.();
}

/** The number of letters that `mkdtemp` adds to a name. */
const RANDOM_LETTERS = 6;

/** Undefined when the disk does not support locks or another process has the lock. Unlocked directories are kept. */
function lockIfPossible(directory: string): WorkLock | undefined {
  try {
    return WorkLock.take(directory);
  } catch {
    return undefined;
  }
}
