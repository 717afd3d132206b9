/**
 * One exchange over an HTTP/2 connection. Its messages are written as HTTP/1.1, because readers of archives do not
 * understand HTTP/2 frames.
 */

import { STATUS_CODES } from 'node:http';
import { type ClientHttp2Session, type ClientHttp2Stream, constants } from 'node:http2';
import { type HttpHead, parseHttpHead } from '../../warc/index.ts';
import { contentLength, hasNoBody } from './body-framing.ts';
import { Deadline } from './deadline.ts';
import { type Exchange, FetchError, type FetchRequest, Http1Required, RequestUnprocessed } from './exchange.ts';
import { fieldLines, requestMessage } from './http1-exchange.ts';
import { type ExchangeOptions, type Framing, ReceivedExchange } from './received-exchange.ts';
import { SocketReader } from './socket-reader.ts';
import type { RequestTarget } from './target.ts';

export async function http2Exchange(
  session: ClientHttp2Session,
  request: FetchRequest,
  target: RequestTarget,
  fields: readonly (readonly [string, string])[],
  options: ExchangeOptions,
): Promise<Exchange> {
  const { url, method = 'GET', body } = request;
  const time = options.clock();
  const stream = session.request(
    {
      ':method': method,
      ':scheme': 'https',
      ':authority': target.host,
      ':path': target.path,
      ...Object.fromEntries(fields.map(([name, value]) => [name.toLowerCase(), value])),
    },
    { endStream: body === undefined },
  );
  const hasEnded = watchEnd(stream);
  if (body) stream.end(body);
  const head = await receiveHead(stream, options);
  const onRelease = () => {
    if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
  };
  const framing = new StreamFraming(hasEnded, head);
  const message = requestMessage(target, fieldLines(fields), request);
  const received = { url, time, request: message, head, reader: new SocketReader(stream), framing, onRelease };
  return new ReceivedExchange(received, options);
}

/** Stream errors which mean that the request was not processed. */
const REFUSALS = new Map<number, typeof RequestUnprocessed>([
  [constants.NGHTTP2_REFUSED_STREAM, RequestUnprocessed],
  [constants.NGHTTP2_HTTP_1_1_REQUIRED, Http1Required],
]);

async function receiveHead(stream: ClientHttp2Stream, { settings, signal }: ExchangeOptions): Promise<HttpHead> {
  return new Promise((resolve, reject) => {
    const stop = (error: Error) => {
      deadline.end();
      signal?.removeEventListener('abort', onAbort);
      stream.close(constants.NGHTTP2_CANCEL);
      reject(error);
    };
    const deadline = new Deadline(() => stop(new FetchError('timeout', `no head within ${settings.headTimeoutMs} ms`)));
    deadline.start(settings.headTimeoutMs);
    const onAbort = () => stop(signal!.reason as Error);
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
    stream.on('error', (error) => {
      const Refusal = REFUSALS.get(stream.rstCode ?? 0) ?? FetchError;
      stop(new Refusal('no-response', error.message, error));
    });
    stream.once('close', () => stop(new FetchError('no-response', 'the server closed the stream without an answer')));
    stream.once('response', (_headers, _flags, ...rest) => {
      deadline.end();
      signal?.removeEventListener('abort', onAbort);
      const raw = (rest as unknown as [readonly string[]])[0];
      const head = http1Head(raw);
      if (head.length > settings.headBytesMax)
        stop(new FetchError('head-too-large', `the head is longer than ${settings.headBytesMax} bytes`));
      else resolve(parseHttpHead(head));
    });
  });
}

/** The head written as HTTP/1.1, with names and values as received. */
function http1Head(raw: readonly string[]): Uint8Array {
  let status = '';
  let lines = '';
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at]!;
    if (name === ':status') status = raw[at + 1]!;
    else if (!name.startsWith(':')) lines += `${name}: ${raw[at + 1]!.replace(/[\r\n]+/g, ' ')}\r\n`;
  }
  // Node makes one character of each octet.
  return Buffer.from(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines}\r\n`, 'latin1');
}

/**
 * Returns a function that tells whether the server ended the body and all of it was read. To its reader, a stream that
 * was reset without an error (RFC 9113, 7) ends like a whole stream. But Node pushes the end of such a stream after
 * closing it.
 */
function watchEnd(stream: ClientHttp2Stream): () => boolean {
  let isWhole = false;
  const push = stream.push.bind(stream);
  stream.push = (chunk, encoding) => {
    if (chunk === null && !stream.closed) isWhole = true;
    return push(chunk, encoding);
  };
  return () => isWhole && stream.readableEnded;
}

/**
 * A body whose declared length has arrived is whole, even if the stream is reset: some servers reset it then, without
 * an error. A body without a declared length ends when the server ends the stream.
 */
class StreamFraming implements Framing {
  readonly isComplete = false;
  readonly #hasEnded: () => boolean;
  #left: number | undefined;

  constructor(hasEnded: () => boolean, head: HttpHead) {
    this.#hasEnded = hasEnded;
    this.#left = hasNoBody(head) ? 0 : contentLength(head);
  }

  get endsWithConnection(): boolean {
    return this.#left === undefined ? this.#hasEnded() : this.#left <= 0;
  }

  take(bytes: Uint8Array): number {
    if (this.#left !== undefined) this.#left -= bytes.length;
    return bytes.length;
  }
}
