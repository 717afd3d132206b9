/**
 * Sorts lines in byte order (LC_ALL=C), with bounded memory (I9). Lines are collected up to `memoryBytesMax`. Each full
 * load is sorted and written to a run file in the given directory. The runs are merged, MERGE_RUNS_MAX at a time. When
 * all lines fit into memory, no file is written.
 *
 * In memory, lines are byte texts (one unit per byte): sorting them as strings sorts them by bytes. Run files contain
 * these bytes, with LF after each line.
 */
import { createReadStream } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileError } from '../../base/index.ts';
import { fromByteText, toByteText } from './cdx-line.ts';

export type SortOptions = {
  /** Directory for run files; they are removed at the end. */
  readonly directory: string;
  /** Leaves out a line that equals the line before it. */
  readonly unique?: boolean;
  readonly memoryBytesMax?: number;
};

const MEMORY_BYTES_DEFAULT = 64 * 1024 * 1024;
const MERGE_RUNS_MAX = 64;
const WRITE_BYTES = 1024 * 1024;
const READ_BYTES = 128 * 1024;
/** Memory that a string takes besides its units. */
const LINE_OVERHEAD_BYTES = 40;

/** Sorts lines, which have no line ends. */
export async function* sortLines(
  lines: AsyncIterable<string> | Iterable<string>,
  options: SortOptions,
): AsyncGenerator<string> {
  const memoryBytesMax = options.memoryBytesMax ?? MEMORY_BYTES_DEFAULT;
  const runs = new RunDirectory(options.directory);
  try {
    let load: string[] = [];
    let loadBytes = 0;
    for await (const line of lines) {
      const text = toByteText(line);
      load.push(text);
      loadBytes += text.length + LINE_OVERHEAD_BYTES;
      if (loadBytes < memoryBytesMax) continue;
      await runs.write(load.sort());
      load = [];
      loadBytes = 0;
    }
    load.sort();
    let sorted: AsyncIterable<string> | Iterable<string> = load;
    if (runs.count > 0) {
      if (load.length > 0) await runs.write(load);
      load = [];
      sorted = await runs.merge();
    }
    let previous: string | undefined;
    for await (const text of sorted) {
      if (options.unique && text === previous) continue;
      previous = text;
      yield fromByteText(text);
    }
  } finally {
    await runs.remove();
  }
}

class RunDirectory {
  readonly #parent: string;
  #directory: string | undefined;
  #runs: string[] = [];
  #made = 0;

  constructor(parent: string) {
    this.#parent = parent;
  }

  get count(): number {
    return this.#runs.length;
  }

  async write(lines: AsyncIterable<string> | Iterable<string>): Promise<void> {
    try {
      this.#directory ??= await mkdtemp(join(this.#parent, 'sort-'));
      const path = join(this.#directory, `run-${this.#made++}`);
      await using file = await open(path, 'wx');
      let parts: string[] = [];
      let bytes = 0;
      const flush = async () => {
        await file.appendFile(Buffer.from(parts.join(''), 'latin1'));
        parts = [];
        bytes = 0;
      };
      for await (const line of lines) {
        parts.push(line, '\n');
        bytes += line.length + 1;
        if (bytes >= WRITE_BYTES) await flush();
      }
      await flush();
      this.#runs.push(path);
    } catch (error) {
      throw fileError(error, this.#parent);
    }
  }

  /** Merges all runs. When there are more than MERGE_RUNS_MAX, some runs are first merged into longer runs. */
  async merge(): Promise<AsyncIterable<string>> {
    while (this.#runs.length > MERGE_RUNS_MAX) {
      const oldest = this.#runs.splice(0, MERGE_RUNS_MAX);
      await this.write(mergeRuns(oldest));
      for (const path of oldest) await rm(path);
    }
    return mergeRuns(this.#runs);
  }

  async remove(): Promise<void> {
    if (this.#directory !== undefined) await rm(this.#directory, { recursive: true, force: true });
  }
}

type Run = { line: string; rest: AsyncGenerator<readonly string[]>; batch: readonly string[]; at: number };

async function* mergeRuns(paths: readonly string[]): AsyncGenerator<string> {
  const heap: Run[] = [];
  const opened: AsyncGenerator<readonly string[]>[] = [];
  try {
    for (const path of paths) {
      const rest = readRun(path);
      opened.push(rest);
      const run: Run = { line: '', rest, batch: [], at: 0 };
      if (await advance(run)) heap.push(run);
    }
    for (let i = (heap.length >> 1) - 1; i >= 0; i--) sift(heap, i);
    while (heap.length > 0) {
      const least = heap[0]!;
      yield least.line;
      if (least.at < least.batch.length) {
        least.line = least.batch[least.at++]!;
      } else if (!(await advance(least))) {
        const last = heap.pop()!;
        if (heap.length === 0) return;
        heap[0] = last;
      }
      sift(heap, 0);
    }
  } finally {
    for (const rest of opened) await rest.return(undefined);
  }
}

async function advance(run: Run): Promise<boolean> {
  while (run.at >= run.batch.length) {
    const next = await run.rest.next();
    if (next.done) return false;
    run.batch = next.value;
    run.at = 0;
  }
  run.line = run.batch[run.at++]!;
  return true;
}

function sift(heap: Run[], from: number): void {
  const run = heap[from]!;
  let at = from;
  for (;;) {
    let child = at * 2 + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && heap[child + 1]!.line < heap[child]!.line) child++;
    if (run.line <= heap[child]!.line) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = run;
}

async function* readRun(path: string): AsyncGenerator<readonly string[]> {
  let unfinished = '';
  for await (const chunk of createReadStream(path, { highWaterMark: READ_BYTES, encoding: 'latin1' })) {
    const lines = (unfinished + chunk).split('\n');
    unfinished = lines.pop()!;
    if (lines.length > 0) yield lines;
  }
}
