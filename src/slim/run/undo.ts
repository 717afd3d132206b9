/**
 * `slim undo`: restores the old files that the last run kept. Every file is complete at any moment, so undo can be
 * interrupted and repeated.
 */
import { existsSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Finding, PinakesError } from '../../base/index.ts';
import { type CollectionFile, loadCollection } from '../collection.ts';
import { hasSameBytes } from '../file-comparison.ts';
import { identityIfThere, sameIdentity, sameOrCopy } from '../file-identity.ts';
import { slimFinding } from '../finding-catalogue.ts';
import { removeReferenceNotes } from '../plan/reference-notes.ts';
import { dropOriginal, removeEmptyDirectories, removeLeftovers, restoreOriginal } from '../rewrite/installation.ts';
import { replacementLogPath } from '../rewrite/rewrite.ts';
import { clearRun, WorkDirectory } from '../work-directory.ts';
import { Journal } from './journal.ts';
import { RunState } from './run-state.ts';
import { temporaryPath } from './second-pass.ts';

export type UndoOptions = {
  readonly workDirectory: string;
  /** Only reports what would be restored. */
  readonly dryRun?: boolean;
  readonly onFinding: (finding: Finding) => void;
  readonly signal?: AbortSignal | undefined;
};

export type UndoReport = { readonly restored: number; readonly left: number };

export async function slimUndo(options: UndoOptions): Promise<UndoReport> {
  const { workDirectory } = options;
  if (!existsSync(workDirectory)) throw new PinakesError('SLIM_NOT_KEPT', { where: workDirectory });
  using work = WorkDirectory.lock(workDirectory);
  const directory = lastRun(work);
  if (directory === undefined) throw new PinakesError('SLIM_NOT_KEPT', { where: workDirectory });
  const journal = new Journal(join(directory, 'journal.jsonl'));
  try {
    return await undo(directory, journal, options);
  } finally {
    journal.close();
  }
}

/** The latest run that has not been undone. */
function lastRun(work: WorkDirectory): string | undefined {
  return work.runs().findLast((directory) => {
    if (!existsSync(join(directory, 'journal.jsonl'))) return false;
    const journal = new Journal(join(directory, 'journal.jsonl'));
    journal.close();
    return (
      journal.entries.some(({ kind }) => kind === 'begin') && !journal.entries.some(({ kind }) => kind === 'undone')
    );
  });
}

async function undo(
  directory: string,
  journal: Journal,
  { dryRun = false, onFinding, signal }: UndoOptions,
): Promise<UndoReport> {
  const state = new RunState(journal);
  const { keptDirectory } = state.begin!.terms;
  if (keptDirectory === '') throw new PinakesError('SLIM_NOT_KEPT', { where: directory });
  const files = loadCollection(join(directory, 'files.jsonl'));
  let [restored, left] = [state.restored.size, 0];
  for (const number of state.kept) {
    signal?.throwIfAborted();
    const { path, name } = files[number]!;
    const kept = join(keptDirectory, name);
    if (state.restored.has(number)) {
      if (identityIfThere(kept) && !dryRun) await dropOriginal(kept);
      continue;
    }
    const { isBack, isKept, mayReplace } = stateOfFile(path, kept, state, number);
    if (!isBack && !(isKept && mayReplace)) {
      onFinding(
        slimFinding('slim-file-busy', path, 0, isKept ? 'it is not the file that the run wrote' : `${kept} is missing`),
      );
      left++;
      continue;
    }
    restored++;
    if (dryRun) continue;
    if (!isBack) await restoreOriginal(kept, path);
    journal.add({ kind: 'restored', file: number });
    if (isKept) await dropOriginal(kept);
  }
  if (left === 0 && !dryRun) finish(directory, journal, state, files);
  return { restored, left };
}

type FileState = {
  /** Whether the old file is in its place. */
  readonly isBack: boolean;
  /** Whether the old file is where it was kept. */
  readonly isKept: boolean;
  /** Whether its path is free, or has the file that the run wrote. */
  readonly mayReplace: boolean;
};

function stateOfFile(path: string, kept: string, state: RunState, number: number): FileState {
  const found = identityIfThere(kept);
  const now = identityIfThere(path);
  if (!now) return { isBack: false, isKept: found !== undefined, mayReplace: true };
  const written = state.written.get(number);
  // The file can be a copy, when a later run rewrote it and was undone from another device.
  const isOurs = written !== undefined && sameOrCopy(now, written.identity);
  const isCopy = !isOurs && found?.size === now.size && hasSameBytes(path, kept);
  return {
    isBack: isCopy || sameIdentity(now, state.scanned[number]!.identity),
    // When both names belong to the new file, the original is not kept, and restoring would remove the new file.
    isKept: found !== undefined && !(isOurs && sameIdentity(found, now)),
    mayReplace: isOurs,
  };
}

/** Removes the remaining files of the run, after every old file is restored. */
function finish(directory: string, journal: Journal, state: RunState, files: readonly CollectionFile[]): void {
  const { startMs, terms } = state.begin!;
  for (const file of files) {
    const temporary = temporaryPath(file, directory);
    for (const leftover of [temporary, replacementLogPath(temporary)]) rmSync(leftover, { force: true });
    removeLeftovers(file.path, join(terms.keptDirectory, file.name));
    removeEmptyDirectories(terms.keptDirectory, file.name);
  }
  const directories = new Set([...state.notedDirectories, ...files.map(({ target }) => dirname(target))]);
  removeReferenceNotes(directories, { directory, startMs });
  journal.add({ kind: 'undone' });
  clearRun(directory);
}
