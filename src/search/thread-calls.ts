/**
 * Method calls to an object on another thread. They are sent as messages and answered in order. When the thread ends,
 * all waiting and later calls fail with the reason.
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

  /** Starts the thread and creates the object there. Fails if the object cannot be created. */
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

  /** The buffers in `moved` are transferred to the other thread and not copied. */
  call(method: string, values: readonly unknown[], moved: readonly ArrayBuffer[] = []): Promise<never> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#worker.postMessage({ method, values } satisfies Call, moved);
    });
  }

  /** Ends the thread at once. All waiting calls fail. */
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
 * The code on the other thread: creates the object at the first call, `open`, and then runs the calls one after
 * another.
 */
export function answerCalls(open: () => object): void {
  let target: object | undefined;
  let last: Promise<void> = Promise.resolve();
  const run = async ({ method, values }: Call): Promise<unknown> => {
    if (method === 'open') {
      target = open();
      return undefined;
    }
    const methods = target as Record<string, (...parameters: readonly unknown[]) => unknown>;
    return methods[method]!(...values);
  };
  parentPort?.on('message', (call: Call) => {
    last = last.then(async () => {
      const reply = await run(call).then(
        (value): Reply => ({ value }),
        (error): Reply => ({ failure: failureOf(indexError(error)) }),
      );
      parentPort?.postMessage(reply);
    });
  });
}
