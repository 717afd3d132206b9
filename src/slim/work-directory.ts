/**
 * Where a run keeps its journal and what it needs while it works: a directory of its own for every run, numbered, in
 * one place. Only one process at a time works there.
 *
 * ```
 *   .pinakes-slim/
 *     lock, lock.sqlite       who works here; see work-lock.ts
 *     run-0001/journal.jsonl  what was done; stays, for undo
 *     run-0001/files.jsonl    the files of the run, in order
 *     run-0001/...            lines, plans and spilled tables; gone when the run is finished
 *     leaned-*.txt            what revisits elsewhere lean on in the files beside it; see leaning-notes.ts
 * ```
 */
import { mkdirSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileError } from '../base/index.ts';
import { realPath } from './collection.ts';
import { WorkLock } from './work-lock.ts';

export const WORK_DIRECTORY = '.pinakes-slim';

const DRY_RUN = 'dry-run';
const LASTING = new Set(['journal.jsonl', 'files.jsonl']);

export class WorkDirectory {
  /** With symbolic links resolved: what is named after it is the same whichever way leads here. */
  readonly path: string;
  readonly #givenPath: string;
  /** The outermost directory that was made for it. */
  readonly #firstMade: string;
  readonly #lock: WorkLock;

  /** Takes the place for this process, or says who has it. */
  static lock(path: string): WorkDirectory {
    try {
      const firstMade = mkdirSync(path, { recursive: true });
      const work = new WorkDirectory(path, firstMade ?? path, WorkLock.take(path));
      // What a dry run left that was killed.
      rmSync(join(path, DRY_RUN), { recursive: true, force: true });
      return work;
    } catch (cause) {
      throw fileError(cause, path, 'writing');
    }
  }

  private constructor(path: string, firstMade: string, lock: WorkLock) {
    this.path = realPath(path);
    this.#givenPath = path;
    this.#firstMade = firstMade;
    this.#lock = lock;
  }

  /** Leaves no directory behind in which nothing happened. */
  unlock(): void {
    this.#lock.release();
    try {
      for (let path = this.#givenPath; ; path = dirname(path)) {
        rmdirSync(path);
        if (path === this.#firstMade) break;
      }
    } catch {
      // Runs lie there, or files beside it.
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

  /** A place for a run that changes nothing and leaves nothing. */
  dryRun(): string {
    const path = join(this.path, DRY_RUN);
    mkdirSync(path);
    return path;
  }
}

/** Removes what only a run under way needs. */
export function clearRun(directory: string): void {
  for (const name of readdirSync(directory)) {
    if (!LASTING.has(name)) rmSync(join(directory, name), { recursive: true, force: true });
  }
}
