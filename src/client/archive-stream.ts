/**
 * A stream of a served archive. Parts come whole: each ends with a record, and with its cursor the stream goes on
 * behind it, now or much later, here or elsewhere. To pause is to stop asking; a connection that breaks meanwhile, and
 * a server that starts anew, are taken in stride.
 *
 * ```ts
 *   const stream = new ArchiveStream('http://localhost:8080', { format: 'jsonl', query: 'type:text/html' });
 *   for await (const { bytes, cursor } of stream) {
 *     await keep(bytes, cursor);
 *   }
 * ```
 */
import { FrameReader } from './frame-reader.ts';

export type StreamQuestion = {
  readonly format?: 'warc' | 'jsonl';
  readonly order?: 'storage' | 'time' | 'url' | 'inlinks' | 'rank';
  readonly collection?: string;
  readonly url?: string;
  readonly prefix?: string;
  readonly from?: string;
  readonly to?: string;
  readonly mime?: string;
  /** 200, or '4xx' for all from 400 to 499. */
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
  /** Where an earlier stream of the same question stopped. */
  readonly cursor?: string;
  readonly signal?: AbortSignal;
  /** How often in a row a connection may fail that brings nothing new. */
  readonly attemptsMax?: number;
  /** Another fetch than the platform's. */
  readonly fetch?: typeof fetch;
};

export type StreamPart = {
  readonly bytes: Uint8Array;
  /** Behind these bytes. Undefined inside of a record that is too large for one part. */
  readonly cursor: string | undefined;
};

/** Larger parts are handed out before they are whole. */
const PART_BYTES_MAX = 8 * 1024 * 1024;
const ATTEMPTS_MAX = 6;
const WAIT_MS = 250;

/** The server does not give this stream: the question is wrong, or its cursor has expired. */
export class StreamRefusedError extends Error {
  override readonly name = 'StreamRefusedError';
  readonly status: number;
  readonly code: string;
  readonly advice: string;

  constructor(status: number, { code, message, advice }: { code: string; message: string; advice: string }) {
    super(message);
    this.status = status;
    this.code = code;
    this.advice = advice;
  }
}

/**
 * The connection broke for good. What was handed out up to `cursor` is whole; `bytesBehind` more came of the record
 * behind it and have to be thrown away.
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

  /**
   * Where a later stream goes on: behind the last part that was handed out. Undefined before the server has answered.
   */
  get cursor(): string | undefined {
    return this.#cursor;
  }

  /** Whether the server has said that records may have been deleted since the stream began, which then do not come. */
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
        if (error instanceof StreamRefusedError && error.status !== 503) throw error;
        failure = error;
        if (this.#cursor !== before) failures = 0;
      }
      if (this.#bytesBehind > 0 || failures + 1 >= attemptsMax)
        throw failure instanceof StreamRefusedError
          ? failure
          : new StreamBrokenError(this.#cursor, this.#bytesBehind, failure);
      await pause(WAIT_MS * 2 ** Math.max(0, failures), signal);
    }
  }

  /** What one connection gives; says whether that was all. */
  async *#connection(): AsyncGenerator<StreamPart, boolean> {
    const { fetch: ask = fetch, signal } = this.#options;
    signal?.throwIfAborted();
    const left = new AbortController();
    const leave = () => left.abort();
    signal?.addEventListener('abort', leave, { once: true });
    try {
      const response = await ask(this.#address(), { signal: left.signal });
      if (!response.ok || !response.body) throw await refusal(response);
      if (response.headers.has('x-pinakes-deleted')) this.#mayLack = true;
      this.#cursor ??= response.headers.get('x-pinakes-cursor') ?? undefined;
      return yield* this.#parts(response.body, signal);
    } finally {
      signal?.removeEventListener('abort', leave);
      left.abort();
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
    const take = () => {
      const bytes = joined(held, heldBytes);
      held = [];
      heldBytes = 0;
      return bytes;
    };
    for (;;) {
      const { done, value } = await reader.read();
      if (done) throw new Error('the reply ended before the stream did');
      for (const { kind, bytes } of frames.push(value)) {
        // Who left while a part was being handled gets none of those that came with it.
        signal?.throwIfAborted();
        if (kind === 'X') return text(bytes) === 'yes';
        if (kind === 'C') {
          const part = { bytes: take(), cursor: text(bytes) };
          this.#cursor = part.cursor;
          this.#bytesBehind = 0;
          if (part.bytes.length > 0) yield part;
        } else if (kind === 'D') {
          held.push(bytes);
          heldBytes += bytes.length;
          if (heldBytes < PART_BYTES_MAX) continue;
          this.#bytesBehind += heldBytes;
          yield { bytes: take(), cursor: undefined };
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

async function refusal(response: Response): Promise<StreamRefusedError> {
  const unknown = { code: 'UNKNOWN', message: `the server answered with status ${response.status}`, advice: '' };
  const { error } = (await response.json().catch(() => ({}))) as { error?: Partial<typeof unknown> };
  return new StreamRefusedError(response.status, { ...unknown, ...error });
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

function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', leave);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', leave, { once: true });
  });
}
