/**
 * A process that does jobs one at a time, each within a bound on memory and on time. It is for work on hostile input,
 * which may take any amount of memory outside the JavaScript heap, where the limits of a thread do not apply.
 *
 * ```
 *   to the process, its standard input      4 bytes length of the job | 4 bytes length of the body | job, JSON | body
 *   from the process, its standard output   4 bytes length | value, as v8.serialize writes it
 * ```
 * All numbers are little-endian. The process starts with the first job and stays for the next ones. It ends when it was
 * idle for IDLE_MS, when a job left it large, and when this program ends in any way: its standard input closes then.
 * The process gets bytes and returns values. It has no open files or sockets of this program and may not write files.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { deserialize } from 'node:v8';
import { Exclusive } from './concurrency.ts';

const IDLE_MS = 30_000;
/** A process that holds more than this share of its bound after a job would leave too little for the next job. */
const LARGE_SHARE = 0.5;
const PIECE_BYTES = 256 * 1024;
/** Only a process that hostile input has taken over would send a longer answer. */
const ANSWER_BYTES_MAX = 256 * 1024 * 1024;
/** Attempts at a job that something outside ended, such as an interruption of the whole process group. */
const ATTEMPTS = 3;
/** The process may load code and start threads. It may not write files or start programs. */
const PERMISSIONS = ['--permission', '--allow-fs-read=*', '--allow-worker'];
/** The environment variables that the process needs; others may hold secrets. */
const ENVIRONMENT = ['NODE_COMPILE_CACHE', 'SystemRoot'];
/** Signals by which a job ends its process. Other signals come from outside. */
const FATAL_SIGNALS: ReadonlySet<string> = new Set(['SIGKILL', 'SIGABRT', 'SIGSEGV', 'SIGBUS', 'SIGILL', 'SIGTRAP']);

export type JobBounds = { readonly memoryBytesMax: number; readonly msMax: number };

/** The answer of the process. A failed job has no value. */
export type JobAnswer = {
  readonly value: Uint8Array | undefined;
  readonly failure?: string;
  readonly rssBytes: number;
};

/** A job exceeded its bounds or ended its process. */
export class JobEnded extends Error {}

type Running = { readonly child: ChildProcess; readonly memoryBytesMax: number; hasWorked: boolean };

export class JobProcess<Job> {
  readonly #script: URL;
  #running: Running | undefined;
  readonly #jobs = new Exclusive();
  #idle: ReturnType<typeof setTimeout> | undefined;

  constructor(script: URL) {
    this.#script = script;
  }

  /** The id of the process while it runs. */
  get pid(): number | undefined {
    return this.#running?.child.pid;
  }

  /** The answer to a job; rejects with JobEnded when the job ended its process. */
  run(job: Job, body: Uint8Array, bounds: JobBounds, signal?: AbortSignal): Promise<Uint8Array> {
    return this.#jobs.run(() => this.#attempt(job, body, bounds, signal));
  }

  async #attempt(job: Job, body: Uint8Array, bounds: JobBounds, signal?: AbortSignal): Promise<Uint8Array> {
    for (let attempt = 1; ; attempt++) {
      signal?.throwIfAborted();
      clearTimeout(this.#idle);
      if (this.#running?.memoryBytesMax !== bounds.memoryBytesMax) this.#end();
      this.#running ??= this.#start(bounds.memoryBytesMax);
      const running = this.#running;
      const isFresh = !running.hasWorked;
      running.hasWorked = true;
      const outcome = await talk(running.child, job, body, bounds.msMax, signal);
      if ('answer' in outcome) {
        if (outcome.answer.rssBytes > bounds.memoryBytesMax * LARGE_SHARE) this.#end();
        else this.#rest();
        const { value, failure } = outcome.answer;
        if (value === undefined) throw new Error(failure);
        return value;
      }
      this.#end();
      signal?.throwIfAborted();
      if (outcome.isLate) throw new JobEnded('the job took too long');
      // Memory left over from earlier jobs must not end this one.
      if (FATAL_SIGNALS.has(outcome.signal) && isFresh)
        throw new JobEnded(`the job ended its process: ${outcome.signal}`);
      if (attempt >= ATTEMPTS) throw new Error(`the process for documents ended: ${outcome.signal}`);
    }
  }

  #start(memoryBytesMax: number): Running {
    const env = Object.fromEntries(
      ENVIRONMENT.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])),
    );
    const child = spawn(process.execPath, [...PERMISSIONS, fileURLToPath(this.#script), String(memoryBytesMax)], {
      env,
      stdio: ['pipe', 'pipe', 'ignore'],
      windowsHide: true,
    });
    // A failure while the process is idle is noticed with the next job.
    child.on('error', () => {});
    child.stdin!.on('error', () => {});
    return { child, memoryBytesMax, hasWorked: false };
  }

  /** Lets this program end while the process is idle. */
  #rest(): void {
    const { child } = this.#running!;
    setReferenced(child, false);
    this.#idle = setTimeout(() => this.#end(), IDLE_MS);
    this.#idle.unref();
  }

  #end(): void {
    const child = this.#running?.child;
    this.#running = undefined;
    if (!child) return;
    child.kill('SIGKILL');
    setReferenced(child, false);
  }
}

