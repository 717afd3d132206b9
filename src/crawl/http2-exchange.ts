/** One exchange over an HTTP/2 connection. Its messages are written as HTTP/1.1, since they have no bytes of their own that a reader would know. */

import { STATUS_CODES } from 'node:http';
import { type ClientHttp2Session, type ClientHttp2Stream, constants } from 'node:http2';
import { utf8 } from '../base/index.ts';
import { type Field, type HttpHead, parseHttpHead } from '../warc/index.ts';
import { Deadline } from './deadline.ts';
import { type Exchange, FetchError, type Truncation } from './exchange.ts';
import type { FetchSettings } from './fetch-settings.ts';
import { requestMessage } from './http1-exchange.ts';
import { Patience } from './patience.ts';
import { Wire } from './wire.ts';

export type Http2Options = {
  readonly settings: FetchSettings;
  readonly signal?: AbortSignal | undefined;
  readonly facts: readonly Field[];
};

export async function http2Exchange(
  session: ClientHttp2Session,
  url: string,
  target: URL,
  fields: readonly (readonly [string, string])[],
  options: Http2Options,
): Promise<Exchange> {
  const { settings } = options;
  const time = settings.clock();
  const stream = session.request(
    {
      ':method': 'GET',
      ':scheme': 'https',
      ':authority': target.host,
      ':path': target.pathname + target.search,
      ...Object.fromEntries(fields.map(([name, value]) => [name.toLowerCase(), value])),
    },
    { endStream: true },
  );
  const head = await headOf(stream, options);
  return new Http2Response(stream, url, time, requestMessage(target, fields), head, options);
}

async function headOf(stream: ClientHttp2Stream, { settings, signal }: Http2Options): Promise<HttpHead> {
  return new Promise((resolve, reject) => {
    const stop = (error: Error) => {
      deadline.clear();
      signal?.removeEventListener('abort', onAbort);
      stream.close(constants.NGHTTP2_CANCEL);
      reject(error);
    };
    const deadline = new Deadline(settings.headTimeoutMs, () =>
      stop(new FetchError('timeout', `no head within ${settings.headTimeoutMs} ms`)),
    );
    const onAbort = () => stop(signal!.reason as Error);
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
    stream.on('error', (error) => stop(new FetchError('no-response', error.message, error)));
    stream.once('close', () => stop(new FetchError('no-response', 'the server closed the stream without an answer')));
    stream.once('response', (_headers, _flags, ...rest) => {
      deadline.clear();
      signal?.removeEventListener('abort', onAbort);
      const raw = (rest as unknown as [readonly string[]])[0];
      const head = headBytes(raw);
      if (head.length > settings.headBytesMax)
        stop(new FetchError('head-too-large', `the head is longer than ${settings.headBytesMax} bytes`));
      else resolve(parseHttpHead(head));
    });
  });
}

/** The head as HTTP/1.1 writes it; names and values as they came. */
function headBytes(raw: readonly string[]): Uint8Array {
  let status = '';
  let lines = '';
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at]!;
    if (name === ':status') status = raw[at + 1]!;
    else if (!name.startsWith(':')) lines += `${name}: ${raw[at + 1]!.replace(/[\r\n]+/g, ' ')}\r\n`;
  }
  return utf8(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines}\r\n`);
}

class Http2Response implements Exchange {
  readonly kind = 'exchange';
  readonly url: string;
  readonly time: number;
  readonly latencyMs: number;
  readonly request: Uint8Array;
  readonly head: HttpHead;
  readonly status: number;
  readonly #stream: ClientHttp2Stream;
  readonly #wire: Wire;
  readonly #options: Http2Options;
  #truncated: Truncation | undefined;

  constructor(
    stream: ClientHttp2Stream,
    url: string,
    time: number,
    request: Uint8Array,
    head: HttpHead,
    options: Http2Options,
  ) {
    this.#stream = stream;
    this.#wire = new Wire(stream);
    this.#options = options;
    this.url = url;
    this.time = time;
    this.latencyMs = options.settings.clock() - time;
    this.request = request;
    this.head = head;
    this.status = head.status ?? 0;
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
    const { settings, signal } = this.#options;
    const patience = new Patience(settings, this.time);
    let bytes = 0;
    try {
      for (;;) {
        const waitMs = patience.waitMs(bytes, this.#wire.hasWaiting);
        if (waitMs === undefined) return this.#cut('time');
        let piece: Buffer | undefined;
        try {
          piece = await this.#wire.read(waitMs, signal);
        } catch (error) {
          if (error instanceof FetchError && error.reason === 'timeout') return this.#cut('time');
          throw error;
        }
        if (!piece) {
          if (this.#stream.aborted || this.#stream.rstCode !== 0 || this.#wire.failure) this.#truncated = 'disconnect';
          return;
        }
        const allowed = Math.min(piece.length, settings.bodyBytesMax - bytes);
        bytes += allowed;
        if (allowed > 0) yield piece.subarray(0, allowed);
        if (allowed < piece.length) return this.#cut('length');
      }
    } finally {
      this.abandon();
    }
  }

  #cut(why: Truncation): void {
    this.#truncated = why;
  }

  abandon(): void {
    if (!this.#stream.closed) this.#stream.close(constants.NGHTTP2_CANCEL);
  }
}
