/**
 * The second pass: rewrites every file that has duplicates, on several threads, and installs each new file after it was
 * read back. With a target, the other files are copied unchanged, so that the target contains the whole collection.
 *
 * A file stays unchanged when it, or a file with one of its originals, has changed since the run read it.
 */
import { mkdirSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { digestOf, type EpochMs, type Finding, PinakesError, toHex, utf8, writingFile } from '../../base/index.ts';
import { readFileStart } from '../../warc/index.ts';
import type { CollectionFile } from '../collection.ts';
import { filesOpenForWriting, identityIfThere, sameIdentity } from '../file-identity.ts';
import { slimFinding } from '../finding-catalogue.ts';
import type { Plan } from '../plan/plan.ts';
import { newerNoteAbout } from '../plan/reference-notes.ts';
import { install, keepOriginal, removeIfThere } from '../rewrite/installation.ts';
import type { RewriteReport } from '../rewrite/rewrite.ts';
import { mapInOrder, type SlimPool } from '../slim-pool.ts';
import type { Journal, JournalEntry } from './journal.ts';
import type { RunState } from './run-state.ts';

export type SecondPassOptions = {
  readonly pool: SlimPool;
  /** The directory of the run, with its journal. */
  readonly directory: string;
  readonly software: string;
  readonly startMs: EpochMs;
  readonly minSavingBytes: number;
  /** Empty when old files are not kept. */
  readonly keptDirectory: string;
  /** Whether duplicates must be read and hashed again, because this run has not scanned them. */
  readonly mustRehash?: boolean | undefined;
  /** Only computes what every file would become; writes only into `directory`. */
  readonly dryRun?: boolean | undefined;
  readonly digestBytes?: number | undefined;
  readonly onFinding: (finding: Finding) => void;
  readonly onFailure: (error: PinakesError) => void;
  readonly onProgress?: ((bytes: number, file: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
};

const FILES_PER_LOOK = 16;

/** A file to rewrite by its plan, or to copy when it has no plan. */
type FileTask = {
  readonly file: number;
  readonly plan: string | undefined;
  readonly originalFiles: ReadonlySet<number>;
};

export class SecondPass {
  readonly #files: readonly CollectionFile[];
  readonly #state: RunState;
  readonly #journal: Journal;
  readonly #options: SecondPassOptions;
  #doneBytes = 0;
  #openFiles: ReadonlySet<string> = new Set();
  #looksLeft = 0;
  failures = 0;

  constructor(files: readonly CollectionFile[], state: RunState, journal: Journal, options: SecondPassOptions) {
    this.#files = files;
    this.#state = state;
    this.#journal = journal;
    this.#options = options;
  }

  async run(plan: Plan): Promise<void> {
    const { pool, signal } = this.#options;
    for await (const { item, result } of mapInOrder(this.#tasks(plan), pool.tasksAhead, (task) =>
      this.#rewrite(task),
    )) {
      signal?.throwIfAborted();
      const { file } = item;
      try {
        if (result instanceof PinakesError) throw result;
        await this.#settle(item, result);
      } catch (error) {
        if (!(error instanceof PinakesError)) throw error;
        this.#reportFailure(file, error);
      } finally {
        if (item.plan !== undefined) removeIfThere(item.plan);
      }
      this.#doneBytes += this.#state.scanned[file]?.identity.size ?? 0;
      this.#options.onProgress?.(this.#doneBytes, this.#files[file]!.path);
    }
  }

  /** The files to rewrite or copy, in order, without those that were finished before a crash. */
  async *#tasks(plan: Plan): AsyncGenerator<FileTask> {
    const isCopying = this.#state.begin!.terms.mode === 'to';
    let next = 0;
    const copies = function* (this: SecondPass, before: number): Generator<FileTask> {
      for (; next < before; next++) {
        if (!isCopying || this.#state.isSettled(next)) continue;
        yield { file: next, plan: undefined, originalFiles: new Set() };
      }
    }.bind(this);
    for await (const { file, path, originalFiles } of plan.byFile((number) => !this.#state.isSettled(number))) {
      yield* copies(file);
      next = file + 1;
      yield { file, plan: path, originalFiles };
    }
    yield* copies(this.#files.length);
  }

  /** Returns a failure as a result, so that it does not stop the other files. */
  async #rewrite({ file, plan }: FileTask): Promise<RewriteReport | PinakesError | undefined> {
    try {
      return await this.#rewritten(file, plan);
    } catch (error) {
      if (error instanceof PinakesError) return error;
      throw error;
    }
  }

  async #rewritten(number: number, plan: string | undefined): Promise<RewriteReport | undefined> {
    const file = this.#files[number]!;
    const scanned = this.#state.scanned[number]!;
    const { directory, dryRun } = this.#options;
    const temporary = dryRun ? join(directory, `file-${number}`) : temporaryPath(file, directory);
    const written = this.#state.written.get(number);
    if (written) {
      const found = [file.target, temporary].map(identityIfThere);
      if (found.some((identity) => identity && sameIdentity(identity, written.identity))) return undefined;
    }
    const { pool, minSavingBytes, digestBytes, mustRehash, software, startMs } = this.#options;
    this.#prepareTarget(file);
    const { path, name } = file;
    const isInPlace = file.target === path;
    const { identity } = scanned;
    const job = { path, name, identity, temporary, isInPlace, plan, minSavingBytes, digestBytes, mustRehash, dryRun };
    if (!file.isArc || scanned.aside !== '' || isInPlace) return pool.run({ kind: 'rewrite', job });
    const { coding } = readFileStart(path);
    const targetName = basename(file.target);
    try {
      return await pool.run({ kind: 'rewrite-arc', job: { ...job, coding, software, startMs, targetName } });
    } finally {
      if (dryRun) removeIfThere(temporary);
    }
  }

  #prepareTarget(file: CollectionFile): void {
    if (file.target === file.path) return;
    if (identityIfThere(file.target)) throw new PinakesError('FILE_EXISTS', { where: file.target });
    if (this.#options.dryRun) return;
    writingFile(file.target, () => mkdirSync(dirname(file.target), { recursive: true }));
  }

  /** Takes a file from written to installed, and records each step in the journal. Every step can be repeated. */
  async #settle(task: FileTask, report: RewriteReport | undefined): Promise<void> {
    const { file: number } = task;
    if (report) {
      for (const finding of report.findings) this.#options.onFinding(finding);
      const { identity, replaced, payloadBytesSaved, stayed } = report;
      this.#note({ kind: 'written', file: number, identity, replaced, payloadBytesSaved, stayed });
    }
    if (!this.#options.dryRun) await this.#putWritten(task);
    // A crash may lose this entry. It can be derived: the file in place is then the one that was written.
    this.#journal.addLazily({ kind: 'installed', file: number });
    this.#state.apply({ kind: 'installed', file: number });
  }

  async #putWritten(task: FileTask): Promise<void> {
    const { file: number } = task;
    const file = this.#files[number]!;
    const written = this.#state.written.get(number)!;
    const temporary = temporaryPath(file, this.#options.directory);
    const isInPlace = file.target === file.path;
    const there = identityIfThere(file.target);
    if (there && sameIdentity(there, written.identity)) return;
    if (isInPlace && written.replaced === 0) removeIfThere(temporary);
    else await this.#putInPlace(task, file, temporary);
  }

  async #putInPlace(task: FileTask, file: CollectionFile, temporary: string): Promise<void> {
    try {
      this.#expectAsPlanned(task, file);
      if (file.target === file.path && this.#options.keptDirectory !== '') {
        await keepOriginal(file.path, join(this.#options.keptDirectory, file.name));
        // Checked again, because a copy to another device can take long.
        this.#expectAsPlanned(task, file);
        this.#note({ kind: 'kept', file: task.file });
      }
    } catch (error) {
      removeIfThere(temporary);
      throw error;
    }
    await install(temporary, file.target);
  }

  /**
   * Checks that nothing has changed since planning: the file, the files with its originals, and the notes of other
   * runs.
   */
  #expectAsPlanned({ file: number, plan, originalFiles }: FileTask, file: CollectionFile): void {
    this.#expectUntouched(number);
    for (const original of originalFiles) this.#expectUntouched(original);
    if (file.target !== file.path) {
      if (identityIfThere(file.target)) throw new PinakesError('FILE_EXISTS', { where: file.target });
      return;
    }
    if (this.#isOpenForWriting(file.path)) throw new PinakesError('FILE_BUSY', { where: file.path });
    if (plan === undefined) return;
    const { directory, startMs } = this.#options;
    const note = newerNoteAbout(file.path, plan, this.#state.knownNotes ?? new Set(), { directory, startMs });
    if (note !== undefined) throw new PinakesError('FILE_CHANGED', { where: note });
  }

  /** A search of all processes is slow, so one search is used for several consecutive files. */
  #isOpenForWriting(path: string): boolean {
    if (this.#looksLeft-- <= 0) {
      this.#openFiles = filesOpenForWriting();
      this.#looksLeft = FILES_PER_LOOK;
    }
    return this.#openFiles.has(path);
  }

  #expectUntouched(number: number): void {
    const file = this.#files[number];
    const known = this.#state.knownIdentity(number);
    if (!file || !known) return;
    const now = identityIfThere(file.path);
    if (!now || !sameIdentity(now, known)) throw new PinakesError('FILE_CHANGED', { where: file.path });
  }

  /**
   * Reports the failure of one file. A file that changed during the run is not tried again, because its plan is not
   * valid any more. After other failures, the user can fix the cause and resume the run.
   */
  #reportFailure(number: number, error: PinakesError): void {
    if (error.code === 'FILE_CHANGED' || error.code === 'FILE_BUSY') {
      const { path } = this.#files[number]!;
      this.#options.onFinding(slimFinding('slim-file-busy', path, 0, error.where === path ? undefined : error.where));
      this.#note({ kind: 'left', file: number });
      return;
    }
    this.failures++;
    this.#options.onFailure(error);
  }

  #note(entry: JournalEntry): void {
    this.#journal.add(entry);
    this.#state.apply(entry);
  }
}

/**
 * The path under which the new version of a file is written: beside its target, with a name that no tool takes for a
 * WARC file. The name is unique to the run. Otherwise another run over the same files, with its journal elsewhere,
 * could install a file that this run is still writing.
 */
export function temporaryPath(file: CollectionFile, runDirectory: string): string {
  const run = toHex(digestOf('sha256', utf8(resolve(runDirectory))).bytes).slice(0, 8);
  return join(dirname(file.target), `.${basename(file.target)}.${run}.slim-new`);
}
