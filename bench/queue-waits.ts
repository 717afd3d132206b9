/**
 * Counts who waits for whom at the queues of the program that run one piece of work at a time, such as the changes of
 * an archive. Work is marked with the name of its task, and everything that it begins has that name too. The count
 * replaces `Exclusive.prototype.run` in this process, so it sees every queue, whoever uses it.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { Exclusive } from '../src/base/index.ts';

type Task = 'writing' | 'verifying';

export class QueueWaits {
  readonly #task = new AsyncLocalStorage<Task>();
  /** The tasks of the pieces that run or wait in each queue. */
  readonly #queues = new WeakMap<Exclusive, Task[]>();
  /** Pieces of the writing task. */
  pieces = 0;
  /** Pieces of the writing task that waited for others of it. */
  behindWriting = 0;
  /** Pieces of the writing task that waited for the verifying one. */
  behindVerifying = 0;
  /** Pieces of the verifying task. */
  ofVerifying = 0;
  longestMs = 0;

  constructor() {
    const run = Exclusive.prototype.run;
    const counted = <T>(queue: Exclusive, work: () => Promise<T>) => this.#counted(queue, work, run);
    Exclusive.prototype.run = function <T>(this: Exclusive, work: () => Promise<T>) {
      return counted(this, work);
    };
  }

  /** Runs work as a part of a task. */
  as<T>(task: Task, work: () => Promise<T>): Promise<T> {
    return this.#task.run(task, work);
  }

  reset(): void {
    this.pieces = 0;
    this.behindWriting = 0;
    this.behindVerifying = 0;
    this.ofVerifying = 0;
    this.longestMs = 0;
  }

  #counted<T>(queue: Exclusive, work: () => Promise<T>, run: Exclusive['run']): Promise<T> {
    const task = this.#task.getStore();
    if (!task) return run.call(queue, work) as Promise<T>;
    const before = this.#queues.get(queue) ?? [];
    this.#queues.set(queue, before);
    if (task === 'verifying') this.ofVerifying++;
    else {
      this.pieces++;
      if (before.includes('verifying')) this.behindVerifying++;
      else if (before.length > 0) this.behindWriting++;
    }
    before.push(task);
    const asked = performance.now();
    return run.call(queue, async () => {
      if (task === 'writing') this.longestMs = Math.max(this.longestMs, performance.now() - asked);
      try {
        return await work();
      } finally {
        before.shift();
      }
    }) as Promise<T>;
  }
}
