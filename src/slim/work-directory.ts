/**
 * The directory of the journals and temporary files of runs. Every run has a numbered directory in it. Only one process
 * at a time works there.
 *
 * ```
 *   .pinakes-slim/
 *     lock, lock.sqlite       the process that works here; see work-lock.ts
 *     run-0001/journal.jsonl  the steps of the run; stays, for undo
 *     run-0001/files.jsonl    the files of the run, in order
 *     run-0001/...            lines, plans and spilled tables; removed when the run is finished
 *     leaned-*.txt            records of files beside this directory that revisits refer to; see reference-notes.ts
 * ```
 */
import { mkdirSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { writingFile } from '../base/index.ts';
import { realPath } from './collection.ts';
import { WorkLock } from './work-lock.ts';

export const WORK_DIRECTORY = '.pinakes-slim';

const TEMPORARY_RUN = 'dry-run';
const LASTING = new Set(['journal.jsonl', 'files.jsonl']);

export class WorkDirectory {
  /** With symbolic links resolved, so that names derived from it do not depend on the path that was typed. */
  readonly path: string;
  readonly #givenPath: string;
  /** The outermost directory that was created for it. */
  readonly #firstMade: string;
  readonly #lock: WorkLock;

  /** Locks the directory for this process. Throws SLIM_LOCKED when another process has it. */
  static lock(path: string): WorkDirectory {
    return writingFile(path, () => {
      const firstMade = mkdirSync(path, { recursive: true });
      const work = new WorkDirectory(path, firstMade ?? path, WorkLock.take(path));
      // Left by a dry run or a sync that was killed.
      rmSync(join(path, TEMPORARY_RUN), { recursive: true, force: true });
      return work;
    });
  }

  private constructor(path: string, firstMade: string, lock: WorkLock) {
    this.path = realPath(path);
    this.#givenPath = path;
    this.#firstMade = firstMade;
    this.#lock = lock;
  }

  /** Releases the lock, and removes the directory when it is empty. */
  [Symbol.dispose](): void {
    this.#lock.release();
    try {
      for (let path = this.#givenPath; ; path = dirname(path)) {
        rmdirSync(path);
        if (path === this.#firstMade) break;
      }
    } catch {
      // The directory contains runs, or a parent contains other files.
    }
  }

  /** Directories of the runs so far, oldest first. */
  runs(): string[] {
    const names = readdirSync(this.path).filter((name) => /^run-\d+$/.test(name));
    return names.sort((a, b) => Number(a.slice(4)) - Number(b.slice(4))).map((name) => join(this.path, name));
  }

  newRun(): string {
    const last = this.runs().at(-1);
    const number = last === undefined ? 1 : Number(last.slice(last.lastIndexOf('-') + 1)) + 1;
    const path = join(this.path, `run-${String(number).padStart(4, '0')}`);
    mkdirSync(path);
    return path;
  }

  /** The directory of a dry run or a sync. The caller removes it, or else the next command does. */
  temporaryRun(): string {
    const path = join(this.path, TEMPORARY_RUN);
    mkdirSync(path);
    return path;
  }
}

/** Removes the files that only a running run needs. */
export function clearRun(directory: string): void {
  for (const name of readdirSync(directory)) {
    if (!LASTING.has(name)) rmSync(join(directory, name), { recursive: true, force: true });
  }
}
