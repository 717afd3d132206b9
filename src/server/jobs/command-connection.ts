/**
 * The server's end of the connection with a command line: frames of both directions. When the client disconnects, the
 * command is asked to stop.
 */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { FRAME_BYTES_MAX, FRAMES_MIME, type Frame, formatFrame } from '../../base/index.ts';
import type { RemoteCommand } from './remote-command.ts';

const HEARTBEAT_MS = 15_000;
const LAST_SAID_CHARACTERS_MAX = 2000;

export type CommandStart = Pick<RemoteCommand, 'argv' | 'directory' | 'isTerminal' | 'columns' | 'user'>;

/** Also gets the output that a command writes to its terminal. */
export type CommandObserver = Pick<RemoteCommand, 'signal' | 'status' | 'report' | 'begins'> & {
  /** Called with a line of standard error. */
  say(line: string): void;
  /** Called with a line of standard output. */
  print(line: string): void;
};

export const UNOBSERVED: Omit<CommandObserver, 'signal'> = {
  status: () => {},
  report: () => {},
  begins: async () => {},
  say: () => {},
  print: () => {},
};

export class CommandConnection {
  readonly #response: ServerResponse;
  readonly #controller = new AbortController();
  readonly #heartbeat: NodeJS.Timeout;
  /** Called with the frame that answers the last request to the client. */
  #onAnswer: ((frame: Frame | undefined) => void) | undefined;
  #lastSaid = '';

  constructor(frames: AsyncIterable<Frame>, response: ServerResponse) {
    this.#response = response;
    response.writeHead(200, { 'content-type': FRAMES_MIME, 'cache-control': 'no-store' });
    response.flushHeaders();
    response.once('close', () => this.#disconnect());
    this.#heartbeat = setInterval(() => void this.#send('H').catch(() => {}), HEARTBEAT_MS);
    void this.#listen(frames);
  }

  /** Aborted when the user interrupts the command, and when the client disconnects. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The last output of the command on standard error. */
  get lastSaid(): string {
    return this.#lastSaid.trim();
  }

  /** The command in the form that the runner receives. */
  command(start: CommandStart, { say, print, ...observer }: CommandObserver): RemoteCommand {
    observer.signal.addEventListener('abort', () => this.#answer(undefined), { once: true });
    return {
      ...start,
      ...observer,
      stdout: async (bytes) => {
        if (print !== UNOBSERVED.print) for (const line of linesOf(bytes)) print(line);
        await this.#send('O', bytes);
      },
      stderr: async (bytes) => {
        const lines = linesOf(bytes);
        for (const line of lines) say(line);
        if (lines.length > 0) this.#lastSaid = lines.join(' ').slice(0, LAST_SAID_CHARACTERS_MAX);
        await this.#send('E', bytes);
      },
      stdin: () => this.#stdin(),
      ask: (question) => (start.isTerminal ? this.#ask(question) : Promise.resolve(undefined)),
    };
  }

  /** Writes a line to the terminal of the user. */
  async say(text: string): Promise<void> {
    await this.#send('E', `${text}\n`);
  }

  async end(code: number): Promise<void> {
    clearInterval(this.#heartbeat);
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
      // Invalid frames end the connection, as a network failure does.
    }
    if (!this.#response.writableEnded) this.#disconnect();
  }

  #answer(frame: Frame | undefined): void {
    const onAnswer = this.#onAnswer;
    this.#onAnswer = undefined;
    onAnswer?.(frame);
  }

  #disconnect(): void {
    clearInterval(this.#heartbeat);
    this.#controller.abort();
    this.#answer(undefined);
  }

  async #request(kind: string, content = ''): Promise<Frame | undefined> {
    if (this.#response.destroyed || this.signal.aborted) return undefined;
    const { promise, resolve } = Promise.withResolvers<Frame | undefined>();
    this.#onAnswer = resolve;
    await this.#send(kind, content);
    return promise;
  }

  async *#stdin(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const frame = await this.#request('R');
      // The input is incomplete, so nothing of it may be stored.
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

/** Lines for the log of the job, without progress lines, which a terminal overwrites. */
function linesOf(bytes: Uint8Array): string[] {
  const lines = Buffer.from(bytes).toString().split('\n');
  return lines.filter((line) => line !== '' && !line.includes('\r'));
}

/** Settles when more can be written or the connection has closed, and removes its listeners. */
async function roomIn(response: ServerResponse): Promise<void> {
  const settled = new AbortController();
  const events = ['drain', 'close'].map((event) => once(response, event, { signal: settled.signal }));
  try {
    await Promise.race(events);
  } finally {
    settled.abort();
    await Promise.allSettled(events);
  }
}

function interrupted(): DOMException {
  return new DOMException('the command was interrupted, or its client disconnected', 'AbortError');
}
