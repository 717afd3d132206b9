/**
 * The steps that a run has done, one JSON text per line. Each line is durable before the next step that depends on it.
 * A line that was cut off by a crash is removed when the journal is opened again, since no step has depended on it yet.
 */
import { closeSync, fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { fileError, PinakesError, writingFile } from '../../base/index.ts';
import type { FileIdentity } from '../file-identity.ts';
import type { LineFileLengths } from '../line-files.ts';
import type { StayReason } from '../rewrite/rewrite.ts';

export const JOURNAL_VERSION = 1;

/** The settings of a run. A run is resumed only with the same settings. */
export type RunTerms = {
  readonly mode: 'in-place' | 'to';
  readonly target: string;
  readonly keptDirectory: string;
  readonly algorithm: string;
  readonly verify: string;
  readonly minSavingBytes: number;
  /** The resolved manifests that the run uses, one per line. */
  readonly manifests: string;
};

export type ScannedFile = {
  /** The number of the file in the list of the run. */
  readonly file: number;
  readonly identity: FileIdentity;
  readonly records: number;
  /** Why the file is excluded from the run; empty when it is included. */
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
  /** The notes of other runs that the plan respects; see reference-notes.ts. */
  | { readonly kind: 'heeded'; readonly notes: readonly string[] }
  | { readonly kind: 'planned'; readonly source: string; readonly plan: LineFileLengths; readonly tally: PlanTally }
  /** The directories with notes about the originals of this run. */
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
  /** The length of the complete lines. */
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
    writingFile(this.path, () => fsyncSync(this.#descriptor));
  }

  /**
   * Adds an entry that becomes durable with the next one. Use this only for an entry that can be derived from the
   * entries before it and from the files.
   */
  addLazily(entry: JournalEntry): void {
    const bytes = Buffer.from(`${JSON.stringify(entry)}\n`);
    writingFile(this.path, () => {
      // Removes the partial line of an entry that did not fit on the disk; this entry would be appended to it.
      this.#cut();
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#descriptor, bytes, at);
    });
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
