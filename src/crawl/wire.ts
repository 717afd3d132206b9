/**
 * The reading side of a connection, or of one stream of many on it: bytes as they arrive, one piece at a time, with a bound on what waits in memory and on how long is waited.
 */
import type { Duplex } from 'node:stream';
import { Deadline } from './deadline.ts';
import { FetchError } from './exchange.ts';

const WAITING_BYTES_MAX = 256 * 1024;

export class Wire {
  readonly socket: Duplex;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #isEnded = false;
  #failure: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(socket: Duplex) {
    this.socket = socket;
    socket.on('data', (piece: Buffer) => {
      this.#waiting.push(piece);
      this.#waitingBytes += piece.length;
      if (this.#waitingBytes > WAITING_BYTES_MAX) socket.pause();
      this.#wake?.();
    });
    const end = () => {
      this.#isEnded = true;
      this.#wake?.();
    };
    socket.on('end', end);
    socket.on('close', end);
    socket.on('error', (error) => {
      this.#failure = error;
      end();
    });
  }

  /** Whether it can carry another exchange. */
  get isUsable(): boolean {
    return !this.#isEnded && this.#waiting.length === 0 && !this.socket.destroyed;
  }

  /** Whether bytes are there to be read at once. */
  get hasWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  get failure(): Error | undefined {
    return this.#failure;
  }

  /** The next bytes; undefined when the connection has ended. Throws when `timeoutMs` pass without any. */
  async read(timeoutMs: number, signal?: AbortSignal): Promise<Buffer | undefined> {
    if (this.#waiting.length === 0 && !this.#isEnded) await this.#arrival(timeoutMs, signal);
    const piece = this.#waiting.shift();
    if (!piece) return undefined;
    this.#waitingBytes -= piece.length;
    if (this.socket.isPaused() && this.#waitingBytes < WAITING_BYTES_MAX / 2) this.socket.resume();
    return piece;
  }

  /** Puts bytes back in front. */
  unread(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#waiting.unshift(piece);
    this.#waitingBytes += piece.length;
  }

  #arrival(timeoutMs: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const stop = (error?: Error) => {
        this.#wake = undefined;
        deadline.clear();
        signal?.removeEventListener('abort', onAbort);
        if (error) reject(error);
        else resolve();
      };
      const deadline = new Deadline(timeoutMs, () =>
        stop(new FetchError('timeout', `nothing came for ${timeoutMs} ms`)),
      );
      const onAbort = () => stop(signal!.reason as Error);
      this.#wake = () => stop();
      if (signal?.aborted) onAbort();
      else signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  destroy(): void {
    this.socket.destroy();
  }
}
