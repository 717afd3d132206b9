/**
 * `slim run`: a whole collection, from scan to rewritten files, resumable at any point.
 *
 * ```
 *   begin -> scanned* -> heeded -> planned* -> noted -> (written -> kept -> installed)* -> finished
 * ```
 * These are the entries of the journal.
 *
 * The order makes it safe. Nothing is rewritten before all originals are chosen and checked. An original stays in its
 * file byte for byte, even when that file is rewritten. A new file replaces the old one only after it was read back. So
 * a crash at any moment leaves every content on the disk, and the next run with the same arguments continues from the
 * journal.
 */
import { existsSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import {
  badArgument,
  type Clock,
  type DigestAlgorithm,
  type Finding,
  isCollisionProne,
  PinakesError,
} from '../../base/index.ts';
import {
  ARC_NAME,
  type CollectionFile,
  type CollectionInput,
  collectionOf,
  loadCollection,
  realPath,
  refuseInsideCollection,
  refuseOccupied,
  saveCollection,
} from '../collection.ts';
import { Database } from '../database.ts';
import { filesOpenForWriting, identityIfThere, identityOf, namesOfOneFile } from '../file-identity.ts';
import { FilePlaces } from '../file-places.ts';
import { slimFinding } from '../finding-catalogue.ts';
import { linesSource, MANIFEST_COLUMNS, RESOLVED_COLUMNS } from '../manifest/manifest-column.ts';
import { clusterFiles, ManifestLinesFile, pointerFile, prefixDigitsFor } from '../manifest/manifest-lines-file.ts';
import { manifestSource } from '../manifest/manifest-source.ts';
import { Clusters, duplicatesIn, findReferenced } from '../plan/clusters.ts';
import { distinctDuplicates, namedFiles } from '../plan/distinct-duplicates.ts';
import { NOT_CONVERTED } from '../plan/original-check.ts';
import { Plan } from '../plan/plan.ts';
import { notesBeside, notesSource, RECORD_FINGERPRINT, writeReferenceNotes } from '../plan/reference-notes.ts';
import { arcRecordId } from '../rewrite/arc-rewrite.ts';
import { SlimPool } from '../slim-pool.ts';
import { clearRun, WorkDirectory } from '../work-directory.ts';
import { firstPass } from './first-pass.ts';
import { JOURNAL_VERSION, Journal, type RunTerms, type ScannedFile } from './journal.ts';
import { RunState, sameTerms } from './run-state.ts';
import { type RunSummary, summaryOf } from './run-summary.ts';
import { SecondPass } from './second-pass.ts';

export type Verify = 'bytes' | 'digest';

export type SlimPhase = 'scan' | 'resolve' | 'rewrite' | 'compare' | 'copy';

export type SlimCallbacks = {
  readonly onFinding: (finding: Finding) => void;
  /** Called when a file could not be read or written; the run goes on with the others. */
  readonly onFailure: (error: PinakesError) => void;
  readonly onProgress?: ((phase: SlimPhase, bytes: number, note: string) => void) | undefined;
};

export type SlimRunOptions = SlimCallbacks & {
  readonly inputs: readonly CollectionInput[];
  /** The directory for the slimmed collection; undefined to rewrite the files in place. */
  readonly target?: string | undefined;
  /** The directory for the old files, when rewriting in place. */
  readonly keptDirectory?: string | undefined;
  readonly workDirectory: string;
  readonly algorithm: DigestAlgorithm;
  readonly verify: Verify;
  readonly minSavingBytes: number;
  readonly workers: number;
  readonly clock: Clock;
  readonly software: string;
  /** Resolved manifests to work from, instead of scanning and resolving. */
  readonly resolved?: ResolvedInput | undefined;
  /** Only reports what would be done. */
  readonly dryRun?: boolean | undefined;
  /** How many leading bytes of digests are compared; for tests that make digests collide. */
  readonly digestBytes?: number | undefined;
  /** How many bytes are scanned between two checkpoints. A killed run repeats at most this much, and its last file. */
  readonly checkpointBytes?: number | undefined;
  /**
   * How many digits of the digest choose the part in which a record is resolved; derived from the size of the
   * collection when undefined.
   */
  readonly prefixDigits?: number | undefined;
  readonly signal?: AbortSignal | undefined;
};

export type ResolvedInput = {
  readonly manifests: readonly string[];
  /** Whether to trust the manifests about originals that are on another machine. */
  readonly trustOriginals: boolean;
};

const CHECKPOINT_BYTES = 256 * 1024 * 1024;

export async function slimRun(options: SlimRunOptions): Promise<RunSummary> {
  if (options.verify === 'digest' && isCollisionProne(options.algorithm)) {
    throw badArgument('--verify digest', `${options.algorithm} has known collisions; use --verify bytes`);
  }
  using work = WorkDirectory.lock(options.workDirectory);
  using run = openRun(work, options);
  return await run.run();
}

function termsOf(options: SlimRunOptions): RunTerms {
  return {
    mode: options.target === undefined ? 'in-place' : 'to',
    target: options.target === undefined ? '' : resolve(options.target),
    keptDirectory: options.keptDirectory === undefined ? '' : resolve(options.keptDirectory),
    algorithm: options.algorithm,
    verify: options.verify,
    minSavingBytes: options.minSavingBytes,
    manifests: options.resolved?.manifests.map((path) => resolve(path)).join('\n') ?? '',
  };
}

/** Opens the unfinished run with the same terms, or starts a new one. */
function openRun(work: WorkDirectory, options: SlimRunOptions): Run {
  const terms = termsOf(options);
  const last = options.dryRun ? undefined : work.runs().at(-1);
  if (last !== undefined && existsSync(join(last, 'journal.jsonl'))) {
    const journal = new Journal(join(last, 'journal.jsonl'));
    const state = new RunState(journal);
    if (state.begin && !state.isFinished && !state.isUndone) {
      try {
        if (!sameTerms(state.begin.terms, terms)) throw new PinakesError('SLIM_UNFINISHED', { where: last });
        const files = loadCollection(join(last, 'files.jsonl'));
        expectSameFiles(files, state, last, options);
        return new Run(last, files, journal, state, options);
      } catch (error) {
        journal.close();
        throw error;
      }
    }
    journal.close();
    // The run was killed before its first entry, so its directory has nothing of use.
    if (!state.begin) rmSync(last, { recursive: true });
  }
  const files = collectionOf(options.inputs, options.target);
  if (options.target !== undefined) refuseInsideCollection(options.target, options.inputs, '--to');
  if (options.keptDirectory !== undefined) {
    refuseInsideCollection(options.keptDirectory, options.inputs, '--keep-originals');
    refuseOccupied(options.keptDirectory, files);
  }
  const directory = options.dryRun ? work.temporaryRun() : work.newRun();
  saveCollection(join(directory, 'files.jsonl'), files);
  const journal = new Journal(join(directory, 'journal.jsonl'));
  return new Run(directory, files, journal, new RunState(journal), options);
}

/**
 * Checks the files of a resumed run. It does not rewrite files that are not named this time, so it refuses to continue
 * without them. Files that were not part of the run when it started are reported and left for the next run.
 */
function expectSameFiles(
  files: readonly CollectionFile[],
  state: RunState,
  directory: string,
  { inputs, onFinding }: SlimRunOptions,
): void {
  const named = new Set(inputs.map(({ path }) => realPath(path)));
  for (const [number, { path }] of files.entries()) {
    if (named.delete(path) || state.isSettled(number) || !existsSync(path)) continue;
    throw new PinakesError('SLIM_UNFINISHED', {
      where: directory,
      detail: `${path} is part of it; name this file too`,
    });
  }
  for (const path of named) onFinding(slimFinding('slim-file-later', path, 0));
}

class Run {
  readonly #directory: string;
  readonly #files: readonly CollectionFile[];
  readonly #journal: Journal;
  readonly #state: RunState;
  readonly #options: SlimRunOptions;
  readonly #pool: SlimPool;

  constructor(
    directory: string,
    files: readonly CollectionFile[],
    journal: Journal,
    state: RunState,
    options: SlimRunOptions,
  ) {
    this.#directory = directory;
    this.#files = files;
    this.#journal = journal;
    this.#state = state;
    this.#options = options;
    this.#pool = new SlimPool(options.workers);
  }

  [Symbol.dispose](): void {
    this.#journal.close();
  }

  async run(): Promise<RunSummary> {
    try {
      if (!this.#state.begin) this.#begin();
      await this.#scan();
      const plan = await this.#plan();
      if (!this.#options.dryRun) {
        const run = { directory: this.#directory, startMs: this.#state.begin!.startMs };
        const originals = plan.originals(this.#files);
        const directories = await writeReferenceNotes(originals, this.#files, run, this.#options.onFinding);
        this.#record({ kind: 'noted', directories });
      }
      const failures = await this.#rewrite(plan);
      const summary = summaryOf(this.#files, this.#state);
      if (!this.#options.dryRun && failures === 0) this.#record({ kind: 'finished' });
      return summary;
    } finally {
      await this.#pool.close();
      if (this.#options.dryRun) rmSync(this.#directory, { recursive: true, force: true });
      else if (this.#state.isFinished) clearRun(this.#directory);
    }
  }

  #record(entry: Parameters<Journal['add']>[0]): void {
    this.#journal.add(entry);
    this.#state.apply(entry);
  }

  #begin(): void {
    const bytes = this.#files.reduce((sum, file) => sum + sizeOf(file), 0);
    this.#record({
      kind: 'begin',
      version: JOURNAL_VERSION,
      terms: termsOf(this.#options),
      startMs: this.#options.clock(),
      prefixDigits: this.#options.prefixDigits ?? prefixDigitsFor(bytes),
    });
  }

  async #scan(): Promise<void> {
    const from = this.#state.scanned.length;
    if (from === this.#files.length && from > 0) return;
    if (this.#options.resolved) {
      await this.#recordIdentities();
      return;
    }
    const lines = new ManifestLinesFile(this.#directory, this.#state.begin!.prefixDigits, this.#state.lines);
    const asideOf = this.#exclusionCheck();
    const paths = this.#files.slice(from).map((file) => file.path);
    let pending: ScannedFile[] = [];
    let pendingBytes = 0;
    const checkpoint = () => {
      this.#record({ kind: 'scanned', files: pending, lines: lines.checkpoint() });
      pending = [];
      pendingBytes = 0;
    };
    await firstPass(
      paths,
      {
        add: (line, digestHex) => lines.add(line, digestHex),
        onFile: (index, scanned, bytes) => {
          pending.push({ file: from + index, ...scanned, aside: scanned.aside || asideOf(paths[index]!) });
          pendingBytes += bytes;
          if (pendingBytes >= (this.#options.checkpointBytes ?? CHECKPOINT_BYTES)) checkpoint();
        },
      },
      {
        ...this.#options,
        keepEmpty: true,
        withArc: this.#options.target !== undefined,
        onProgress: (bytes, file) => this.#options.onProgress?.('scan', bytes, file),
      },
    );
    checkpoint();
  }

  /** Without a scan, only the identities of the files are recorded; every record is read and hashed when it is used. */
  async #recordIdentities(): Promise<void> {
    const asideOf = this.#exclusionCheck();
    const faulty = await this.#unconvertibleArcs();
    const files = this.#files.map(({ path, isArc }, file): ScannedFile => {
      const reason = isArc && this.#options.target === undefined ? 'arc' : (faulty.get(path) ?? '');
      return { file, identity: identityOf(path), records: 0, aside: asideOf(path) || reason };
    });
    this.#record({ kind: 'scanned', files, lines: {} });
  }

  /**
   * The ARC files that cannot be converted, with the reason: converting a damaged file would lose its unreadable parts.
   */
  async #unconvertibleArcs(): Promise<Map<string, string>> {
    const faulty = new Map<string, string>();
    if (this.#options.target === undefined) return faulty;
    const paths = this.#files.filter(({ isArc }) => isArc).map(({ path }) => path);
    const onFile = (index: number, { aside }: { aside: string }) => {
      if (aside !== '') faulty.set(paths[index]!, aside);
    };
    const { algorithm, workers, onFinding, onFailure, signal } = this.#options;
    const how = { algorithm, workers, withArc: true, brief: true, onFinding, onFailure, signal };
    await firstPass(paths, { add: () => {}, onFile }, how);
    return faulty;
  }

  /**
   * Returns a check that reports a file as excluded when it is being written to, or when it has several names and would
   * be rewritten in place. Rewriting such a file would split it into two files. Where one disk is mounted twice, it
   * would even replace an original by a revisit to itself.
   */
  #exclusionCheck(): (path: string) => '' | 'busy' | 'linked' {
    const openFiles = filesOpenForWriting();
    const linked = namesOfOneFile(this.#options.target === undefined ? this.#files.map(({ path }) => path) : []);
    return (path) => {
      const aside = openFiles.has(path) || path.endsWith('.open') ? 'busy' : linked.has(path) ? 'linked' : '';
      if (aside !== '') this.#options.onFinding(slimFinding(`slim-file-${aside}`, path, 0));
      return aside;
    };
  }

  async #plan(): Promise<Plan> {
    const plan = new Plan(this.#directory, this.#files.length, this.#state.plan);
    using database = await Database.open(join(this.#directory, 'spill'), this.#options.signal);
    if (this.#options.resolved) await this.#planFromManifests(database, plan, this.#options.resolved);
    else await this.#planParts(database, plan);
    return plan;
  }

  async #planParts(database: Database, plan: Plan): Promise<void> {
    const sources = clusterFiles(this.#directory).filter((path) => !this.#state.planned.has(path));
    if (sources.length === 0) return;
    const clusters = new Clusters(database);
    await clusters.prepare();
    await clusters.excludeFiles(
      this.#state.scanned.filter(({ aside }) => aside !== '').map(({ file }) => this.#files[file]!.path),
    );
    const everything = linesSource(clusterFiles(this.#directory), MANIFEST_COLUMNS);
    await clusters.findAmbiguous(everything, join(this.#directory, 'keys.parquet'));
    const pointers = pointerFile(this.#directory);
    if (pointers) {
      await findReferenced(database, everything, linesSource([pointers], MANIFEST_COLUMNS));
    }
    const noted = this.#notedRecords();
    if (noted !== undefined) await clusters.findNoted(everything, noted);
    const numbers = new Map(this.#files.map((file, number) => [file.path, number]));
    for (const [index, source] of sources.entries()) {
      this.#options.signal?.throwIfAborted();
      this.#options.onProgress?.('resolve', index, source);
      await clusters.selectPart(linesSource([source], MANIFEST_COLUMNS));
      const { onFinding, verify, digestBytes } = this.#options;
      const collisions = verify === 'bytes' ? await clusters.compare(this.#pool, onFinding) : 0;
      const found = await plan.add(clusters.duplicates(), {
        pool: this.#pool,
        numberOf: (file) => numbers.get(file),
        pathOf: (file) => file,
        originalId: (file, offset) => this.#arcId(numbers.get(file)!, offset),
        digestBytes,
        onFinding,
      });
      this.#record({ kind: 'planned', source, plan: plan.checkpoint(), tally: { ...found, collisions } });
    }
  }

  async #planFromManifests(database: Database, plan: Plan, resolved: ResolvedInput): Promise<void> {
    if (this.#state.planned.has('manifests')) return;
    const source = await manifestSource(database, resolved.manifests, this.#directory, RESOLVED_COLUMNS);
    const noted = this.#notedRecords();
    const unnoted =
      noted === undefined
        ? source.sql
        : `(SELECT m.* FROM ${source.sql} AS m ANTI JOIN ${noted} AS l ON l.fingerprint = ${RECORD_FINGERPRINT})`;
    const named = await namedFiles(database, source.sql);
    const places = new FilePlaces(this.#files, resolved.trustOriginals ? named : []);
    const numberOf = (file: string) => {
      const number = places.numberOf(file);
      return number !== undefined && this.#state.scanned[number]!.aside === '' ? number : undefined;
    };
    const fingerprintOf = (file: string) => places.fingerprintOf(file);
    const distinct = await distinctDuplicates(database, unnoted, named, { fingerprintOf, numberOf });
    await plan.add(duplicatesIn(database, distinct), {
      pool: this.#pool,
      numberOf,
      pathOf: (file) => places.pathOf(file),
      refusalOf: (file) => this.#refusalOf(file, places, resolved.trustOriginals),
      originalId: (file, offset) => {
        const number = places.numberOf(file);
        return number === undefined ? undefined : this.#arcId(number, offset);
      },
      digestBytes: this.#options.digestBytes,
      trustOriginals: resolved.trustOriginals,
      onFinding: this.#options.onFinding,
    });
    const lengths = plan.checkpoint();
    // Several lines may name the same record.
    const duplicates = await database.count(`(SELECT DISTINCT file_number, record_offset FROM ${distinct})`);
    const unusable = duplicates - (await plan.count(database));
    this.#record({
      kind: 'planned',
      source: 'manifests',
      plan: lengths,
      tally: { duplicates, unusable, collisions: 0 },
    });
  }

  /**
   * Why revisits may not refer to the records of a file that the manifests name; undefined when they may. With trusted
   * manifests and a target, ARC files on other machines are assumed to be converted too.
   */
  #refusalOf(file: string, places: FilePlaces, isTrusting: boolean): string | undefined {
    const number = places.numberOf(file);
    if (number !== undefined) {
      return this.#state.scanned[number]!.aside === '' ? undefined : 'its file is excluded from the run';
    }
    const isElsewhere = isTrusting && !existsSync(places.pathOf(file));
    return ARC_NAME.test(file) && !(isElsewhere && this.#options.target !== undefined) ? NOT_CONVERTED : undefined;
  }

  /** The SQL source of the records that files elsewhere refer to, by the notes; undefined without notes. */
  #notedRecords(): string | undefined {
    const notes = notesBeside(this.#files);
    if (!this.#state.knownNotes) this.#record({ kind: 'heeded', notes });
    return notesSource(notes);
  }

  #arcId(number: number, offset: number): string | undefined {
    const file = this.#files[number]!;
    return file.isArc ? arcRecordId(file.name, offset) : undefined;
  }

  /** The files with the targets they are written to: an excluded ARC file is copied unconverted and keeps its name. */
  #filesAsWritten(): CollectionFile[] {
    const { mode, target } = this.#state.begin!.terms;
    return this.#files.map((file, number) => {
      const isKept = mode === 'to' && file.isArc && this.#state.scanned[number]!.aside !== '';
      return isKept ? { ...file, target: join(target, file.name) } : file;
    });
  }

  async #rewrite(plan: Plan): Promise<number> {
    const { keptDirectory, software, digestBytes, dryRun, onFinding, onFailure, signal } = this.#options;
    const { startMs, terms } = this.#state.begin!;
    const pass = new SecondPass(this.#filesAsWritten(), this.#state, this.#journal, {
      pool: this.#pool,
      directory: this.#directory,
      software,
      startMs,
      minSavingBytes: terms.minSavingBytes,
      keptDirectory: keptDirectory === undefined ? '' : terms.keptDirectory,
      mustRehash: this.#options.resolved !== undefined,
      dryRun,
      digestBytes,
      onFinding,
      onFailure,
      onProgress: (bytes, file) => this.#options.onProgress?.('rewrite', bytes, file),
      signal,
    });
    await pass.run(plan);
    return pass.failures;
  }
}

function sizeOf(file: CollectionFile): number {
  return identityIfThere(file.path)?.size ?? 0;
}
