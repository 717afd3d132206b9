/**
 * Runs commands in one child process that has the program loaded. A process for each command would need half a second
 * of processor time to start. Messages, files and exit codes are the same. Tests of the process itself, such as its
 * exit, signals and broken outputs, use `pinakes-process.ts`.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { after } from 'node:test';
import { linesOf, type Outcome } from './pinakes-process.ts';

type BytesOutcome = { readonly code: number; readonly out: Buffer; readonly err: Buffer };

/** The maximum length of the line that marks the end of a command. */
const END_BYTES_MAX = 40;

class Runner {
  readonly #child: ChildProcess;
  #requests = 0;

  constructor() {
    this.#child = fork(join(import.meta.dirname, 'runner-child.ts'), {
      execArgv: [],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    // When the child ends, its outputs close, which the waiting command notices.
    this.#child.on('error', () => {});
    this.#keepAlive(false);
  }

  async run(directory: string, argv: readonly string[]): Promise<BytesOutcome> {
    const number = ++this.#requests;
    if (!this.#child.connected) throw new Error('the process ended after the previous command');
    this.#keepAlive(true);
    try {
      this.#child.send({ number, directory, argv });
      const [out, err] = await Promise.all([
        readOutput(this.#child.stdout!, number),
        readOutput(this.#child.stderr!, number),
      ]);
      return { code: out.code, out: out.bytes, err: err.bytes };
    } finally {
      this.#keepAlive(false);
    }
  }

  async close(): Promise<void> {
    if (!this.#child.connected) return;
    this.#keepAlive(true);
    const ended = once(this.#child, 'close');
    this.#child.disconnect();
    await ended;
  }

  /** Between commands the child must not keep the test process alive. */
  #keepAlive(isBusy: boolean): void {
    const call = isBusy ? 'ref' : 'unref';
    this.#child[call]();
    this.#child.channel?.[call]();
    for (const output of [this.#child.stdout, this.#child.stderr])
      (output as unknown as { ref(): void; unref(): void })[call]();
  }
}

/** Reads the output of a command, up to the line that marks its end. */
function readOutput(output: Readable, number: number): Promise<{ bytes: Buffer; code: number }> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let tail = '';
    const take = (piece: Buffer) => {
      pieces.push(piece);
      tail = (tail + piece.subarray(-END_BYTES_MAX).toString('latin1')).slice(-END_BYTES_MAX);
      const end = new RegExp(`\\u0000${number} (\\d+)\\n$`).exec(tail);
      if (!end) return;
      const bytes = Buffer.concat(pieces);
      stopReading();
      resolve({ bytes: bytes.subarray(0, bytes.length - end[0].length), code: Number(end[1]) });
    };
    const fail = () => {
      stopReading();
      reject(new Error(`the command ended the process: ${Buffer.concat(pieces).toString()}`));
    };
    const stopReading = () => {
      output.off('data', take);
      output.off('close', fail);
    };
    output.on('data', take);
    output.once('close', fail);
  });
}

let runner: Runner | undefined;
after(() => runner?.close());

/** Callers wait for each command, because all commands of a runner share its current directory. */
async function run(directory: string, argv: readonly string[]): Promise<BytesOutcome> {
  runner ??= new Runner();
  try {
    return await runner.run(directory, argv);
  } catch (error) {
    runner = undefined;
    throw error;
  }
}

export async function pinakes(directory: string, ...argv: string[]): Promise<Outcome> {
  const { code, out, err } = await run(directory, argv);
  return { code, out: out.toString(), err: err.toString() };
}

/** The output as bytes. */
export async function pinakesBytes(directory: string, ...argv: string[]): Promise<Buffer> {
  return (await run(directory, argv)).out;
}

/** The output as JSON values, one per line. */
export async function pinakesJson(directory: string, ...argv: string[]): Promise<Record<string, unknown>[]> {
  const { out } = await pinakes(directory, ...argv);
  return linesOf(out).map((line) => JSON.parse(line) as Record<string, unknown>);
}
