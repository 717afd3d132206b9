/**
 * One exchange over an HTTP/1.1 connection: writes the request, reads the head, and returns the body as it arrives,
 * with its framing.
 *
 * The connection is free for the next exchange when the body has been read to the end of its framing.
 */
import { CR, LF } from '../../base/index.ts';
import { type HttpHead, httpHeadLength, parseHttpHead } from '../../warc/index.ts';
import { BodyFraming } from './body-framing.ts';
import { type Exchange, errorText, FetchError, type FetchRequest } from './exchange.ts';
import { type ExchangeOptions, ReceivedExchange } from './received-exchange.ts';
import type { SocketReader } from './socket-reader.ts';
import type { RequestTarget } from './target.ts';

export type Http1Options = ExchangeOptions & {
  /** Called once, after the last read. `isReusable`: whether the connection can be used again. */
  readonly onRelease: (isReusable: boolean) => void;
};

const INTERIM_MAX = 20;
const BLANK_BYTES_MAX = 16;

export async function http1Exchange(
  reader: SocketReader,
  url: string,
  request: Uint8Array,
  options: Http1Options,
): Promise<Exchange> {
  const time = options.clock();
  reader.socket.write(request);
  try {
    const head = await readHead(reader, time, options);
    const framing = new BodyFraming(head);
    const onRelease = (isComplete: boolean) => options.onRelease(isComplete && isReusable(reader, head));
    return new ReceivedExchange({ url, time, request, head, reader, framing, onRelease }, options);
  } catch (error) {
    options.onRelease(false);
    throw error;
  }
}

/**
 * Whether a failure may be due to the idle connection: the server had closed it, or bytes of its last response were
 * left.
 */
export function isStale(error: unknown): boolean {
  if (error instanceof FetchError) return error.reason === 'no-response' || error.reason === 'not-http';
  return String((error as { code?: unknown } | null)?.code).startsWith('ERR_HTTP2');
}

async function readHead(
  reader: SocketReader,
  startMs: number,
  { settings, clock, signal }: Http1Options,
): Promise<HttpHead> {
  let held: Buffer = Buffer.alloc(0);
  let blank = 0;
  for (let interim = 0; interim < INTERIM_MAX; ) {
    const skipped = blankBytes(held, BLANK_BYTES_MAX - blank);
    blank += skipped;
    held = held.subarray(skipped);
    const isNothing = held.length === 0 || (held.length === 1 && held[0] === CR);
    const length = isNothing ? -1 : httpHeadLength(held, 'response', false);
    if (length === 0) throw new FetchError('not-http', 'the response is not HTTP');
    if (length > settings.headBytesMax || (length < 0 && held.length > settings.headBytesMax))
      throw new FetchError('head-too-large', `the head is longer than ${settings.headBytesMax} bytes`);
    if (length > 0) {
      const head = parseHttpHead(held.subarray(0, length));
      held = held.subarray(length);
      const status = head.status;
      if (status === undefined)
        throw new FetchError('not-http', `the status line cannot be parsed: ${head.startLine.slice(0, 80)}`);
      if (status >= 200 || status === 101) {
        reader.unread(held);
        return head;
      }
      interim++;
      continue;
    }
    // Wait for at least 1 ms, so that bytes which have arrived are read even after the timeout.
    const leftMs = Math.max(1, startMs + settings.headTimeoutMs - clock());
    const piece = await reader.read(Math.min(leftMs, settings.idleTimeoutMs), signal);
    if (piece) held = held.length === 0 ? piece : Buffer.concat([held, piece]);
    else {
      const failure = reader.failure && errorText(reader.failure);
      if (held.length > 0)
        throw new FetchError('connection', failure ?? 'the server closed the connection within the head');
      throw new FetchError('no-response', failure ?? 'the server closed the connection without an answer');
    }
  }
  throw new FetchError('not-http', 'the server sends interim responses without end');
}

/** The length of the empty lines that some servers send before a head, at most `bytesMax`. */
function blankBytes(held: Buffer, bytesMax: number): number {
  let at = 0;
  while (at < bytesMax) {
    const length = held[at] === LF ? 1 : held[at] === CR && held[at + 1] === LF ? 2 : 0;
    if (length === 0) break;
    at += length;
  }
  return at;
}

/**
 * A connection with unexpected bytes after the body cannot be used again: they would be taken for the next response.
 */
function isReusable(reader: SocketReader, head: HttpHead): boolean {
  const says = head.get('connection')?.toLowerCase() ?? '';
  const persists = /^http\/1\.1\b/i.test(head.startLine) ? !says.includes('close') : says.includes('keep-alive');
  return persists && reader.isUsable;
}

export function fieldLines(fields: readonly (readonly [string, string])[]): string {
  return fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
}

/** The request message. `lines` has all its fields except Host and Content-Length. */
export function requestMessage(
  { host, path }: RequestTarget,
  lines: string,
  { method = 'GET', body }: Pick<FetchRequest, 'method' | 'body'>,
): Uint8Array {
  const length = body ? `Content-Length: ${body.length}\r\n` : '';
  const head = Buffer.from(`${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n${lines}${length}\r\n`, 'latin1');
  return body ? Buffer.concat([head, body]) : head;
}
