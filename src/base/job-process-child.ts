/**
 * The side of a process that does jobs; see `job-process.ts`. A thread does the work, so that this one always sees what
 * the process takes in memory and whether the other side is still there. Beyond the bound, and without another side,
 * the process ends at once.
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
 * The JavaScript heap of the thread gets this share of the bound: near to it the engine collects more often, which
 * keeps ordinary jobs small.
 */
const HEAP_SHARE = 0.5;
const YOUNG_MEBIBYTES = 16;
/** Interruptions from a terminal reach every process of its group; only the other side ends this one. */
const IGNORED_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** A job on its way to the thread. */
export type ThreadJob<Job> = { readonly job: Job; readonly body: Uint8Array };

/** What the thread answers: bytes that the caller understands, or why there are none. */
export type ThreadAnswer = Omit<JobAnswer, 'rssBytes'>;

/** Does the jobs that come by standard input until it closes. */
export async function serveJobs(script: URL): Promise<void> {
  for (const name of IGNORED_SIGNALS) process.on(name, () => {});
  process.stdin.once('end', end).once('error', end).once('close', end);
  // Not a file stream: a pipe that is full refuses its writes.
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

/** At once, whatever the thread is at. */
function end(): void {
  process.kill(process.pid, 'SIGKILL');
}

/**
 * Cuts standard input into pieces of known length. It keeps flowing, so that its end is seen during a job too; no more
 * than one job is on its way.
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
