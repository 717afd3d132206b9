/** The progress of a run, read from its journal. */
import type { FileIdentity } from '../file-identity.ts';
import type { LineFileLengths } from '../line-files.ts';
import type { Journal, JournalEntry, PlanTally, RunTerms, ScannedFile } from './journal.ts';

export type WrittenFile = Extract<JournalEntry, { kind: 'written' }>;

export class RunState {
  begin: Extract<JournalEntry, { kind: 'begin' }> | undefined;
  /** Indexed by the number of the file; files are scanned in order. */
  readonly scanned: ScannedFile[] = [];
  lines: LineFileLengths = {};
  /** The notes that the plan respects; undefined before planning. */
  knownNotes: ReadonlySet<string> | undefined;
  /** The directories with notes about the originals of this run. */
  notedDirectories: ReadonlySet<string> = new Set();
  /** The parts of the manifest that the plan covers, with their counts. */
  readonly planned = new Map<string, PlanTally>();
  plan: LineFileLengths = {};
  readonly written = new Map<number, WrittenFile>();
  readonly kept = new Set<number>();
  readonly installed = new Set<number>();
  readonly left = new Set<number>();
  readonly restored = new Set<number>();
  isFinished = false;
  isUndone = false;

  constructor(journal: Journal) {
    for (const entry of journal.entries) this.apply(entry);
  }

  apply(entry: JournalEntry): void {
    switch (entry.kind) {
      case 'begin':
        this.begin = entry;
        break;
      case 'scanned':
        for (const file of entry.files) this.scanned.push(file);
        this.lines = entry.lines;
        break;
      case 'heeded':
        this.knownNotes = new Set(entry.notes);
        break;
      case 'noted':
        this.notedDirectories = new Set(entry.directories);
        break;
      case 'planned':
        this.planned.set(entry.source, entry.tally);
        this.plan = entry.plan;
        break;
      case 'written':
        this.written.set(entry.file, entry);
        break;
      case 'kept':
        this.kept.add(entry.file);
        break;
      case 'installed':
        this.installed.add(entry.file);
        break;
      case 'left':
        this.left.add(entry.file);
        break;
      case 'restored':
        this.restored.add(entry.file);
        break;
      case 'finished':
        this.isFinished = true;
        break;
      case 'undone':
        this.isUndone = true;
        break;
    }
  }

  /** The identity that this run expects of the file: as scanned, or as this run has rewritten it in place. */
  knownIdentity(file: number): FileIdentity | undefined {
    const written = this.written.get(file);
    if (this.begin?.terms.mode === 'in-place' && written && this.installed.has(file) && written.replaced > 0) {
      return written.identity;
    }
    return this.scanned[file]?.identity;
  }

  /** Whether the file is finished. */
  isSettled(file: number): boolean {
    return this.installed.has(file) || this.left.has(file);
  }
}

export function sameTerms(a: RunTerms, b: RunTerms): boolean {
  return (Object.keys(a) as (keyof RunTerms)[]).every((name) => a[name] === b[name]);
}
