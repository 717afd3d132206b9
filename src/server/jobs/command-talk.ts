/**
 * The server's end of the talk with a command line: its frames come in, ours go out, and when it leaves the command is
 * asked to stop.
 */

import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { FRAME_BYTES_MAX, FRAMES_MIME, type Frame, formatFrame } from '../../base/index.ts';
import type { RemoteCommand } from './job-kind.ts';

const HEARTBEAT_MS = 15_000;
const SAID_CHARACTERS_MAX = 2000;

export type CommandStart = Pick<RemoteCommand, 'argv' | 'directory' | 'isTerminal' | 'columns'>;

/** Who follows a command besides the person at its terminal. */
export type CommandWatch = Pick<RemoteCommand, 'signal' | 'status' | 'report' | 'begins'> & {
  /** A line for the person. */
  say(line: string): void;
  /** A line of standard output. */
  print(line: string): void;
};

/** Nobody follows it. */
export const UNWATCHED: Omit<CommandWatch, 'signal'> = {
  status: () => {},
  report: () => {},
  begins: async () => {},
  say: () => {},
  print: () => {},
};

export class CommandTalk {
  readonly #response: ServerResponse;
  readonly #controller = new AbortController();
  readonly #beat: NodeJS.Timeout;
  /** What the next frame that answers us is handed to. */
  #reply: ((frame: Frame | undefined) => void) | undefined;
  #said = '';

  constructor(frames: AsyncIterable<Frame>, response: ServerResponse) {
    this.#response = response;
    response.writeHead(200, { 'content-type': FRAMES_MIME, 'cache-control': 'no-store' });
    response.flushHeaders();
    response.once('close', () => this.#leave());
    this.#beat = setInterval(() => void this.#send('H').catch(() => {}), HEARTBEAT_MS);
    void this.#listen(frames);
  }

  /** Aborted when the person interrupts the command, and when the client is gone. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The last that the command said to the person. */
  get lastSaid(): string {
    return this.#said.trim();
  }

  /** The command as the one who runs it sees it. */
  command(start: CommandStart, { say, print, ...watch }: CommandWatch): RemoteCommand {
    watch.signal.addEventListener('abort', () => this.#answer(undefined), { once: true });
    return {
      ...start,
      ...watch,
      stdout: async (bytes) => {
        if (print !== UNWATCHED.print) for (const line of linesOf(bytes)) print(line);
        await this.#send('O', bytes);
      },
      stderr: async (bytes) => {
        const lines = linesOf(bytes);
        for (const line of lines) say(line);
        if (lines.length > 0) this.#said = lines.join(' ').slice(0, SAID_CHARACTERS_MAX);
        await this.#send('E', bytes);
      },
      stdin: () => this.#stdin(),
      ask: (question) => (start.isTerminal ? this.#ask(question) : Promise.resolve(undefined)),
    };
  }

  /** Says something to the person. */
  async say(text: string): Promise<void> {
    await this.#send('E', `${text}\n`);
  }

  async end(code: number): Promise<void> {
    clearInterval(this.#beat);
    await this.#send('X', String(code)).catch(() => {});
    this.#response.end();
  }

  async #listen(frames: AsyncIterable<Frame>): Promise<void> {
    try {
      for await (const frame of frames) {
        if (frame.kind !== 'I') this.#answer(frame);
        else {
          this.#controller.abort();
          this.#answer(undefined);
        }
      }
    } catch {
      // What is no frame ends the talk like a broken connection does.
    }
    if (!this.#response.writableEnded) this.#leave();
  }

  #answer(frame: Frame | undefined): void {
    const reply = this.#reply;
    this.#reply = undefined;
    reply?.(frame);
  }

  #leave(): void {
    clearInterval(this.#beat);
    this.#controller.abort();
    this.#answer(undefined);
  }

  async #request(kind: string, content = ''): Promise<Frame | undefined> {
    if (this.#response.destroyed || this.signal.aborted) return undefined;
    const { promise, resolve } = Promise.withResolvers<Frame | undefined>();
    this.#reply = resolve;
    await this.#send(kind, content);
    return promise;
  }

  async *#stdin(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const frame = await this.#request('R');
      // An input that broke off is not an input that ended: nothing of it may be stored.
      if (!frame) throw interrupted();
      if (frame.kind !== 'D') return;
      yield frame.bytes;
    }
  }

  async #ask(question: string): Promise<string | undefined> {
    const frame = await this.#request('Q', question);
    if (!frame) throw interrupted();
    return frame?.kind === 'A' ? frame.bytes.toString() : undefined;
  }

  async #send(kind: string, content: Uint8Array | string = ''): Promise<void> {
    const bytes = typeof content === 'string' ? Buffer.from(content) : content;
    for (let at = 0; at === 0 || at < bytes.length; at += FRAME_BYTES_MAX) {
      if (this.#response.destroyed) throw interrupted();
      if (this.#response.write(formatFrame(kind, bytes.subarray(at, at + FRAME_BYTES_MAX)))) continue;
      await roomIn(this.#response);
    }
  }
}

/** Lines for the log of the job; those that a next one replaces on a terminal are none. */
function linesOf(bytes: Uint8Array): string[] {
  const lines = Buffer.from(bytes).toString().split('\n');
  return lines.filter((line) => line !== '' && !line.includes('\r'));
}

/**
 * Settles when more can be written, or nothing any more. Whichever of the two does not come is listened for no longer.
 */
async function roomIn(response: ServerResponse): Promise<void> {
  const over = new AbortController();
  const heard = ['drain', 'close'].map((event) => once(response, event, { signal: over.signal }));
  try {
    await Promise.race(heard);
  } finally {
    over.abort();
    await Promise.allSettled(heard);
  }
}

function interrupted(): DOMException {
  return new DOMException('the command was interrupted, or its client is gone', 'AbortError');
}
