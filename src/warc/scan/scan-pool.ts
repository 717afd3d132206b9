/**
 * Scans files on several threads and returns the facts in order: file by file, record by record.
 *
 * Files are cut into ranges of RANGE_BYTES. A thread that begins in the middle of a file searches for the next record.
 * A record inside a record (an archived `.warc.gz` that did not compress further) can mislead this search. Therefore
 * every border between ranges is checked. The scan of a range reads record by record up to the place where the next
 * range must begin. When the next range began elsewhere, it is scanned again from that place.
 *
 * A range is passed in pieces of bounded size, and a thread waits while some of its pieces have not been taken. So
 * memory is bounded, whatever the files contain (I9).
 */
import { statSync } from 'node:fs';
import { type DigestAlgorithm, fileError, PinakesError, ThreadDied, ThreadPool } from '../../base/index.ts';
import type { Coding } from '../member/file-coding.ts';
import { readFileStart } from '../read/file-start.ts';
import type { ScanJob, ScanPiece } from './scan.ts';
import { ScanBatch } from './scan-batch.ts';
import { LocalPieces, type RangePieces, type ScanThreads, ThreadPieces } from './scan-pieces.ts';

const RANGE_BYTES = 4 * 1024 * 1024;

export type ScanOptions = {
  /** Number of threads; 0 scans on the caller's thread. */
  readonly workers?: number;
  readonly algorithm?: DigestAlgorithm;
  /** Further head fields to return, in lower case. */
  readonly fields?: readonly string[];
  /** Fields of responses to return, all in one text; see `ScanBatch.responseFields`. Names in lower case. */
  readonly responseFields?: readonly string[];
  /** Whether to return the HTTP heads of records. */
  readonly httpHeads?: boolean;
  /** Whether to report wrong digests that records declare in the algorithm with which payloads are hashed. */
  readonly judgesDigests?: boolean;
  readonly rangeBytes?: number;
  readonly signal?: AbortSignal | undefined;
  /** The script of the threads. */
  readonly script?: URL;
};

/**
 * In order: the facts of a range or of a part of a range, the end of a file, or a file that could not be read. A file
 * is empty when it has neither records nor findings.
 */
export type ScanItem =
  | { readonly kind: 'batch'; readonly batch: ScanBatch; readonly bytes: number }
  | { readonly kind: 'file-end'; readonly file: string; readonly records: number; readonly isEmpty: boolean }
  | { readonly kind: 'file-failed'; readonly file: string; readonly error: PinakesError };

/** Scans the files in order. A file that cannot be read does not affect the others. */
export async function* scanFiles(files: readonly string[], options: ScanOptions = {}): AsyncGenerator<ScanItem> {
  const pool = new ScanPool(options.workers ?? 0, options.script ?? new URL('./scan-worker.ts', import.meta.url));
  try {
    yield* inOrder(pool, files, options);
  } finally {
    await pool.close();
  }
}

type FileScan = { readonly file: string; readonly jobs: ScanJob[]; readonly failure?: PinakesError };

function planFile(file: string, options: ScanOptions): FileScan {
  try {
    const { size } = statSync(file);
    const { coding, dictionary } = readFileStart(file);
    const rangeBytes = options.rangeBytes ?? RANGE_BYTES;
    const jobs: ScanJob[] = [];
    for (let from = 0; from < size || from === 0; from += rangeBytes) {
      const to = from + rangeBytes >= size ? Number.POSITIVE_INFINITY : from + rangeBytes;
      const { algorithm = 'sha256', fields = [], responseFields = [] } = options;
      const { httpHeads = false, judgesDigests = false } = options;
      const wants = { algorithm, fields, responseFields, httpHeads, judgesDigests };
      const inputBytes = size - from;
      jobs.push({ path: file, ...wants, coding, dictionary, from, to, inputBytes, isExact: from === 0 });
    }
    return { file, jobs };
  } catch (cause) {
    const error = fileError(cause, file);
    if (!(error instanceof PinakesError)) throw error;
    return { file, jobs: [], failure: error };
  }
}

