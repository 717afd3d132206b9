/**
 * Calls to an object that lives on a thread of its own: they go out as messages and are answered in the order they came
 * in. A thread that ends answers all calls that wait, and all that come, with the reason.
 */
import { parentPort, type Worker } from 'node:worker_threads';
import { failureOf, revived, startThread, type ThreadFailure } from '../base/index.ts';
import { indexError } from './sqlite/database.ts';

type Call = { readonly method: string; readonly values: readonly unknown[] };
type Reply = { readonly value: unknown } | { readonly failure: ThreadFailure };

type Waiting = { resolve(value: never): void; reject(error: unknown): void };

export class ThreadCalls {
  readonly #worker: Worker;
  readonly #waiting: Waiting[] = [];
  #failure: unknown;

  private constructor(script: URL, workerData: unknown) {
    this.#worker = startThread(script, { workerData });
    this.#worker.on('message', (reply: Reply) => {
      const waiting = this.#waiting.shift();
      if ('failure' in reply) waiting?.reject(revived(reply.failure));
      else waiting?.resolve(reply.value as never);
    });
    this.#worker.on('error', (error) => this.#fail(error));
    this.#worker.on('exit', () => this.#fail(new Error('the thread has ended')));
  }

  /** Starts the thread, and has the object made; fails as that does. */
  static async open(script: URL, workerData: unknown): Promise<ThreadCalls> {
    const calls = new ThreadCalls(script, workerData);
    try {
      await calls.call('open', []);
      return calls;
    } catch (error) {
      await calls.close();
      throw error;
    }
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
  }

  /** What is in `moved` belongs to the other thread from now on, and is not copied. */
  call(method: string, values: readonly unknown[], moved: readonly ArrayBuffer[] = []): Promise<never> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#worker.postMessage({ method, values } satisfies Call, moved);
    });
  }

  /** Ends the thread without asking; all calls that wait fail. */
  async abandon(): Promise<void> {
    await this.#worker.terminate();
  }

  /** Lets the object close itself, then ends the thread. */
  async close(): Promise<void> {
    if (this.#failure === undefined) await this.call('close', []).catch(() => {});
    await this.#worker.terminate();
  }
}

/**
 * The other side: makes the object at the first call, `open`, and carries out the others on it, one after the other.
 */
export function answerCalls(open: () => object): void {
  let target: object | undefined;
  let last: Promise<void> = Promise.resolve();
  const carryOut = async ({ method, values }: Call): Promise<unknown> => {
    if (method === 'open') {
      target = open();
      return undefined;
    }
    const methods = target as Record<string, (...parameters: readonly unknown[]) => unknown>;
    return methods[method]!(...values);
  };
  parentPort?.on('message', (call: Call) => {
    last = last.then(async () => {
      const reply = await carryOut(call).then(
        (value): Reply => ({ value }),
        (error): Reply => ({ failure: failureOf(indexError(error)) }),
      );
      parentPort?.postMessage(reply);
    });
  });
}
