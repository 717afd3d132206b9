/**
 * Runs commands in one process that has the program loaded, where a process for each would spend half a second of the
 * processor on its start. Words, files and exit codes are the same. What has to do with the process itself, such as its
 * end, signals and broken outputs, wants `pinakes-process.ts`.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { after } from 'node:test';
import { linesOf, type Outcome } from './pinakes-process.ts';

type BytesOutcome = { readonly code: number; readonly out: Buffer; readonly err: Buffer };

/** The line that ends a command is never longer. */
const END_BYTES_MAX = 40;

class Runner {
  readonly #child: ChildProcess;
  #orders = 0;

  constructor() {
    this.#child = fork(join(import.meta.dirname, 'runner-child.ts'), {
      execArgv: [],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    // Its end is seen as the end of its outputs, by the command that waits for them.
    this.#child.on('error', () => {});
    this.#rest(true);
  }

  async run(directory: string, argv: readonly string[]): Promise<BytesOutcome> {
    const number = ++this.#orders;
    if (!this.#child.connected) throw new Error('the process ended after the command before this one');
    this.#rest(false);
    try {
      this.#child.send({ number, directory, argv });
      const [out, err] = await Promise.all([
        untilEnd(this.#child.stdout!, number),
        untilEnd(this.#child.stderr!, number),
      ]);
      return { code: out.code, out: out.bytes, err: err.bytes };
    } finally {
      this.#rest(true);
    }
  }

  async close(): Promise<void> {
    if (!this.#child.connected) return;
    this.#rest(false);
    const ended = once(this.#child, 'close');
    this.#child.disconnect();
    await ended;
  }

  /** Between commands it does not keep the tests from ending. */
  #rest(isResting: boolean): void {
    const call = isResting ? 'unref' : 'ref';
    this.#child[call]();
    this.#child.channel?.[call]();
    for (const output of [this.#child.stdout, this.#child.stderr])
      (output as unknown as { ref(): void; unref(): void })[call]();
  }
}

/** What came before the line that ends a command. */
function untilEnd(output: Readable, number: number): Promise<{ bytes: Buffer; code: number }> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let tail = '';
    const take = (piece: Buffer) => {
      pieces.push(piece);
      tail = (tail + piece.subarray(-END_BYTES_MAX).toString('latin1')).slice(-END_BYTES_MAX);
      const end = new RegExp(`\\u0000${number} (\\d+)\\n$`).exec(tail);
      if (!end) return;
      const bytes = Buffer.concat(pieces);
      leave();
      resolve({ bytes: bytes.subarray(0, bytes.length - end[0].length), code: Number(end[1]) });
    };
    const gone = () => {
      leave();
      reject(new Error(`the command took its process with it: ${Buffer.concat(pieces).toString()}`));
    };
    const leave = () => {
      output.off('data', take);
      output.off('close', gone);
    };
    output.on('data', take);
    output.once('close', gone);
  });
}

let runner: Runner | undefined;
after(() => runner?.close());

/** One at a time: commands on a runner stand in the same directory. */
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

/** What it printed, as bytes. */
export async function pinakesBytes(directory: string, ...argv: string[]): Promise<Buffer> {
  return (await run(directory, argv)).out;
}

/** What it printed, as one JSON value a line. */
export async function pinakesJson(directory: string, ...argv: string[]): Promise<Record<string, unknown>[]> {
  const { out } = await pinakes(directory, ...argv);
  return linesOf(out).map((line) => JSON.parse(line) as Record<string, unknown>);
}
