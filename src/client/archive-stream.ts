/**
 * A stream of a served archive. Each part ends with a whole record, and has a cursor. From this cursor the stream can
 * continue later, also in another process. To pause, stop iterating. When the connection breaks or the server restarts,
 * the stream reconnects and continues.
 *
 * ```ts
 *   const stream = new ArchiveStream('http://localhost:8080', { format: 'jsonl', query: 'type:text/html' });
 *   for await (const { bytes, cursor } of stream) {
 *     await keep(bytes, cursor);
 *   }
 * ```
 */
import { FrameReader } from './frame-reader.ts';
import { PASSING, pause, RequestRefusedError, refusalFacts, WAIT_MS, WAIT_MS_MAX } from './server-request.ts';

export type StreamQuestion = {
  readonly format?: 'warc' | 'jsonl';
  readonly order?: 'storage' | 'time' | 'url' | 'inlinks' | 'rank';
  readonly collection?: string;
  readonly url?: string;
  readonly prefix?: string;
  readonly from?: string;
  readonly to?: string;
  readonly mime?: string;
  /** 200, or '4xx' for 400 to 499. */
  readonly status?: number | string;
  /** A content key; not in storage order. */
  readonly key?: string;
  readonly query?: string;
  readonly snapshot?: string;
  readonly share?: boolean;
  readonly resolve?: boolean;
  readonly text?: boolean;
  readonly links?: boolean;
};

export type ArchiveStreamOptions = {
  /** The cursor at which an earlier stream with the same question stopped. */
  readonly cursor?: string;
  readonly signal?: AbortSignal;
  /** The number of connections in a row that may fail before a new record arrives. */
  readonly attemptsMax?: number;
  /** Replaces the fetch of the platform. */
  readonly fetch?: typeof fetch;
};

export type StreamPart = {
  readonly bytes: Uint8Array;
  /** The position after these bytes. Undefined inside a record that is too large for one part. */
  readonly cursor: string | undefined;
};

/** A larger part is yielded in pieces, before its record is complete. */
const PART_BYTES_MAX = 8 * 1024 * 1024;
const ATTEMPTS_MAX = 6;

/** The server refuses the stream: the question is not valid, or the cursor has expired. */
export class StreamRefusedError extends RequestRefusedError {
  override readonly name = 'StreamRefusedError';
}

/**
 * The stream could not reconnect. The parts up to `cursor` are complete. The last `bytesBehind` bytes belong to an
 * incomplete record and must be discarded.
 */
export class StreamBrokenError extends Error {
  override readonly name = 'StreamBrokenError';
  readonly cursor: string | undefined;
  readonly bytesBehind: number;

  constructor(cursor: string | undefined, bytesBehind: number, cause: unknown) {
    super('the stream broke off', { cause });
    this.cursor = cursor;
    this.bytesBehind = bytesBehind;
  }
}

export class ArchiveStream implements AsyncIterable<StreamPart> {
  readonly #origin: string;
  readonly #question: StreamQuestion;
  readonly #options: ArchiveStreamOptions;
  #cursor: string | undefined;
  #mayLack = false;
  #bytesBehind = 0;

  constructor(origin: string, question: StreamQuestion = {}, options: ArchiveStreamOptions = {}) {
    this.#origin = origin;
    this.#question = question;
    this.#options = options;
    this.#cursor = options.cursor;
  }

  /** The position after the last yielded part, for a later stream. Undefined before the first reply of the server. */
  get cursor(): string | undefined {
    return this.#cursor;
  }

  /**
   * Whether the server reported that records of the stream may have been deleted since the stream began. The stream
   * leaves out deleted records.
   */
  get mayLack(): boolean {
    return this.#mayLack;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<StreamPart> {
    const { attemptsMax = ATTEMPTS_MAX, signal } = this.#options;
    this.#bytesBehind = 0;
    for (let failures = 0; ; failures++) {
      const before = this.#cursor;
      let failure: unknown;
      try {
        if (yield* this.#connection()) return;
        failures = -1;
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof StreamRefusedError && !PASSING.has(error.status)) throw error;
        failure = error;
        if (this.#cursor !== before) failures = 0;
      }
      if (this.#bytesBehind > 0 || failures + 1 >= attemptsMax)
        throw failure instanceof StreamRefusedError
          ? failure
          : new StreamBrokenError(this.#cursor, this.#bytesBehind, failure);
      const asked = failure instanceof StreamRefusedError ? Math.min(failure.retryAfterMs, WAIT_MS_MAX) : 0;
      await pause(Math.max(asked, WAIT_MS * 2 ** Math.max(0, failures)), signal);
    }
  }

  /** The parts of one connection. Returns whether the stream has ended. */
  async *#connection(): AsyncGenerator<StreamPart, boolean> {
    const { fetch: fetchReply = fetch, signal } = this.#options;
    signal?.throwIfAborted();
    const connection = new AbortController();
    const disconnect = () => connection.abort();
    signal?.addEventListener('abort', disconnect, { once: true });
    try {
      const response = await fetchReply(this.#address(), { signal: connection.signal });
      if (!response.ok || !response.body) throw new StreamRefusedError(response.status, await refusalFacts(response));
      if (response.headers.has('x-pinakes-deleted')) this.#mayLack = true;
      this.#cursor ??= response.headers.get('x-pinakes-cursor') ?? undefined;
      return yield* this.#parts(response.body, signal);
    } finally {
      signal?.removeEventListener('abort', disconnect);
      connection.abort();
    }
  }

  async *#parts(
    body: ReadableStream<Uint8Array>,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<StreamPart, boolean> {
    const frames = new FrameReader();
    const reader = body.getReader();
    let held: Uint8Array[] = [];
    let heldBytes = 0;
    const takeHeld = () => {
      const bytes = joined(held, heldBytes);
      held = [];
      heldBytes = 0;
      return bytes;
    };
    for (;;) {
      const { done, value } = await reader.read();
      if (done) throw new Error('the reply ended before the stream did');
      for (const { kind, bytes } of frames.push(value)) {
        // The caller may have aborted while it handled the previous part.
        signal?.throwIfAborted();
        if (kind === 'X') return text(bytes) === 'yes';
        if (kind === 'C') {
          const part = { bytes: takeHeld(), cursor: text(bytes) };
          this.#cursor = part.cursor;
          this.#bytesBehind = 0;
          if (part.bytes.length > 0) yield part;
        } else if (kind === 'D') {
          held.push(bytes);
          heldBytes += bytes.length;
          if (heldBytes < PART_BYTES_MAX) continue;
          this.#bytesBehind += heldBytes;
          yield { bytes: takeHeld(), cursor: undefined };
        }
      }
    }
  }

  #address(): string {
    const address = new URL('/api/stream', this.#origin);
    for (const [name, value] of Object.entries(this.#question))
      if (value !== undefined) address.searchParams.set(name, String(value));
    if (this.#cursor !== undefined) {
      address.searchParams.delete('share');
      address.searchParams.delete('snapshot');
      address.searchParams.set('cursor', this.#cursor);
    }
    address.searchParams.set('frames', 'true');
    return address.href;
  }
}

function joined(parts: readonly Uint8Array[], bytes: number): Uint8Array {
  if (parts.length === 1) return parts[0]!;
  const all = new Uint8Array(bytes);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
