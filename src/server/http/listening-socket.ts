/**
 * A listening HTTP server that withstands hostile clients: limited heads, limited waiting, clear replies to bytes that
 * are not HTTP. It stops gracefully: it accepts no new requests, and waits for running requests.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { PinakesError, whenAborted } from '../../base/index.ts';
import { type BodyRate, requireBodyRate } from './body-rate.ts';
import { ConnectionLimit } from './connection-limit.ts';
import { type ProblemDetails, problemJson, sendProblem } from './problem.ts';
import { type RequestHandler, RequestPipeline } from './request-pipeline.ts';

/** The maximum length of a URL. Archived URLs can be long. */
export const URL_CHARACTERS_MAX = 64 * 1024;
const HEAD_BYTES_MAX = 128 * 1024;
const KEEP_ALIVE_MS = 15_000;
/** After a refusal, bytes are read and discarded for this long, so that the client receives the refusal. */
const LINGER_MS = 2000;

/** How long the server waits for a client. */
export type ClientTimeouts = {
  /** For the whole head of a request, counted from its first byte or from the start of the connection. */
  readonly headMs: number;
  /** While a client sends nothing in the middle of a request, or reads nothing of a reply; 0 for no limit. */
  readonly silenceMs: number;
  /** Undefined: a body may take any time. */
  readonly body: BodyRate | undefined;
};

/** The certificate of a server and its key, as PEM. */
export type TlsIdentity = { readonly cert: string; readonly key: string };

/** Error documents for clients that do not read those of the API. */
export type ProblemFormat = { readonly type: string; readonly text: (problem: ProblemDetails) => string };

export type ListeningOptions = {
  readonly timeouts?: Partial<ClientTimeouts> | undefined;
  readonly limit?: ConnectionLimit;
  /** Encrypted connections only. */
  readonly tls?: TlsIdentity | undefined;
  readonly problems?: ProblemFormat;
  /** True when the handler calls `writeContinue` itself, so that it can refuse a body before it is sent. */
  readonly defersContinue?: boolean;
};

const JSON_PROBLEMS: ProblemFormat = {
  type: 'application/json; charset=utf-8',
  text: (problem) => `${problemJson(problem)}\n`,
};

/** Where a server listens: on a port, or at the path of a Unix socket or named pipe. */
export type ListeningPlace = { readonly host: string; readonly port: number } | { readonly path: string };

const CLIENT_TIMEOUTS: ClientTimeouts = {
  headMs: 15_000,
  silenceMs: 120_000,
  body: { windowMs: 60_000, bytesMin: 4096 },
};
/** How many times within `headMs` the server checks for slow heads. */
const HEAD_CHECKS = 5;

export class ListeningSocket {
  readonly #server: Server;
  #handler: RequestHandler | undefined;
  #early: [IncomingMessage, ServerResponse][] = [];
  #isLeaving = false;
  readonly #running = new Set<ServerResponse>();
  /** Connections without a request so far. Browsers open some in advance. Node does not count them as idle. */
  readonly #silent = new Set<Socket>();
  readonly #pipelines = new WeakMap<Socket, RequestPipeline>();
  readonly #latest = new WeakMap<Socket, ServerResponse>();

