/**
 * An exchange whose head has come: hands the body out as it comes, of whatever protocol, until its framing or the
 * connection ends it, or a bound is reached.
 */
import type { Clock, EpochMs } from '../../base/index.ts';
import type { Field, HttpHead } from '../../warc/index.ts';
import type { FetchSettings } from '../fetch-settings.ts';
import { BodyTimeout } from './body-timeout.ts';
import { type Exchange, FetchError, type Truncation } from './exchange.ts';
import type { SocketReader } from './socket-reader.ts';

/** Where a body ends. */
export type Framing = {
  /** Whether the last byte of it was taken. */
  readonly isComplete: boolean;
  /** Whether the end of the connection is an end of the body, and not a loss of its rest. */
  readonly endsWithConnection: boolean;
  /** Whether more follows the payload than is taken. */
  readonly isOverlong?: boolean;
  /** How many of these bytes belong to it. */
  take(bytes: Uint8Array): number;
};

export type ExchangeOptions = {
  readonly settings: FetchSettings;
  /** Time that the server may be told to have taken. */
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  /** What is known of the connection. */
  readonly connectionFields: readonly Field[];
};

export type Received = {
  readonly url: string;
  readonly time: EpochMs;
  readonly request: Uint8Array;
  readonly head: HttpHead;
  readonly reader: SocketReader;
  readonly framing: Framing;
  /** Called once, when nothing more will be read: with whether the body was read to an end that its framing gave. */
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

  /** Written out, since a generator would cost a small page more than its bytes do. */
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

  /** The next bytes of the body; undefined at its end, whatever ended it. */
  async #receive(): Promise<Uint8Array | undefined> {
    const { reader, framing } = this.#received;
    while (!this.#isReleased && !framing.isComplete) {
      // A server that sends fast enough is never waited for.
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

  /** What of these bytes belongs to the body; undefined when nothing does. */
  #takeOf(piece: Buffer): Uint8Array | undefined {
    const { reader, framing } = this.#received;
    const taken = framing.take(piece);
    const allowed = Math.min(taken, this.#options.settings.bodyBytesMax - this.#bytes);
    this.#bytes += allowed;
    if (allowed < taken || framing.isOverlong) this.#cut('length');
    else {
      reader.unread(piece.subarray(taken));
      // The connection is free for the next exchange at once.
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
