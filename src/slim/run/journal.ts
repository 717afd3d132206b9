/**
 * What a run has done so far, one JSON text a line, each durable before the step that leans on it begins. A line that
 * was cut off by a crash is taken off when the journal is opened again: what it was going to say had no consequences
 * yet.
 */
import { closeSync, fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { fileError, PinakesError } from '../../base/index.ts';
import type { FileIdentity } from '../file-identity.ts';
import type { LineFileLengths } from '../line-files.ts';
import type { StayReason } from '../rewrite/rewrite.ts';

export const JOURNAL_VERSION = 1;

/** What was asked for; a run is resumed only with the same. */
export type RunTerms = {
  readonly mode: 'in-place' | 'to';
  readonly target: string;
  readonly keptDirectory: string;
  readonly algorithm: string;
  readonly verify: string;
  readonly minSavingBytes: number;
  /** Resolved manifests that the run works from, a line each. */
  readonly manifests: string;
};

export type ScannedFile = {
  /** Place in the list of the run's files. */
  readonly file: number;
  readonly identity: FileIdentity;
  readonly records: number;
  /** Why the file has no part in the run; empty when it has. */
  readonly aside: string;
};

export type JournalEntry =
  | {
      readonly kind: 'begin';
      readonly version: number;
      readonly terms: RunTerms;
      readonly startMs: number;
      readonly prefixDigits: number;
    }
  | { readonly kind: 'scanned'; readonly files: readonly ScannedFile[]; readonly lines: LineFileLengths }
  /** Notes of what others lean on that the plan leaves alone; see reference-notes.ts. */
  | { readonly kind: 'heeded'; readonly notes: readonly string[] }
  | { readonly kind: 'planned'; readonly source: string; readonly plan: LineFileLengths; readonly tally: PlanTally }
  /** Beside the files of these directories it is noted what the run's revisits lean on. */
  | { readonly kind: 'noted'; readonly directories: readonly string[] }
  | {
      readonly kind: 'written';
      readonly file: number;
      readonly identity: FileIdentity;
      readonly replaced: number;
      readonly payloadBytesSaved: number;
      readonly stayed: Readonly<Record<StayReason, number>>;
    }
  | { readonly kind: 'kept'; readonly file: number }
  | { readonly kind: 'installed'; readonly file: number }
  | { readonly kind: 'left'; readonly file: number }
  | { readonly kind: 'finished' }
  | { readonly kind: 'restored'; readonly file: number }
  | { readonly kind: 'undone' };

export type PlanTally = { readonly duplicates: number; readonly collisions: number; readonly unusable: number };

export class Journal {
  readonly path: string;
  readonly entries: JournalEntry[];
  readonly #descriptor: number;
  /** Of the whole lines. */
  #bytes: number;

  constructor(path: string) {
    this.path = path;
    try {
      this.#descriptor = openSync(path, 'a+');
      const bytes = readFileSync(this.#descriptor);
      const whole = bytes.lastIndexOf(0x0a) + 1;
      this.entries = parse(bytes.toString('utf8', 0, whole), path);
      this.#bytes = whole;
      if (whole < bytes.length) {
        this.#cut();
        fsyncSync(this.#descriptor);
      }
    } catch (cause) {
      throw fileError(cause, path, 'writing');
    }
  }

  add(entry: JournalEntry): void {
    this.addLazily(entry);
    try {
      fsyncSync(this.#descriptor);
    } catch (cause) {
      throw fileError(cause, this.path, 'writing');
    }
  }

  /**
   * For an entry that says nothing which the entries before it and the files do not show; it becomes durable with the
   * next one.
   */
  addLazily(entry: JournalEntry): void {
    const bytes = Buffer.from(`${JSON.stringify(entry)}\n`);
    try {
      // Half a line, of an entry that found no room, would make one with this that nobody could read.
      this.#cut();
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#descriptor, bytes, at);
    } catch (cause) {
      throw fileError(cause, this.path, 'writing');
    }
    this.#bytes += bytes.length;
    this.entries.push(entry);
  }

  #cut(): void {
    ftruncateSync(this.#descriptor, this.#bytes);
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

function parse(text: string, path: string): JournalEntry[] {
  try {
    const entries = text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as JournalEntry]));
    const [begin] = entries;
    if (begin && (begin.kind !== 'begin' || begin.version !== JOURNAL_VERSION)) throw new Error('another version');
    return entries;
  } catch (cause) {
    throw new PinakesError('SLIM_JOURNAL', { where: path, cause });
  }
}