function setReferenced(child: ChildProcess, isReferenced: boolean): void {
  for (const one of [child, child.stdin as Socket | null, child.stdout as Socket | null]) {
    if (isReferenced) one?.ref();
    else one?.unref();
  }
}

type Outcome = { readonly answer: JobAnswer } | { readonly signal: string; readonly isLate: boolean };

/** Sends a job and waits for its answer, or for the end of the process. */
function talk(
  child: ChildProcess,
  job: unknown,
  body: Uint8Array,
  msMax: number,
  signal: AbortSignal | undefined,
): Promise<Outcome> {
  setReferenced(child, true);
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  let isLate = false;
  const answer = new AnswerReader();
  const stop = () => child.kill('SIGKILL');
  const timer = setTimeout(() => {
    isLate = true;
    stop();
  }, msMax);
  const onData = (piece: Uint8Array) => {
    const whole = answer.push(piece);
    if (whole === 'too long') stop();
    else if (whole) resolve({ answer: deserialize(whole) as JobAnswer });
  };
  const onClose = (_: unknown, name: string | null) => resolve({ signal: name ?? 'an exit', isLate });
  const onError = (error: Error) => resolve({ signal: error.message, isLate });
  child.stdout!.on('data', onData);
  child.on('close', onClose);
  child.on('error', onError);
  signal?.addEventListener('abort', stop, { once: true });
  if (child.exitCode !== null || child.signalCode !== null) onClose(undefined, child.signalCode);
  void send(child, job, body);
  return promise.finally(() => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
    child.stdout!.off('data', onData);
    child.off('close', onClose);
    child.off('error', onError);
  });
}

/** Writes a job a piece at a time, so that no second copy of the body waits in memory. */
async function send(child: ChildProcess, job: unknown, body: Uint8Array): Promise<void> {
  const stdin = child.stdin!;
  const text = Buffer.from(JSON.stringify(job));
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32LE(text.length, 0);
  lengths.writeUInt32LE(body.length, 4);
  stdin.write(Buffer.concat([lengths, text]));
  for (let at = 0; at < body.length; at += PIECE_BYTES) {
    const isSent = await new Promise<boolean>((resolve) => {
      stdin.write(body.subarray(at, at + PIECE_BYTES), (error) => resolve(!error));
    });
    if (!isSent) return;
  }
}

/** Joins the pieces of an answer. */
class AnswerReader {
  #start = Buffer.alloc(0);
  #whole: Buffer | undefined;
  #length = 0;

  push(piece: Uint8Array): Buffer | 'too long' | undefined {
    let rest = piece;
    if (!this.#whole) {
      this.#start = Buffer.concat([this.#start, piece]);
      if (this.#start.length < 4) return undefined;
      const length = this.#start.readUInt32LE(0);
      if (length > ANSWER_BYTES_MAX) return 'too long';
      this.#whole = Buffer.allocUnsafeSlow(length);
      rest = this.#start.subarray(4);
    }
    this.#whole.set(rest.subarray(0, this.#whole.length - this.#length), this.#length);
    this.#length += rest.length;
    return this.#length >= this.#whole.length ? this.#whole : undefined;
  }
}
