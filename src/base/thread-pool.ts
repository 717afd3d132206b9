/**
 * A pool of threads that do jobs. All run the same script, which calls `answerJobs`.
 *
 * A thread is started when there is a job for it. The thread does its jobs one after the other. The pool sends it the
 * next job before the last one is done, so that the thread never waits for a message. A job may report parts of its
 * result before it is done. A failed job is answered with the reason, and the thread goes on. When a thread dies its
 * jobs fail, and the next job starts another thread. Idle threads do not keep a program from ending. The idle threads
 * of a closed pool can be used for a while by the next pool of the same script.
 */
import { parentPort, type ResourceLimits, type Transferable, type Worker } from 'node:worker_threads';
import { IdleWorkers } from './idle-workers.ts';
import { failureOf, revived, startThread, type ThreadFailure } from './thread.ts';

/** The running job and the next one, so that a thread never waits. */
const JOBS_PER_THREAD = 2;
const IDLE_MS = 60_000;

/** The idle threads of all closed pools. */
const idle = new IdleWorkers(IDLE_MS);

export type ThreadPoolOptions = {
  readonly threads: number;
  readonly limits?: ResourceLimits;
  /**
   * Jobs that a thread is sent at a time. Use 1 where jobs are so long that none should wait behind another while a
   * thread is free.
   */
  readonly jobsPerThread?: number;
};

type Waiting<Job, Result, Part> = {
  readonly job: Job;
  readonly transfer: readonly Transferable[];
  readonly onPart: ((part: Part) => void) | undefined;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
};

type Answer<Result, Part> = { readonly result: Result } | { readonly part: Part } | { readonly failure: ThreadFailure };

/** The thread of a job died before it answered: it was out of memory, or did not catch an error. */
export class ThreadDied extends Error {}

export class ThreadPool<Job, Result, Part = never> {
  readonly #script: URL;
  readonly #options: ThreadPoolOptions;
  readonly #waiting: Waiting<Job, Result, Part>[] = [];
  /** The jobs sent to each thread, in order, which is also the order of the answers. */
  readonly #assigned = new Map<Worker, Waiting<Job, Result, Part>[]>();
  #isClosed = false;

  constructor(script: URL, options: ThreadPoolOptions) {
    this.#script = script;
    this.#options = options;
  }

  /** Runs a job. Transferred memory can no longer be used by the caller. */
  run(job: Job, transfer: readonly Transferable[] = [], onPart?: (part: Part) => void): Promise<Result> {
    if (this.#isClosed) return Promise.reject(new Error(CLOSED));
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    this.#waiting.push({ job, transfer, onPart, resolve, reject });
    this.#dispatch();
    return promise;
  }

  /** Unfinished jobs fail, and the threads that have them are ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const waiting of this.#waiting.splice(0)) waiting.reject(new Error(CLOSED));
    const busy: Worker[] = [];
    for (const [worker, assigned] of this.#assigned) {
      if (assigned.length > 0) busy.push(worker);
      else this.#leave(worker);
      for (const waiting of assigned.splice(0)) waiting.reject(new Error(CLOSED));
    }
    await Promise.all(busy.map((worker) => worker.terminate()));
  }

  /**
   * Ends all threads at once: their jobs fail as when a thread dies, and waiting jobs go to new threads.
   */
  async end(): Promise<void> {
    await Promise.all([...this.#assigned.keys()].map((worker) => worker.terminate()));
  }

  #dispatch(): void {
    while (!this.#isClosed && this.#waiting.length > 0) {
      const worker = this.#freest();
      if (!worker) return;
      const waiting = this.#waiting.shift()!;
      const assigned = this.#assigned.get(worker)!;
      if (assigned.length === 0) worker.ref();
      assigned.push(waiting);
      worker.postMessage(waiting.job, waiting.transfer);
    }
  }

  /**
   * The thread with the fewest jobs, or a new one if the pool may grow; undefined when all threads have enough jobs.
   */
  #freest(): Worker | undefined {
    let freest: Worker | undefined;
    let least = this.#options.jobsPerThread ?? JOBS_PER_THREAD;
    for (const [worker, { length }] of this.#assigned) {
      if (length < least) [freest, least] = [worker, length];
    }
    return least > 0 && this.#assigned.size < this.#options.threads ? this.#start() : freest;
  }

  /** Threads of one kind can do each other's jobs. */
  get #kind(): string {
    return JSON.stringify([this.#script.href, this.#options.limits]);
  }

  #leave(worker: Worker): void {
    this.#assigned.delete(worker);
    // Only for these events: messages would no longer arrive without the platform's own listeners for other events.
    for (const event of ['message', 'error', 'exit']) worker.removeAllListeners(event);
    idle.rest(this.#kind, worker);
  }

  #start(): Worker {
    const worker = idle.take(this.#kind) ?? startThread(this.#script, { resourceLimits: this.#options.limits });
    worker.on('message', (answer: Answer<Result, Part>) => {
      // A closed pool ignores late messages, and must not call `unref` before the thread has ended.
      if (this.#isClosed) return;
      const assigned = this.#assigned.get(worker)!;
      if ('part' in answer) {
        assigned[0]?.onPart?.(answer.part);
        return;
      }
      const waiting = assigned.shift();
      if (assigned.length === 0) worker.unref();
      if ('result' in answer) waiting?.resolve(answer.result);
      else waiting?.reject(revived(answer.failure));
      this.#dispatch();
    });
    worker.on('error', (cause) => this.#end(worker, new ThreadDied(`a thread died: ${String(cause)}`, { cause })));
    worker.on('exit', () => this.#end(worker, new ThreadDied(CLOSED)));
    this.#assigned.set(worker, []);
    return worker;
  }

  #end(worker: Worker, error: unknown): void {
    const lost = this.#assigned.get(worker) ?? [];
    this.#assigned.delete(worker);
    for (const waiting of lost) waiting.reject(error);
    this.#dispatch();
  }
}

const CLOSED = 'the thread has ended';

/** Reports a part of the result before the job is done. Transferred memory can no longer be used by the job. */
export type ReportPart = (part: unknown, transfer?: readonly Transferable[]) => void;

/**
 * The thread's side: does its jobs one after the other. `transferOf` returns the parts of a result that are transferred
 * instead of copied.
 */
export function answerJobs<Job, Result>(
  work: (job: Job, report: ReportPart) => Result | Promise<Result>,
  transferOf: (result: Result) => readonly Transferable[] = () => [],
): void {
  let last: Promise<void> = Promise.resolve();
  const report: ReportPart = (part, transfer = []) => parentPort?.postMessage({ part }, transfer);
  const answer = async (job: Job) => {
    try {
      const result = await work(job, report);
      parentPort?.postMessage({ result } satisfies Answer<Result, never>, transferOf(result));
    } catch (cause) {
      parentPort?.postMessage({ failure: failureOf(cause) } satisfies Answer<Result, never>);
    }
  };
  parentPort?.on('message', (job: Job) => {
    last = last.then(() => answer(job));
  });
}
