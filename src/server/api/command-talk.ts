/** The server's end of the talk with a command line: its frames come in, ours go out, and when it leaves the command is asked to stop. */

import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { FRAME_BYTES_MAX, FRAMES_MIME, type Frame, formatFrame } from '../../base/index.ts';
import type { RemoteCommand } from '../job-kind.ts';

const HEARTBEAT_MS = 15_000;
const SAID_CHARACTERS_MAX = 2000;

export type CommandStart = Pick<RemoteCommand, 'argv' | 'directory' | 'isTerminal' | 'columns'>;

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
  command(
    start: CommandStart,
    watch: { signal: AbortSignal; status(text: string): void; say(line: string): void },
  ): RemoteCommand {
    watch.signal.addEventListener('abort', () => this.#answer(undefined), { once: true });
    return {
      ...start,
      signal: watch.signal,
      status: watch.status,
      stdout: (bytes) => this.#send('O', bytes),
      stderr: async (bytes) => {
        this.#remember(Buffer.from(bytes).toString(), watch.say);
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
      await Promise.race([once(this.#response, 'drain'), once(this.#response, 'close')]);
    }
  }

  /** Lines for the log of the job; those that a next one replaces on a terminal are none. */
  #remember(text: string, say: (line: string) => void): void {
    const lines = text.split('\n').filter((line) => line !== '' && !line.includes('\r'));
    for (const line of lines) say(line);
    if (lines.length > 0) this.#said = lines.join(' ').slice(0, SAID_CHARACTERS_MAX);
  }
}

function interrupted(): DOMException {
  return new DOMException('the command was interrupted, or its client is gone', 'AbortError');
}