async function* inOrder(pool: ScanPool, files: readonly string[], options: ScanOptions): AsyncGenerator<ScanItem> {
  type Ahead = { readonly plan: FileScan; readonly job: ScanJob | undefined; readonly pieces: RangePieces | undefined };
  const ahead: Ahead[] = [];
  const source = jobsOf(files, options);
  const fill = () => {
    while (ahead.length < pool.ahead) {
      const next = source.next();
      if (next.done) return;
      const { plan, job } = next.value;
      ahead.push({ plan, job, pieces: job && pool.scan(job) });
    }
  };
  let mustBegin: RangeStart = { at: 0, coding: undefined };
  let records = 0;
  let findings = 0;
  let failed = false;
  for (;;) {
    options.signal?.throwIfAborted();
    fill();
    const current = ahead.shift();
    if (!current) return;
    const { plan, job } = current;
    const isFirst = job === undefined || job === plan.jobs[0];
    const isLast = job === undefined || job === plan.jobs.at(-1);
    if (isFirst) {
      mustBegin = { at: 0, coding: undefined };
      records = 0;
      findings = 0;
      failed = false;
    }
    if (failed) {
      current.pieces?.abandon();
      continue;
    }
    try {
      if (plan.failure) throw plan.failure;
      for await (const piece of piecesInOrder(pool, job!, current.pieces!, mustBegin)) {
        const bytes = piece.reached - mustBegin.at;
        mustBegin = rangeStartAfter(piece);
        records += piece.columns.count;
        findings += piece.columns.findings.length;
        yield { kind: 'batch', batch: new ScanBatch(plan.file, piece.columns), bytes };
        options.signal?.throwIfAborted();
      }
      if (isLast) yield { kind: 'file-end', file: plan.file, records, isEmpty: records + findings === 0 };
    } catch (error) {
      if (!(error instanceof PinakesError)) throw error;
      failed = true;
      current.pieces?.abandon();
      yield { kind: 'file-failed', file: plan.file, error };
    }
  }
}

/** Where a range must begin, and in which coding, as found by the scan of the range before it. */
type RangeStart = { readonly at: number; readonly coding: Coding | undefined };

function rangeStartAfter({ reached: at, coding }: ScanPiece): RangeStart {
  return { at, coding };
}

/**
 * The pieces of a range from where it must begin; none when a record of an earlier range covers the whole range. A
 * range that began in the wrong place is scanned again. When a thread dies, the rest of its range is scanned again too,
 * because another range of the same thread may be the cause. When the second thread also dies, the file is too large to
 * scan.
 */
async function* piecesInOrder(
  pool: ScanPool,
  job: ScanJob,
  first: RangePieces,
  mustBegin: RangeStart,
): AsyncGenerator<ScanPiece> {
  let pieces: RangePieces | undefined = first;
  let start = mustBegin;
  const again = () =>
    start.at >= job.to
      ? undefined
      : pool.scanAgain({ ...job, from: start.at, fromCoding: start.coding, isExact: true });
  for (let deaths = 0; ; ) {
    try {
      if (pieces === first && !job.isExact && (await first.first()) !== start.at) {
        first.abandon();
        pieces = again();
      }
      for (let piece = await pieces?.next(); piece; piece = piece.isLast ? undefined : await pieces!.next()) {
        start = rangeStartAfter(piece);
        yield piece;
      }
      return;
    } catch (error) {
      if (!(error instanceof ThreadDied)) throw error;
      if (++deaths > 1)
        throw new PinakesError('SCAN_TOO_LARGE', {
          where: `${job.path}:${start.at}`,
          detail: error.message,
          cause: error,
        });
      pieces = again();
    }
  }
}

function* jobsOf(
  files: readonly string[],
  options: ScanOptions,
): Generator<{ plan: FileScan; job: ScanJob | undefined }> {
  for (const file of files) {
    const plan = planFile(file, options);
    if (plan.failure) yield { plan, job: undefined };
    for (const job of plan.jobs) yield { plan, job };
  }
}

/** Scans ranges on threads, or on the caller's thread when there are none. */
class ScanPool {
  readonly #workers: number;
  readonly #script: URL;
  readonly #threads: ScanThreads;
  #spare: ScanThreads | undefined;
  /** The range that is being scanned on the caller's thread. */
  #here: RangePieces | undefined;

  constructor(workers: number, script: URL) {
    this.#workers = workers;
    this.#script = script;
    this.#threads = newThreads(script, workers);
  }

  /** How many ranges should be running or waiting, so that no thread is idle. */
  get ahead(): number {
    return this.#workers === 0 ? 1 : this.#workers * 2 + 1;
  }

  scan(job: ScanJob): RangePieces {
    return this.#workers === 0 ? this.#scanHere(job) : new ThreadPieces(this.#threads, job);
  }

  /** Scans on a spare thread: all other threads may be waiting until the pieces of this range are taken. */
  scanAgain(job: ScanJob): RangePieces {
    if (this.#workers === 0) return this.#scanHere(job);
    this.#spare ??= newThreads(this.#script, 1);
    return new ThreadPieces(this.#spare, job);
  }

  #scanHere(job: ScanJob): RangePieces {
    this.#here = new LocalPieces(job);
    return this.#here;
  }

  async close(): Promise<void> {
    this.#here?.abandon();
    await Promise.all([this.#threads.close(), this.#spare?.close()]);
  }
}

function newThreads(script: URL, threads: number): ScanThreads {
  return new ThreadPool(script, {
    threads,
    // These limits are several times the memory of the largest piece. Garbage would fill higher limits too.
    limits: { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 64 },
  });
}
