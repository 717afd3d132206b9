/**
 * The body of an exchange on its way into the store. A small body is received completely, into one piece of memory with
 * its head. It is hashed, stored and read for links from there. Of a longer body the beginning is received, and the
 * rest is streamed into the store.
 */
import type { Exchange } from './exchange.ts';

/**
 * Bodies up to this size stay in memory until their links are read. Larger bodies are read back from the archive, one
 * at a time.
 */
const KEPT_BYTES_MAX = 256 * 1024;

export class ReceivedBody {
  readonly #exchange: Exchange;
  readonly #onEnd: (bytes: number) => void;
  readonly #rest: AsyncIterator<Uint8Array>;
  #parts: Uint8Array[] = [];
  #bytes = 0;
  #block: Buffer | undefined;

  private constructor(exchange: Exchange, onEnd: (bytes: number) => void) {
    this.#exchange = exchange;
    this.#onEnd = onEnd;
    this.#rest = exchange.body[Symbol.asyncIterator]();
  }

  /**
   * Receives a small body, or the beginning of a longer one. `onEnd` is called with the length when all of the body was
   * received.
   */
  static async receive(exchange: Exchange, onEnd: (bytes: number) => void): Promise<ReceivedBody> {
    const body = new ReceivedBody(exchange, onEnd);
    for (let next = await body.#rest.next(); !next.done; next = await body.#rest.next()) {
      body.#parts.push(next.value);
      body.#bytes += next.value.length;
      if (body.#bytes > KEPT_BYTES_MAX) return body;
    }
    body.#block = Buffer.concat([exchange.head.bytes, ...body.#parts]);
    body.#parts = [];
    onEnd(body.#bytes);
    return body;
  }

  /** The number of bytes received: the length of the body after `onEnd` was called. */
  get bytes(): number {
    return this.#bytes;
  }

  get head(): Uint8Array {
    const { bytes } = this.#exchange.head;
    return this.#block ? this.#block.subarray(0, bytes.length) : bytes;
  }

  /** The whole body, if it is small. */
  get whole(): Uint8Array | undefined {
    return this.#block?.subarray(this.#exchange.head.bytes.length);
  }

  /** The whole body. It can be read once. */
  get source(): Uint8Array | AsyncIterable<Uint8Array> {
    return this.whole ?? this.#pass();
  }

  async *#pass(): AsyncGenerator<Uint8Array> {
    try {
      yield* this.#parts;
      this.#parts = [];
      for (let next = await this.#rest.next(); !next.done; next = await this.#rest.next()) {
        this.#bytes += next.value.length;
        yield next.value;
      }
      this.#onEnd(this.#bytes);
    } finally {
      await this.#rest.return?.();
    }
  }
}
