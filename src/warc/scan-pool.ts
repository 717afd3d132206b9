/**
 * Scans files on several threads and hands the facts over in order: file by file, record by record.
 *
 * Files are cut into ranges of RANGE_BYTES. A thread that begins in the middle of a file looks for the next record, and such a search can be fooled by
 * a record inside a record (an archived `.warc.gz` that did not compress further). Therefore every seam is checked: the range before says
 * where its successor must begin, because it walked there record by record. A successor that began elsewhere is scanned again from the right place.
 *
 * Memory is bounded by the ranges under way, whatever the files hold (I9).
 */
import { statSync } from 'node:fs';
import { type DigestAlgorithm, fileError, PinakesError, ThreadPool } from '../base/index.ts';
import { readFileStart } from './record-reader.ts';
import { type ScanJob, type ScanResult, scanRange } from './scan.ts';
import { ScanBatch } from './scan-batch.ts';

const RANGE_BYTES = 4 * 1024 * 1024;

export type ScanOptions = {
  /** Threads; 0 scans on the caller's own. */
  readonly workers?: number;
  readonly algorithm?: DigestAlgorithm;
  /** Head fields to tell besides the usual ones, in lower case. */
  readonly fields?: readonly string[];
  /** Whether to hand over the HTTP heads of records. */
  readonly httpHeads?: boolean;
  readonly rangeBytes?: number;
  readonly signal?: AbortSignal | undefined;
};

/** The facts of one range, in order; or a file that could not be read. */
export type ScanItem =
  | { readonly kind: 'batch'; readonly batch: ScanBatch; readonly bytes: number }
  | { readonly kind: 'file-end'; readonly file: string; readonly records: number }
  | { readonly kind: 'file-failed'; readonly file: string; readonly error: PinakesError };

/** Scans the files in order. A file that cannot be read costs only itself. */
export async function* scanFiles(files: readonly string[], options: ScanOptions = {}): AsyncGenerator<ScanItem> {
  const pool = new ScanPool(options.workers ?? 0);
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
      const { algorithm = 'sha256', fields = [], httpHeads = false } = options;
      jobs.push({ path: file, algorithm, fields, httpHeads, coding, dictionary, from, to, exact: from === 0 });
    }
    return { file, jobs };
  } catch (cause) {
    const error = fileError(cause, file);
    if (!(error instanceof PinakesError)) throw error;
    return { file, jobs: [], failure: error };
  }
}

async function* inOrder(pool: ScanPool, files: readonly string[], options: ScanOptions): AsyncGenerator<ScanItem> {
  type Ahead = { readonly plan: FileScan; readonly job: ScanJob | undefined; readonly result: Promise<ScanResult> };
  const ahead: Ahead[] = [];
  const source = jobsOf(files, options);
  const fill = () => {
    while (ahead.length < pool.ahead) {
      const next = source.next();
      if (next.done) return;
      const { plan, job } = next.value;
      const result = job ? pool.run(job) : Promise.reject(plan.failure);
      result.catch(() => {});
      ahead.push({ plan, job, result });
    }
  };
  let mustBegin = 0;
  let records = 0;
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
      mustBegin = 0;
      records = 0;
      failed = false;
    }
    if (failed) continue;
    try {
      const result = await seamless(pool, job, current.result, mustBegin);
      if (result) {
        const bytes = result.next - mustBegin;
        mustBegin = result.next;
        records += result.columns.count;
        yield { kind: 'batch', batch: new ScanBatch(plan.file, result.columns), bytes };
      }
      if (isLast) yield { kind: 'file-end', file: plan.file, records };
    } catch (error) {
      if (!(error instanceof PinakesError)) throw error;
      failed = true;
      yield { kind: 'file-failed', file: plan.file, error };
    }
  }
}

/** The range's result, made again if it began in the wrong place; undefined when a record of an earlier range covers it whole. */
async function seamless(
  pool: ScanPool,
  job: ScanJob | undefined,
  result: Promise<ScanResult>,
  mustBegin: number,
): Promise<ScanResult | undefined> {
  const found = await result;
  if (!job || job.exact || found.first === mustBegin) return found;
  if (mustBegin >= job.to) return undefined;
  return pool.run({ ...job, from: mustBegin, exact: true });
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

/** Scans ranges on threads, or on the caller's own when there are none. */
class ScanPool {
  readonly #workers: number;
  readonly #threads: ThreadPool<ScanJob, ScanResult>;

  constructor(workers: number) {
    this.#workers = workers;
    this.#threads = new ThreadPool(new URL('./scan-worker.ts', import.meta.url), {
      threads: workers,
      limits: { maxYoungGenerationSizeMb: 20 },
    });
  }

  /** How many ranges should be under way or waiting, so that no thread stands idle. */
  get ahead(): number {
    return this.#workers === 0 ? 1 : this.#workers * 2 + 1;
  }

  run(job: ScanJob): Promise<ScanResult> {
    return this.#workers === 0 ? Promise.try(() => scanRange(job)) : this.#threads.run(job);
  }

  close(): Promise<void> {
    return this.#threads.close();
  }
}
