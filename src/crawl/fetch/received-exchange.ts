/**
 * An exchange whose head has been received, over any protocol. It returns the body as it arrives, until the framing or
 * the connection ends it, or a bound cuts it.
 */
import type { Clock, EpochMs } from '../../base/index.ts';
import type { Field, HttpHead } from '../../warc/index.ts';
import type { FetchSettings } from '../fetch-settings.ts';
import { BodyTimeout } from './body-timeout.ts';
import { type Exchange, FetchError, type Truncation } from './exchange.ts';
import type { SocketReader } from './socket-reader.ts';

/** Finds the end of a body. */
export type Framing = {
  /** Whether the last byte of the body was taken. */
  readonly isComplete: boolean;
  /** Whether the body may end when the connection closes. If not, a closed connection has cut the body. */
  readonly endsWithConnection: boolean;
  /** Whether the trailer fields after the payload exceed the bound. */
  readonly isOverlong?: boolean;
  /** How many of these bytes belong to the body. */
  take(bytes: Uint8Array): number;
};

export type ExchangeOptions = {
  readonly settings: FetchSettings;
  /** The clock that measures how long a server takes. */
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  /** Fields of the WARC record about the connection. */
  readonly connectionFields: readonly Field[];
};

export type Received = {
  readonly url: string;
  readonly time: EpochMs;
  readonly request: Uint8Array;
  readonly head: HttpHead;
  readonly reader: SocketReader;
  readonly framing: Framing;
  /** Called once, after the last read. `isComplete`: whether the body was read to the end of its framing. */
  readonly onRelease: (isComplete: boolean) => void;
};

export class ReceivedExchange implements Exchange {
  readonly kind = 'exchange';
  readonly url: string;
  readonly time: EpochMs;
  readonly latencyMs: number;
  readonly request: Uint8Array;
  readonly head: HttpHead;
  readonly status: number;
  readonly #received: Received;
  readonly #options: ExchangeOptions;
  readonly #bodyTimeout: BodyTimeout;
  #bytes = 0;
  #truncated: Truncation | undefined;
  #isReleased = false;

  constructor(received: Received, options: ExchangeOptions) {
    this.#received = received;
    this.#options = options;
    this.#bodyTimeout = new BodyTimeout(options.settings, options.clock, received.time);
    this.url = received.url;
    this.time = received.time;
    this.latencyMs = options.clock() - received.time;
    this.request = received.request;
    this.head = received.head;
    this.status = received.head.status ?? 0;
  }

  truncated(): Truncation | undefined {
    return this.#truncated;
  }

  fields(): Field[] {
    const fields = [...this.#options.connectionFields];
    if (this.#truncated) fields.push({ name: 'WARC-Truncated', value: this.#truncated });
    return fields;
  }

  get body(): AsyncIterable<Uint8Array> {
    return { [Symbol.asyncIterator]: () => this.#pieces };
  }

  /** An iterator written by hand, since a generator would take more time than the bytes of a small page. */
  readonly #pieces: AsyncIterator<Uint8Array> = {
    next: async () => {
      try {
        const value = await this.#receive();
        return value ? { value, done: false } : { value: undefined, done: true };
      } catch (error) {
        this.#release(false);
        throw error;
      }
    },
    return: async () => {
      this.#release(false);
      return { value: undefined, done: true };
    },
  };

  /** The next bytes of the body; undefined at its end, whether it is whole or cut. */
  async #receive(): Promise<Uint8Array | undefined> {
    const { reader, framing } = this.#received;
    while (!this.#isReleased && !framing.isComplete) {
      // If bytes have already arrived, as from a fast server, the read below does not check the signal.
      this.#options.signal?.throwIfAborted();
      const waitMs = this.#bodyTimeout.waitMs(this.#bytes, reader.hasWaiting);
      const piece = waitMs === undefined ? 'late' : (reader.take() ?? (await this.#next(waitMs)));
      if (piece === 'late') return this.#cut('time');
      if (!piece) {
        if (!framing.endsWithConnection || reader.failure) return this.#cut('disconnect');
        break;
      }
      const taken = this.#takeOf(piece);
      if (taken) return taken;
    }
    this.#release(framing.isComplete);
    return undefined;
  }

  /** The part of these bytes that belongs to the body; undefined when none does. */
  #takeOf(piece: Buffer): Uint8Array | undefined {
    const { reader, framing } = this.#received;
    const taken = framing.take(piece);
    const allowed = Math.min(taken, this.#options.settings.bodyBytesMax - this.#bytes);
    this.#bytes += allowed;
    if (allowed < taken || framing.isOverlong) this.#cut('length');
    else {
      reader.unread(piece.subarray(taken));
      // Free the connection for the next exchange at once.
      if (framing.isComplete) this.#release(true);
    }
    if (allowed === 0) return undefined;
    return allowed === piece.length ? piece : piece.subarray(0, allowed);
  }

  #cut(why: Truncation): undefined {
    this.#truncated = why;
    this.#release(false);
  }

  async #next(waitMs: number): Promise<Buffer | 'late' | undefined> {
    try {
      return await this.#received.reader.read(waitMs, this.#options.signal);
    } catch (error) {
      if (error instanceof FetchError && error.reason === 'timeout') return 'late';
      throw error;
    }
  }

  #release(isComplete: boolean): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#received.onRelease(isComplete);
  }

  abandon(): void {
    this.#release(false);
  }
}
