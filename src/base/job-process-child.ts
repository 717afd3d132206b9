/**
 * The code inside the process of `job-process.ts`. A thread does the work, so that the main thread can always watch the
 * memory of the process and whether the parent is still there. The process ends at once when it exceeds its memory
 * bound or its parent is gone.
 */
import { once } from 'node:events';
import { Socket } from 'node:net';
import { serialize } from 'node:v8';
import type { Worker } from 'node:worker_threads';
import type { JobAnswer } from './job-process.ts';
import { startThread } from './thread.ts';

/** Standard output. */
const OUTPUT = 1;
/** A job can fill half a gigabyte in a fifth of a second. */
const WATCH_MS = 10;
/**
 * The JavaScript heap of the thread gets this share of the bound. Near its limit the engine collects garbage more
 * often, which keeps ordinary jobs small.
 */
const HEAP_SHARE = 0.5;
const YOUNG_MEBIBYTES = 16;
/** Ctrl-C in a terminal reaches every process of its group; only the parent ends this one. */
const IGNORED_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** A job on its way to the thread. */
export type ThreadJob<Job> = { readonly job: Job; readonly body: Uint8Array };

/** The answer of the thread: bytes that the caller understands, or the reason why there are none. */
export type ThreadAnswer = Omit<JobAnswer, 'rssBytes'>;

/** Does the jobs that arrive on standard input until it closes. */
export async function serveJobs(script: URL): Promise<void> {
  for (const name of IGNORED_SIGNALS) process.on(name, () => {});
  process.stdin.once('end', end).once('error', end).once('close', end);
  // Not a file stream: its writes to a full pipe would fail.
  const output = new Socket({ fd: OUTPUT, readable: false, writable: true });
  output.on('error', end);
  const memoryBytesMax = Number(process.argv[2]);
  const maxOldGenerationSizeMb = (memoryBytesMax * HEAP_SHARE) / 2 ** 20;
  const thread = startThread(script, {
    resourceLimits: { maxOldGenerationSizeMb, maxYoungGenerationSizeMb: YOUNG_MEBIBYTES },
  });
  thread.on('error', end);
  thread.on('exit', end);
  const input = new InputReader();
  for (;;) {
    const lengths = await input.take(8);
    const job: unknown = JSON.parse((await input.take(lengths.readUInt32LE(0))).toString());
    const watch = setInterval(() => {
      if (process.memoryUsage.rss() > memoryBytesMax) end();
    }, WATCH_MS);
    const body = await input.take(lengths.readUInt32LE(4));
    const answer = await answered(thread, { job, body });
    clearInterval(watch);
    const bytes = serialize({ ...answer, rssBytes: process.memoryUsage.rss() } satisfies JobAnswer);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(bytes.length);
    output.write(length);
    if (!output.write(bytes)) await once(output, 'drain');
  }
}

async function answered(thread: Worker, job: ThreadJob<unknown>): Promise<ThreadAnswer> {
  thread.postMessage(job, [job.body.buffer as ArrayBuffer]);
  const [answer] = await once(thread, 'message');
  return answer as ThreadAnswer;
}

/** Ends the process at once, whatever the thread is doing. */
function end(): void {
  process.kill(process.pid, 'SIGKILL');
}

/**
 * Cuts standard input into pieces of known length. It keeps reading, so that the end of input is noticed during a job
 * too; the parent never sends more than one job at a time.
 */
class InputReader {
  readonly #pieces: Buffer[] = [];
  #arrived = Promise.withResolvers<void>();

  constructor() {
    process.stdin.on('data', (piece: Buffer) => {
      this.#pieces.push(piece);
      this.#arrived.resolve();
    });
  }

  async take(length: number): Promise<Buffer> {
    const whole = Buffer.allocUnsafeSlow(length);
    for (let at = 0; at < length; ) {
      const piece = this.#pieces.shift();
      if (!piece) {
        this.#arrived = Promise.withResolvers();
        await this.#arrived.promise;
        continue;
      }
      const part = piece.subarray(0, length - at);
      whole.set(part, at);
      at += part.length;
      if (part.length < piece.length) this.#pieces.unshift(piece.subarray(part.length));
    }
    return whole;
  }
}
