/**
 * `slim sync`: brings a second copy of a collection in step with the slimmed one.
 *
 * Nothing is written before both sides are proven to have the same captures, and every file to be the slimmed version
 * of its second copy. Then the files are replaced one by one: written aside, synced, read back and compared, renamed.
 *
 * The second copy is complete at every moment. An original is a record of both versions of its file, so a revisit finds
 * it whichever of them is there. Converted ARC files come first, and the ARC files are removed last. A sync that was
 * interrupted needs no journal: a file that is already equal has nothing left to do.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { badArgument, PinakesError, readingFile, syncDirectory, writingFile } from '../../base/index.ts';
import { type CollectionFile, type CollectionInput, collectionOf, realPath } from '../collection.ts';
import { Database } from '../database.ts';
import { type FileIdentity, filesOpenForWriting, identityIfThere, identityOf, sameIdentity } from '../file-identity.ts';
import { slimFinding } from '../finding-catalogue.ts';
import { notesBeside, writeReferenceNotes } from '../plan/reference-notes.ts';
import { dropOriginal, install, removeIfThere, writeComparedCopy } from '../rewrite/installation.ts';
import { WORK_DIRECTORY, WorkDirectory } from '../work-directory.ts';
import { type Difference, slimCompare } from './compare.ts';
import { type CopyPair, isSameFile, type Pairing, pairFiles } from './copy-pairs.ts';
import { pairLines, ReplacedRecords } from './replaced-records.ts';
import type { SlimCallbacks } from './run.ts';
import { slimSum } from './sum.ts';

export type SyncOptions = SlimCallbacks & {
  /** The directory of the slimmed collection, and of its second copy. */
  readonly slimmed: string;
  readonly second: string;
  readonly slimmedInputs: readonly CollectionInput[];
  readonly secondInputs: readonly CollectionInput[];
  /** The directory for the manifests and the lock. */
  readonly workDirectory: string;
  readonly workers: number;
  /** Called for each capture that only one side has: `missing` in the slimmed collection, or `added` there. */
  readonly onDifference: (difference: Difference) => Promise<void>;
  /** Only reports what would be done. */
  readonly dryRun?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
};

export type SyncReport = {
  /** The files of the slimmed collection. */
  readonly files: number;
  /** Files that are equal on both sides already. */
  readonly filesEqual: number;
  readonly filesReplaced: number;
  /** Files that differ in more than revisits, or that only one side has. When there is one, nothing is changed. */
  readonly filesDiffering: number;
  /** Files that were changed or written to meanwhile, which stay as they are. */
  readonly filesLeft: number;
  /** Captures that the slimmed collection lacks, and captures that the second copy lacks. */
  readonly missing: number;
  readonly added: number;
  /** The sizes of the replaced files in the second copy, and of the files that replaced them. */
  readonly bytesBefore: number;
  readonly bytesAfter: number;
};

