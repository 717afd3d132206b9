/**
 * Threads that have nothing to do for now, kept a while for whoever needs the same script next.
 *
 * A new thread loads its program and runs it slowly until the engine knows what is worth compiling: most of a second of
 * processor time, for some scripts more than the job itself. A thread at rest has that behind it. Threads at rest do
 * not keep a program from ending, and end by themselves when nobody came for them.
 */
import type { Worker } from 'node:worker_threads';

export class IdleWorkers {
  readonly #restMs: number;
  readonly #idle: { readonly kind: string; readonly worker: Worker; readonly wake: () => void }[] = [];

  constructor(restMs: number) {
    this.#restMs = restMs;
  }

  get size(): number {
    return this.#idle.length;
  }

  /** Keeps a thread that has no job, and to which nobody listens any more. */
  rest(kind: string, worker: Worker): void {
    worker.unref();
    const end = () => {
      leave();
      void worker.terminate();
    };
    const timer = setTimeout(end, this.#restMs);
    timer.unref();
    const leave = () => {
      clearTimeout(timer);
      worker.off('exit', leave);
      // One that dies at rest has nothing to tell anybody; an error without a listener would end the program.
      worker.off('error', end);
      const at = this.#idle.findIndex((one) => one.worker === worker);
      if (at >= 0) this.#idle.splice(at, 1);
    };
    worker.on('exit', leave);
    worker.on('error', end);
    this.#idle.push({ kind, worker, wake: leave });
  }

  /** The thread of this kind that came to rest last, which is from now on the caller's. */
  take(kind: string): Worker | undefined {
    const found = this.#idle.findLast((one) => one.kind === kind);
    found?.wake();
    return found?.worker;
  }
}
