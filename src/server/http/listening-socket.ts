/**
 * A listening HTTP server that endures hostile clients: bounded heads, bounded waiting, clear answers to what is no
 * HTTP; and that stops gracefully: no new requests, those under way end.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { PinakesError } from '../../base/index.ts';
import { type BodyRate, watchBody } from './body-rate.ts';
import { ConnectionBound } from './connection-bound.ts';
import { type Problem, problemJson } from './problem.ts';
import { type RequestHandler, RequestTurns } from './request-turns.ts';

/** What a URL may have; archived URLs are long, but not longer. */
export const URL_CHARACTERS_MAX = 64 * 1024;
const HEAD_BYTES_MAX = 128 * 1024;
const KEEP_ALIVE_MS = 15_000;
const CONNECTIONS_MAX = 4096;
/**
 * How long what a client goes on sending after a refusal is read and thrown away, so that it gets to see the refusal.
 */
const LINGER_MS = 2000;

/** How long clients are waited for. */
export type ClientTimeouts = {
  /** For the head of a request, from the first byte or the connection on. */
  readonly headMs: number;
  /** While a client is silent in the middle of a request, or takes nothing of a reply; 0 for any time. */
  readonly silenceMs: number;
  /** Without it, a body may take any time. */
  readonly body: BodyRate | undefined;
};

/** Where a server listens: at a port, or at the path of a Unix socket or named pipe. */
export type ListeningPlace = { readonly host: string; readonly port: number } | { readonly path: string };

const CLIENT_TIMEOUTS: ClientTimeouts = {
  headMs: 15_000,
  silenceMs: 120_000,
  body: { windowMs: 60_000, bytesMin: 4096 },
};
/** How much later than `headMs` a slow head may be noticed, as a share of it. */
const HEAD_CHECKS = 5;

export class ListeningSocket {
  readonly #server: Server;
  #handler: RequestHandler | undefined;
  #early: [IncomingMessage, ServerResponse][] = [];
  #isStopping = false;
  /**
   * Connections that have not asked for anything yet, as browsers open them ahead. Node does not count them as idle.
   */
  readonly #silent = new Set<Socket>();
  readonly #turns = new WeakMap<Socket, RequestTurns>();
  readonly #latest = new WeakMap<Socket, ServerResponse>();

  private constructor(server: Server, timeouts: ClientTimeouts, bound: ConnectionBound) {
    this.#server = server;
    server.on('connection', (socket: Socket) => {
      if (!bound.admit(socket)) {
        socket.end(refusal(CONNECTIONS_REFUSED));
        // What the client sends meanwhile is not read: a refused connection must cost nothing.
        socket.destroySoon();
        return;
      }
      this.#turns.set(
        socket,
        new RequestTurns(socket, (request, response) => this.#answer(request, response, timeouts)),
      );
      this.#silent.add(socket);
      socket.once('close', () => this.#silent.delete(socket));
    });
    server.on('timeout', (socket: Socket) => {
      const response = this.#latest.get(socket);
      // Who has sent all and taken all waits for us; a search through much of an archive can be silent for long.
      const isWaiting = response?.req.complete === true && !response.writableEnded && socket.writableLength === 0;
      if (isWaiting) socket.setTimeout(timeouts.silenceMs);
      else socket.destroy();
    });
    server.on('clientError', (error: ClientError, socket: Duplex) => {
      // The rest of this head is not read while earlier requests of the connection are answered, so the client is not
      // slow.
      if (error.code === SLOW_HEAD && this.#turns.get(socket as Socket)?.isBusy) return;
      refuseBytes(error, socket);
    });
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.#silent.delete(request.socket);
      this.#turns.get(request.socket)?.take(request, response);
    });
  }

  static async listen(
    place: ListeningPlace,
    given: Partial<ClientTimeouts> = {},
    bound = new ConnectionBound(),
  ): Promise<ListeningSocket> {
    const timeouts = { ...CLIENT_TIMEOUTS, ...given };
    const server = createServer({
      maxHeaderSize: HEAD_BYTES_MAX,
      headersTimeout: timeouts.headMs,
      connectionsCheckingInterval: Math.ceil(timeouts.headMs / HEAD_CHECKS),
      // Uploads take as long as they take; silence and dawdling are bounded instead.
      requestTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      noDelay: true,
    });
    server.setTimeout(timeouts.silenceMs);
    server.maxConnections = CONNECTIONS_MAX;
    server.listen(place);
    try {
      await once(server, 'listening');
    } catch (cause) {
      throw listenError(cause, 'path' in place ? place.path : `${place.host}:${place.port}`);
    }
    return new ListeningSocket(server, timeouts, bound);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** From now on requests are answered; those that came early too. */
  answer(handler: RequestHandler): void {
    this.#handler = handler;
    const early = this.#early;
    this.#early = [];
    for (const [request, response] of early) handler(request, response);
  }

  #answer(request: IncomingMessage, response: ServerResponse, timeouts: ClientTimeouts): void {
    this.#latest.set(request.socket, response);
    if (this.#isStopping) response.shouldKeepAlive = false;
    if (timeouts.body) watchBody(request, response, timeouts.body, LINGER_MS);
    if (this.#handler) this.#handler(request, response);
    else this.#early.push([request, response]);
  }

  /** Stops accepting, and settles when the last reply has ended. */
  async stop(force: AbortSignal): Promise<void> {
    this.#isStopping = true;
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#silent) socket.destroy();
    // A connection that was busy just now is idle a moment later, and would be kept alive.
    const sweep = setInterval(() => this.#server.closeIdleConnections(), 50);
    const breakOff = () => this.#server.closeAllConnections();
    force.addEventListener('abort', breakOff, { once: true });
    if (force.aborted) breakOff();
    try {
      await closed;
    } finally {
      clearInterval(sweep);
      force.removeEventListener('abort', breakOff);
    }
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

/** Answers bytes that are no HTTP request, or too many of them. */
function refuseBytes(error: ClientError, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const isOverflow = error.code === 'HPE_HEADER_OVERFLOW';
  // The end of a line in what overflowed tells that the URL was over already.
  const isUrl = isOverflow && error.rawPacket?.includes('\r\n') !== true;
  const isSlow = error.code === SLOW_HEAD;
  const status = isUrl ? 414 : isOverflow ? 431 : isSlow ? 408 : 400;
  const [code, message] = isUrl
    ? ['URL_TOO_LONG', 'the URL is too long']
    : isOverflow
      ? ['FIELDS_TOO_LARGE', 'the fields of the request are too large']
      : isSlow
        ? ['TOO_SLOW', 'the request took too long to arrive']
        : ['NOT_HTTP', 'this is no HTTP request'];
  const advice = isUrl
    ? `A URL may have ${URL_CHARACTERS_MAX} characters.`
    : 'Send the request again, as HTTP/1.1 has it.';
  socket.removeAllListeners('data');
  socket.on('error', () => socket.destroy());
  socket.resume();
  socket.end(refusal({ status, code, message, advice }));
  (socket as Socket).setTimeout?.(LINGER_MS, () => socket.destroy());
}

const CONNECTIONS_REFUSED: Problem = {
  status: 503,
  code: 'TOO_MANY_CONNECTIONS',
  message: 'too many connections are open from this address',
  advice: 'Close some of them. If this is the address of a proxy, start the server with --proxy.',
};

/** A reply that is written before there is a request to reply to. */
function refusal(problem: Problem): string {
  const body = `${problemJson(problem)}\n`;
  return (
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
  );
}
