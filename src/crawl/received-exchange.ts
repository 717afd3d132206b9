/**
 * An exchange whose head has come: hands the body out as it comes, of whatever protocol, until its framing or the connection ends it, or a bound is reached.
 */
import type { EpochMs } from '../base/index.ts';
import type { Field, HttpHead } from '../warc/index.ts';
import { type Exchange, FetchError, type Truncation } from './exchange.ts';
import type { FetchSettings } from './fetch-settings.ts';
import { Patience } from './patience.ts';
import type { Wire } from './wire.ts';

/** Where a body ends. */
export type Framing = {
  /** Whether the last byte of it was taken. */
  readonly isComplete: boolean;
  /** Whether the end of the connection is an end of the body, and not a loss of its rest. */
  readonly endsWithConnection: boolean;
  /** How many of these bytes belong to it. */
  take(bytes: Uint8Array): number;
};

export type ExchangeOptions = {
  readonly settings: FetchSettings;
  readonly signal?: AbortSignal | undefined;
  /** What is known of the connection. */
  readonly facts: readonly Field[];
};

export type Received = {
  readonly url: string;
  readonly time: EpochMs;
  readonly request: Uint8Array;
  readonly head: HttpHead;
  readonly wire: Wire;
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
  #truncated: Truncation | undefined;
  #isReleased = false;

  constructor(received: Received, options: ExchangeOptions) {
    this.#received = received;
    this.#options = options;
    this.url = received.url;
    this.time = received.time;
    this.latencyMs = options.settings.clock() - received.time;
    this.request = received.request;
    this.head = received.head;
    this.status = received.head.status ?? 0;
  }

  truncated(): Truncation | undefined {
    return this.#truncated;
  }

  fields(): Field[] {
    const fields = [...this.#options.facts];
    if (this.#truncated) fields.push({ name: 'WARC-Truncated', value: this.#truncated });
    return fields;
  }

  get body(): AsyncIterable<Uint8Array> {
    return this.#read();
  }

  async *#read(): AsyncGenerator<Uint8Array> {
    const { settings } = this.#options;
    const { wire, framing } = this.#received;
    const patience = new Patience(settings, this.time);
    let bytes = 0;
    try {
      while (!framing.isComplete) {
        const waitMs = patience.waitMs(bytes, wire.hasWaiting);
        const piece = waitMs === undefined ? 'late' : (wire.take() ?? (await this.#next(waitMs)));
        if (piece === 'late') {
          this.#truncated = 'time';
          return;
        }
        if (!piece) {
          if (!framing.endsWithConnection || wire.failure) this.#truncated = 'disconnect';
          return;
        }
        const taken = framing.take(piece);
        const allowed = Math.min(taken, settings.bodyBytesMax - bytes);
        bytes += allowed;
        if (allowed > 0) yield allowed === piece.length ? piece : piece.subarray(0, allowed);
        if (allowed < taken) {
          this.#truncated = 'length';
          return;
        }
        wire.unread(piece.subarray(taken));
      }
      this.#release(true);
    } finally {
      this.#release(false);
    }
  }

  async #next(waitMs: number): Promise<Buffer | 'late' | undefined> {
    try {
      return await this.#received.wire.read(waitMs, this.#options.signal);
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
