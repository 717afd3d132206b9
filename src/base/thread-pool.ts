/**
 * Jobs that are done on threads of their own, each by the same script, which calls `answerJobs`.
 *
 * A thread is started when there is a job for it, takes its jobs one after the other, and has the next one at hand
 * before it is done with the last, so that it never waits for an answer to its message. A job may tell parts of what it
 * found before it is done. A job that fails is answered with the reason, and the thread goes on. A thread that dies
 * fails the jobs it had at hand; the next job starts another one. Idle threads do not keep a program from ending. A
 * pool that is closed leaves its idle threads to the next one of the same script for a while.
 */
import { parentPort, type ResourceLimits, type Transferable, type Worker } from 'node:worker_threads';
import { IdleWorkers } from './idle-workers.ts';
import { failureOf, revived, startThread, type ThreadFailure } from './thread.ts';

/** So that a thread never waits for its next job. */
const JOBS_AT_HAND = 2;
const REST_MS = 60_000;

/** Of all pools of this program. */
const idle = new IdleWorkers(REST_MS);

export type ThreadPoolOptions = {
  readonly threads: number;
  readonly limits?: ResourceLimits;
  /**
   * Jobs that a thread may have been given at a time; one where jobs are so long that none should wait behind another
   * while a thread is free.
   */
  readonly jobsAtHand?: number;
};

type Waiting<Job, Result, Part> = {
  readonly job: Job;
  readonly transfer: readonly Transferable[];
  readonly onPart: ((part: Part) => void) | undefined;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
};

type Answer<Result, Part> = { readonly result: Result } | { readonly part: Part } | { readonly failure: ThreadFailure };

/** Why a job failed whose thread did not live to answer: out of memory, or a failure that nothing caught. */
export class ThreadDied extends Error {}

export class ThreadPool<Job, Result, Part = never> {
  readonly #script: URL;
  readonly #options: ThreadPoolOptions;
  readonly #waiting: Waiting<Job, Result, Part>[] = [];
  /** What each thread has at hand, in the order it was sent, which is the order of the answers. */
  readonly #atHand = new Map<Worker, Waiting<Job, Result, Part>[]>();
  #isClosed = false;

  constructor(script: URL, options: ThreadPoolOptions) {
    this.#script = script;
    this.#options = options;
  }

  /** Has a job done. What is transferred with it is gone from here. */
  run(job: Job, transfer: readonly Transferable[] = [], onPart?: (part: Part) => void): Promise<Result> {
    if (this.#isClosed) return Promise.reject(new Error(CLOSED));
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    this.#waiting.push({ job, transfer, onPart, resolve, reject });
    this.#dispatch();
    return promise;
  }

  /** Jobs that are not done fail, and end the threads that have them at hand. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const waiting of this.#waiting.splice(0)) waiting.reject(new Error(CLOSED));
    const busy: Worker[] = [];
    for (const [worker, atHand] of this.#atHand) {
      if (atHand.length > 0) busy.push(worker);
      else this.#leave(worker);
      for (const waiting of atHand.splice(0)) waiting.reject(new Error(CLOSED));
    }
    await Promise.all(busy.map((worker) => worker.terminate()));
  }

  /**
   * Ends the threads at once: the jobs they had at hand fail as when a thread dies, and what waits goes to new ones.
   */
  async end(): Promise<void> {
    await Promise.all([...this.#atHand.keys()].map((worker) => worker.terminate()));
  }

  #dispatch(): void {
    while (!this.#isClosed && this.#waiting.length > 0) {
      const worker = this.#freest();
      if (!worker) return;
      const waiting = this.#waiting.shift()!;
      const atHand = this.#atHand.get(worker)!;
      if (atHand.length === 0) worker.ref();
      atHand.push(waiting);
      worker.postMessage(waiting.job, waiting.transfer);
    }
  }

  /** The thread with least at hand, a new one while there may be more; undefined when all have enough. */
  #freest(): Worker | undefined {
    let freest: Worker | undefined;
    let least = this.#options.jobsAtHand ?? JOBS_AT_HAND;
    for (const [worker, { length }] of this.#atHand) {
      if (length < least) [freest, least] = [worker, length];
    }
    return least > 0 && this.#atHand.size < this.#options.threads ? this.#start() : freest;
  }

  /** Threads of one kind can do each other's jobs. */
  get #kind(): string {
    return JSON.stringify([this.#script.href, this.#options.limits]);
  }

  #leave(worker: Worker): void {
    this.#atHand.delete(worker);
    // By name: the platform listens too, and its messages would come no more.
    for (const event of ['message', 'error', 'exit']) worker.removeAllListeners(event);
    idle.rest(this.#kind, worker);
  }

  #start(): Worker {
    const worker = idle.take(this.#kind) ?? startThread(this.#script, { resourceLimits: this.#options.limits });
    worker.on('message', (answer: Answer<Result, Part>) => {
      // It comes too late, and a thread that is about to end must not be let go of before it has.
      if (this.#isClosed) return;
      const atHand = this.#atHand.get(worker)!;
      if ('part' in answer) {
        atHand[0]?.onPart?.(answer.part);
        return;
      }
      const waiting = atHand.shift();
      if (atHand.length === 0) worker.unref();
      if ('result' in answer) waiting?.resolve(answer.result);
      else waiting?.reject(revived(answer.failure));
      this.#dispatch();
    });
    worker.on('error', (cause) => this.#end(worker, new ThreadDied(`a thread died: ${String(cause)}`, { cause })));
    worker.on('exit', () => this.#end(worker, new ThreadDied(CLOSED)));
    this.#atHand.set(worker, []);
    return worker;
  }

  #end(worker: Worker, error: unknown): void {
    const lost = this.#atHand.get(worker) ?? [];
    this.#atHand.delete(worker);
    for (const waiting of lost) waiting.reject(error);
    this.#dispatch();
  }
}

const CLOSED = 'the thread has ended';

/** Tells a part of what was found, before the job is done. What is transferred with it is gone from here. */
export type TellPart = (part: unknown, transfer?: readonly Transferable[]) => void;

/**
 * The thread's side: does the jobs that come, one after the other. `transferOf` says what of a result is handed over
 * instead of copied.
 */
export function answerJobs<Job, Result>(
  work: (job: Job, tell: TellPart) => Result | Promise<Result>,
  transferOf: (result: Result) => readonly Transferable[] = () => [],
): void {
  let last: Promise<void> = Promise.resolve();
  const tell: TellPart = (part, transfer = []) => parentPort?.postMessage({ part }, transfer);
  const answer = async (job: Job) => {
    try {
      const result = await work(job, tell);
      parentPort?.postMessage({ result } satisfies Answer<Result, never>, transferOf(result));
    } catch (cause) {
      parentPort?.postMessage({ failure: failureOf(cause) } satisfies Answer<Result, never>);
    }
  };
  parentPort?.on('message', (job: Job) => {
    last = last.then(() => answer(job));
  });
}
