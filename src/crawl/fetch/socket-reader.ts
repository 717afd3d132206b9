/**
 * Reads a connection, or one stream of a shared connection, and returns bytes as they arrive. The number of bytes in
 * memory and the time of a wait are bounded.
 */
import type { Duplex } from 'node:stream';
import { Deadline } from './deadline.ts';
import { FetchError } from './exchange.ts';

const WAITING_BYTES_MAX = 256 * 1024;

export class SocketReader {
  readonly socket: Duplex;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #isEnded = false;
  #failure: Error | undefined;
  /** The pending `read`. */
  #pending:
    | { readonly resolve: (piece: Buffer | undefined) => void; readonly reject: (error: unknown) => void }
    | undefined;
  readonly #deadline: Deadline;
  #timeoutMs = 0;
  #signal: AbortSignal | undefined;
  readonly #onAbort = () => this.#wake(this.#signal!.reason);

  constructor(socket: Duplex) {
    this.socket = socket;
    this.#deadline = new Deadline(() =>
      this.#wake(new FetchError('timeout', `nothing arrived for ${this.#timeoutMs} ms`)),
    );
    socket.on('data', (piece: Buffer) => {
      this.#waiting.push(piece);
      this.#waitingBytes += piece.length;
      if (this.#waitingBytes > WAITING_BYTES_MAX) socket.pause();
      this.#wake();
    });
    const end = () => {
      this.#isEnded = true;
      this.#listenTo(undefined);
      this.#wake();
      this.#deadline.end();
    };
    socket.on('end', end);
    socket.on('close', end);
    socket.on('error', (error) => {
      this.#failure = error;
      end();
    });
  }

  /** Whether the connection can carry another exchange. */
  get isUsable(): boolean {
    return !this.#isEnded && this.#waiting.length === 0 && !this.socket.destroyed;
  }

  /** Whether bytes can be read at once. */
  get hasWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  get failure(): Error | undefined {
    return this.#failure;
  }

  /** The next bytes; undefined when the connection has ended. Throws when no byte arrives for `timeoutMs`. */
  read(timeoutMs: number, signal?: AbortSignal): Promise<Buffer | undefined> {
    if (this.#waiting.length > 0 || this.#isEnded) return Promise.resolve(this.take());
    return signal?.aborted ? Promise.reject(signal.reason) : this.#waitForData(timeoutMs, signal);
  }

  /** The next bytes, if they have arrived. */
  take(): Buffer | undefined {
    const piece = this.#waiting.shift();
    if (!piece) return undefined;
    this.#waitingBytes -= piece.length;
    if (this.socket.isPaused() && this.#waitingBytes < WAITING_BYTES_MAX / 2) this.socket.resume();
    return piece;
  }

  /** Puts bytes back. They are read next. */
  unread(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#waiting.unshift(piece);
    this.#waitingBytes += piece.length;
  }

  #waitForData(timeoutMs: number, signal: AbortSignal | undefined): Promise<Buffer | undefined> {
    this.#listenTo(signal);
    this.#timeoutMs = timeoutMs;
    this.#deadline.start(timeoutMs);
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject };
    });
  }

  /** Listens to this signal, and no longer to the last one. */
  #listenTo(signal: AbortSignal | undefined): void {
    if (signal === this.#signal) return;
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#signal = signal;
    signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  #wake(error?: unknown): void {
    const pending = this.#pending;
    if (!pending) return;
    this.#pending = undefined;
    this.#deadline.clear();
    if (error === undefined) pending.resolve(this.take());
    else pending.reject(error);
  }

  destroy(): void {
    this.socket.destroy();
  }
}
