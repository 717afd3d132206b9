/**
 * Idle threads, kept for a while for the next caller that needs the same script.
 *
 * A new thread loads its script and runs it slowly until the engine has compiled the hot parts. This costs most of a
 * second of processor time, for some scripts more than the job itself; an idle thread saves it. Idle threads do not
 * keep a program from ending. They end by themselves after a time.
 */
import type { Worker } from 'node:worker_threads';

export class IdleWorkers {
  readonly #idleMs: number;
  readonly #idle: { readonly kind: string; readonly worker: Worker; readonly wake: () => void }[] = [];

  constructor(idleMs: number) {
    this.#idleMs = idleMs;
  }

  get size(): number {
    return this.#idle.length;
  }

  /** Keeps a thread that has no job and no listeners. */
  rest(kind: string, worker: Worker): void {
    worker.unref();
    const end = () => {
      leave();
      void worker.terminate();
    };
    const timer = setTimeout(end, this.#idleMs);
    timer.unref();
    const leave = () => {
      clearTimeout(timer);
      worker.off('exit', leave);
      // An error without a listener would end the program. An error of an idle thread does not concern a job.
      worker.off('error', end);
      const at = this.#idle.findIndex((one) => one.worker === worker);
      if (at >= 0) this.#idle.splice(at, 1);
    };
    worker.on('exit', leave);
    worker.on('error', end);
    this.#idle.push({ kind, worker, wake: leave });
  }

  /** The thread of this kind that became idle last. It belongs to the caller from now on. */
  take(kind: string): Worker | undefined {
    const found = this.#idle.findLast((one) => one.kind === kind);
    found?.wake();
    return found?.worker;
  }
}