export async function slimSync(options: SyncOptions): Promise<SyncReport> {
  refuseNested(options);
  for (const root of [options.slimmed, options.second]) refuseUnfinished(root);
  using work = WorkDirectory.lock(options.workDirectory);
  const directory = work.temporaryRun();
  try {
    return await new Sync(directory, options).run();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function refuseNested({ slimmed, second }: SyncOptions): void {
  for (const [above, below] of [
    [slimmed, second],
    [second, slimmed],
  ] as const) {
    if (relative(realPath(above), realPath(below)).split(sep)[0] === '..') continue;
    throw badArgument(second, `the second copy must be outside of the slimmed collection, ${slimmed}, and beside it`);
  }
}

/** A run that is not finished would change the files again. */
function refuseUnfinished(root: string): void {
  const place = join(root, WORK_DIRECTORY);
  if (!existsSync(place)) return;
  for (const name of readingFile(place, () => readdirSync(place)).filter((entry) => /^run-\d+$/.test(entry))) {
    const journal = join(place, name, 'journal.jsonl');
    const text = existsSync(journal) ? readingFile(journal, () => readFileSync(journal, 'utf8')) : '';
    if (text === '' || text.includes('\n{"kind":"finished"}\n') || text.includes('\n{"kind":"undone"}\n')) continue;
    const detail = 'finish it with the command that began it, or undo it, before the second copy is brought in step';
    throw new PinakesError('SLIM_UNFINISHED', { where: join(place, name), detail });
  }
}

class Sync {
  readonly #directory: string;
  readonly #options: SyncOptions;
  readonly #slimmed: readonly CollectionFile[];
  readonly #second: readonly CollectionFile[];
  readonly #pairing: Pairing;
  /** The files as they were before they were read. */
  readonly #identities = new Map<string, FileIdentity>();
  #isFailed = false;
  #filesReplaced = 0;
  #filesLeft = 0;
  #bytesBefore = 0;
  #bytesAfter = 0;

  constructor(directory: string, options: SyncOptions) {
    this.#directory = directory;
    this.#options = options;
    this.#slimmed = collectionOf(options.slimmedInputs, undefined);
    this.#second = collectionOf(options.secondInputs, undefined);
    for (const { path } of [...this.#slimmed, ...this.#second]) this.#identities.set(path, identityOf(path));
    this.#pairing = pairFiles(this.#slimmed, this.#second);
  }

  async run(): Promise<SyncReport> {
    const manifests = { slimmed: join(this.#directory, 'slimmed'), second: join(this.#directory, 'second') };
    await this.#sumBoth(manifests);
    const nothing = { filesEqual: 0, filesDiffering: 0, missing: 0, added: 0 };
    if (this.#isFailed) return this.#report(nothing);
    const { missing, added } = await slimCompare({
      before: [manifests.second],
      after: [manifests.slimmed],
      directory: join(this.#directory, 'compare'),
      onDifference: this.#options.onDifference,
      signal: this.#options.signal,
    });
    const { changed, filesDiffering } = await this.#comparePairs(manifests);
    const filesEqual = this.#pairing.pairs.length - changed.length - (filesDiffering - this.#unpairedCount());
    if (missing === 0 && added === 0 && filesDiffering === 0) await this.#copyAll(changed);
    return this.#report({ filesEqual, filesDiffering, missing, added });
  }

  #report(found: Pick<SyncReport, 'filesEqual' | 'filesDiffering' | 'missing' | 'added'>): SyncReport {
    return {
      files: this.#slimmed.length,
      filesReplaced: this.#filesReplaced,
      filesLeft: this.#filesLeft,
      ...found,
      bytesBefore: this.#bytesBefore,
      bytesAfter: this.#bytesAfter,
    };
  }

  #unpairedCount(): number {
    return this.#pairing.onlySlimmed.length + this.#pairing.onlySecond.length;
  }

  async #sumBoth(manifests: { readonly slimmed: string; readonly second: string }): Promise<void> {
    const { pairs, onlySecond } = this.#pairing;
    const slimmed = this.#slimmed.map(({ path }) => path);
    const second = [...pairs.map((pair) => pair.second), ...onlySecond];
    let bytesBefore = 0;
    for (const [files, out] of [
      [slimmed, manifests.slimmed],
      [second, manifests.second],
    ] as const) {
      await slimSum({
        files,
        out,
        format: 'parquet',
        algorithm: 'sha256',
        trustHeaders: false,
        keepEmpty: true,
        workers: this.#options.workers,
        signal: this.#options.signal,
        onFinding: this.#options.onFinding,
        onFailure: (error) => this.#fail(error),
        onProgress: (_, bytes, file) => this.#options.onProgress?.('scan', bytesBefore + bytes, file),
      });
      bytesBefore += files.reduce((sum, path) => sum + this.#sizeOf(path), 0);
    }
  }

  /** Returns the pairs whose files differ in revisits only, and reports the files that differ in more. */
  async #comparePairs(manifests: {
    readonly slimmed: string;
    readonly second: string;
  }): Promise<{ changed: readonly CopyPair[]; filesDiffering: number }> {
    const { pairs, onlySlimmed, onlySecond } = this.#pairing;
    for (const path of onlySlimmed) this.#reportDiffering(path, 0, 'the second copy does not have it');
    for (const path of onlySecond) this.#reportDiffering(path, 0, 'the slimmed collection does not have it');
    let filesDiffering = this.#unpairedCount();
    const changed: CopyPair[] = [];
    const pairsPath = join(this.#directory, 'pairs.tsv');
    writingFile(pairsPath, () => writeFileSync(pairsPath, pairLines(pairs)));
    using database = await Database.open(join(this.#directory, 'pairs'), this.#options.signal);
    const replaced = new ReplacedRecords(database, manifests.slimmed, manifests.second, pairsPath);
    let bytes = 0;
    for (const [number, pair] of pairs.entries()) {
      this.#options.signal?.throwIfAborted();
      bytes += this.#sizeOf(pair.slimmed) + this.#sizeOf(pair.second);
      this.#options.onProgress?.('compare', bytes, pair.second);
      const isConverted = pair.target !== pair.second;
      if (!isConverted && isSameFile(pair.slimmed, pair.second)) continue;
      // Of a converted file every byte is new; its captures are compared by the manifests.
      const offset = isConverted ? undefined : await replaced.differsAt(number, pair);
      if (offset === undefined) changed.push(pair);
      else {
        filesDiffering++;
        this.#reportDiffering(pair.slimmed, offset);
      }
    }
    await replaced.close();
    return { changed, filesDiffering };
  }

  #reportDiffering(path: string, offset: number, detail?: string): void {
    this.#options.onFinding(slimFinding('slim-copy-differs', path, offset, detail));
  }

  async #copyAll(changed: readonly CopyPair[]): Promise<void> {
    if (changed.length === 0) return;
    // Of all files: the originals can be in files that did not change.
    const moves = this.#pairing.pairs.map(({ slimmed, target }): CollectionFile => {
      return { path: slimmed, target, name: basename(target), isArc: false };
    });
    // Read even in a dry run, so that damaged notes are refused by it too.
    notesBeside(moves);
    if (!this.#options.dryRun) {
      // Before the first revisit is there, so that no later run replaces an original.
      const run = { directory: this.#directory, startMs: 0 };
      await writeReferenceNotes(noRecords(), moves, run, this.#options.onFinding);
    }
    let bytes = 0;
    for (const pair of changed) {
      this.#options.signal?.throwIfAborted();
      await this.#copyOrLeave(pair);
      bytes += this.#sizeOf(pair.slimmed) + this.#sizeOf(pair.second);
      this.#options.onProgress?.('copy', bytes, pair.target);
    }
    if (this.#options.dryRun || this.#isFailed || this.#filesLeft > 0) return;
    for (const { second, target } of changed) if (target !== second) await this.#removeConverted(second);
  }

  /** A file that cannot be replaced does not stop the others. */
  async #copyOrLeave(pair: CopyPair): Promise<void> {
    const before = this.#sizeOf(pair.second);
    const after = this.#sizeOf(pair.slimmed);
    try {
      await this.#copy(pair);
      this.#filesReplaced++;
      this.#bytesBefore += before;
      this.#bytesAfter += after;
    } catch (error) {
      if (!(error instanceof PinakesError)) throw error;
      if (error.code === 'FILE_CHANGED' || error.code === 'FILE_BUSY') this.#leave(error.where ?? pair.second);
      else this.#fail(error);
    }
  }

  async #copy({ slimmed, second, target }: CopyPair): Promise<void> {
    this.#expectUntouched(slimmed, second);
    if (this.#options.dryRun) return;
    const isConverted = target !== second;
    if (isConverted && identityIfThere(target)) {
      // An interrupted sync put it there. The pairing has compared it, and its directory may not be durable yet.
      if (!isSameFile(slimmed, target)) throw new PinakesError('FILE_CHANGED', { where: target });
      await syncDirectory(dirname(target));
      return;
    }
    const temporary = join(dirname(target), `.${basename(target)}.sync.slim-new`);
    try {
      writingFile(temporary, () => writeComparedCopy(slimmed, temporary, second));
      // Checked again, because a copy can take long.
      this.#expectUntouched(slimmed, second);
      if (isConverted && identityIfThere(target)) throw new PinakesError('FILE_CHANGED', { where: target });
      await install(temporary, target);
    } catch (error) {
      removeIfThere(temporary);
      throw error;
    }
  }

  #expectUntouched(...paths: readonly string[]): void {
    const openFiles = filesOpenForWriting();
    for (const path of paths) {
      const now = identityIfThere(path);
      if (!now || !sameIdentity(now, this.#identities.get(path)!)) {
        throw new PinakesError('FILE_CHANGED', { where: path });
      }
      if (openFiles.has(path)) throw new PinakesError('FILE_BUSY', { where: path });
    }
  }

  /** Removes an ARC file, after all slimmed files are in their places. */
  async #removeConverted(path: string): Promise<void> {
    const now = identityIfThere(path);
    if (now && sameIdentity(now, this.#identities.get(path)!)) await dropOriginal(path);
    else if (now) this.#leave(path);
  }

  #leave(path: string): void {
    this.#filesLeft++;
    this.#options.onFinding(slimFinding('slim-file-busy', path, 0));
  }

  #fail(error: PinakesError): void {
    this.#isFailed = true;
    this.#options.onFailure(error);
  }

  #sizeOf(path: string): number {
    return this.#identities.get(path)?.size ?? 0;
  }
}

async function* noRecords(): AsyncGenerator<never> {}