  private constructor(server: Server, timeouts: ClientTimeouts, options: ListeningOptions) {
    this.#server = server;
    const { limit = new ConnectionLimit(), tls, problems = JSON_PROBLEMS, defersContinue } = options;
    const refuse = (socket: Socket) => {
      if (!tls) socket.end(refusalText(CONNECTIONS_REFUSED, problems));
      // Bytes from the client are not read: a refused connection must cost nothing.
      socket.destroySoon();
    };
    const accept = (socket: Socket) => {
      this.#pipelines.set(
        socket,
        new RequestPipeline(socket, (request, response) => this.#answer(request, response, timeouts, problems)),
      );
      this.#silent.add(socket);
      socket.once('close', () => this.#silent.delete(socket));
    };
    if (tls) {
      // A connection counts from its first byte, and serves requests from the end of its handshake.
      server.on('connection', (socket: Socket) => limit.admit(socket) || refuse(socket));
      server.on('secureConnection', accept);
    } else server.on('connection', (socket: Socket) => (limit.admit(socket) ? accept(socket) : refuse(socket)));
    server.on('timeout', (socket: Socket) => {
      const response = this.#latest.get(socket);
      // The client has sent everything and waits for the server. A search through a large archive can take long.
      const isServerBusy = response?.req.complete === true && !response.writableEnded && socket.writableLength === 0;
      if (isServerBusy) socket.setTimeout(timeouts.silenceMs);
      else socket.destroy();
    });
    server.on('clientError', (error: ClientError, socket: Duplex) => {
      // While earlier requests of the connection are served, the rest of this head is not read. The client is not slow.
      if (error.code === SLOW_HEAD && this.#pipelines.get(socket as Socket)?.isBusy) return;
      // Without an encrypted connection there is no way to say what is wrong.
      if (tls && !this.#pipelines.has(socket as Socket)) socket.destroy();
      else refuseBytes(error, socket, problems);
    });
    const push = (request: IncomingMessage, response: ServerResponse) => {
      this.#silent.delete(request.socket);
      this.#pipelines.get(request.socket)?.push(request, response);
    };
    server.on('request', push);
    if (defersContinue) server.on('checkContinue', push);
  }

  static async listen(place: ListeningPlace, options: ListeningOptions = {}): Promise<ListeningSocket> {
    const timeouts = { ...CLIENT_TIMEOUTS, ...options.timeouts };
    const settings = {
      maxHeaderSize: HEAD_BYTES_MAX,
      headersTimeout: timeouts.headMs,
      connectionsCheckingInterval: Math.ceil(timeouts.headMs / HEAD_CHECKS),
      // An upload may take any time. Silence and a low rate are limited instead.
      requestTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      noDelay: true,
    };
    const server = options.tls
      ? createTlsServer({ ...settings, ...options.tls, handshakeTimeout: timeouts.headMs })
      : createServer(settings);
    server.setTimeout(timeouts.silenceMs);
    server.listen(place);
    try {
      await once(server, 'listening');
    } catch (cause) {
      throw listenError(cause, 'path' in place ? place.path : `${place.host}:${place.port}`);
    }
    return new ListeningSocket(server, timeouts, options);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The path of a Unix socket; undefined for a port. */
  get path(): string | undefined {
    const address = this.#server.address();
    return typeof address === 'string' ? address : undefined;
  }

  /** Sets the handler of requests, and passes it the requests that arrived before it was set. */
  handleWith(handler: RequestHandler): void {
    this.#handler = handler;
    const early = this.#early;
    this.#early = [];
    for (const [request, response] of early) handler(request, response);
  }

  #answer(request: IncomingMessage, response: ServerResponse, timeouts: ClientTimeouts, problems: ProblemFormat): void {
    this.#latest.set(request.socket, response);
    this.#running.add(response);
    response.once('close', () => this.#running.delete(response));
    if (this.#isLeaving) response.shouldKeepAlive = false;
    if (timeouts.body)
      requireBodyRate(request, response, timeouts.body, { lingerMs: LINGER_MS, send: problemSender(problems) });
    if (this.#handler) this.#handler(request, response);
    else this.#early.push([request, response]);
  }

  /**
   * Settles when the replies that are under way now have ended. New requests are still answered, and their connections
   * are not kept.
   */
  async leave(): Promise<void> {
    this.#isLeaving = true;
    const running = [...this.#running];
    for (const response of running) if (!response.headersSent) response.shouldKeepAlive = false;
    await Promise.all(running.map((response) => new Promise((resolve) => response.once('close', resolve))));
  }

  /** Stops accepting, and settles when the last reply has ended. */
  async stop(force: AbortSignal): Promise<void> {
    this.#isLeaving = true;
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#silent) socket.destroy();
    // A connection that is busy now becomes idle later, and would be kept open.
    using _closeIdle = setInterval(() => this.#server.closeIdleConnections(), 50);
    using _breakOff = whenAborted(force, () => this.#server.closeAllConnections());
    await closed;
  }
}

function listenError(cause: unknown, where: string): unknown {
  const name = (cause as { code?: unknown }).code;
  if (name === 'EADDRINUSE') return new PinakesError('PORT_IN_USE', { where, cause });
  if (typeof name === 'string') return new PinakesError('LISTEN_FAILED', { where, detail: name, cause });
  return cause;
}

type ClientError = Error & { readonly code?: string; readonly rawPacket?: Buffer };

/** Node's code for a head that took too long. */
const SLOW_HEAD = 'ERR_HTTP_REQUEST_TIMEOUT';

/** Replies to bytes that are not an HTTP request, or to a request that is too large or too slow. */
function refuseBytes(error: ClientError, socket: Duplex, problems: ProblemFormat): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const isOverflow = error.code === 'HPE_HEADER_OVERFLOW';
  // When the bytes contain the end of a line, the URL was complete, and the fields are too large.
  const isUrl = isOverflow && error.rawPacket?.includes('\r\n') !== true;
  const isSlow = error.code === SLOW_HEAD;
  const status = isUrl ? 414 : isOverflow ? 431 : isSlow ? 408 : 400;
  const [code, message] = isUrl
    ? ['URL_TOO_LONG', 'the URL is too long']
    : isOverflow
      ? ['FIELDS_TOO_LARGE', 'the fields of the request are too large']
      : isSlow
        ? ['TOO_SLOW', 'the request took too long to arrive']
        : ['NOT_HTTP', 'the bytes are not an HTTP request'];
  const advice = isUrl ? `A URL may have ${URL_CHARACTERS_MAX} characters.` : 'Send a valid HTTP/1.1 request.';
  socket.removeAllListeners('data');
  socket.on('error', () => socket.destroy());
  socket.resume();
  socket.end(refusalText({ status, code, message, advice }, problems));
  (socket as Socket).setTimeout?.(LINGER_MS, () => socket.destroy());
}

const CONNECTIONS_REFUSED: ProblemDetails = {
  status: 503,
  code: 'TOO_MANY_CONNECTIONS',
  message: 'too many connections are open, from this address or in all',
  advice: 'Close some of them. If this is the address of a proxy, start the server with --proxy.',
  fields: { 'retry-after': '5' },
};

/** The text of a reply on a connection without a request. */
function refusalText(problem: ProblemDetails, { type, text }: ProblemFormat): string {
  const body = text(problem);
  const fields = Object.entries(problem.fields ?? {}).map(([name, value]) => `${name}: ${value}\r\n`);
  return (
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\nContent-Type: ${type}\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\n${fields.join('')}Connection: close\r\n\r\n${body}`
  );
}

/** Sends a problem as the reply to a request. */
function problemSender(problems: ProblemFormat): typeof sendProblem {
  if (problems === JSON_PROBLEMS) return sendProblem;
  return (_, response, problem) => {
    if (response.headersSent || response.destroyed) {
      response.destroy();
      return;
    }
    const body = Buffer.from(problems.text(problem));
    response.writeHead(problem.status, {
      ...problem.fields,
      'content-type': problems.type,
      'content-length': body.length,
    });
    response.end(body);
  };
}
