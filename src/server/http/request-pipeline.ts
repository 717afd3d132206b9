/**
 * Serves the requests of one connection one after another. A client may send many requests without waiting for the
 * replies (pipelining). Requests of other connections are served in between.
 *
 * Node reads up to 64 KiB at once and emits every request in it at the same time, which can be thousands. Here the
 * parser gets the bytes in small pieces, and nothing more is read while a request waits.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** A piece of this size holds a few dozen requests without fields. */
const PIECE_BYTES_MIN = 1024;
/**
 * While a body of unknown length arrives, pieces grow up to this size. A piece of this size holds some 300 requests.
 */
const PIECE_BYTES_MAX = 8 * 1024;
/** How much Node reads at once. */
const READ_BYTES_MAX = 64 * 1024;

export class RequestPipeline {
  readonly #socket: Socket;
  readonly #handler: RequestHandler;
  #waiting: (readonly [IncomingMessage, ServerResponse])[] = [];
  #isServing = false;
  #pieceBytes = PIECE_BYTES_MIN;
  /** How many of the next bytes certainly belong to a body, and need not be cut into pieces. */
  #bodyBytes = 0;

  constructor(socket: Socket, handler: RequestHandler) {
    this.#socket = socket;
    this.#handler = handler;
    // A listener for data makes Node pass all bytes to the socket. Without a listener, the bytes go to the parser
    // directly.
    const listener = () => {};
    socket.on('data', listener).off('data', listener);
    const push = socket.push.bind(socket);
    socket.push = (chunk: Uint8Array | null) => (chunk ? this.#pushPieces(chunk, push) : push(null));
    socket.on('resume', () => {
      // Node resumes the socket for reasons of its own, for example when a reply has drained.
      if (this.#waiting.length > 0) socket.pause();
    });
    socket.once('close', () => {
      this.#waiting = [];
    });
  }

  /** True while a request is being served or waits. */
  get isBusy(): boolean {
    return this.#isServing;
  }

  /** Serves a request after the requests before it. */
  push(request: IncomingMessage, response: ServerResponse): void {
    this.#pieceBytes = PIECE_BYTES_MIN;
    const { 'content-length': length = 0, 'transfer-encoding': transfer } = request.headers;
    // Some of the body may be in the piece that is being parsed, or in the buffer of the socket.
    this.#bodyBytes = transfer === undefined ? Number(length) - READ_BYTES_MAX - this.#socket.readableLength : 0;
    if (!this.#isServing) {
      this.#serve(request, response);
      return;
    }
    this.#waiting.push([request, response]);
    this.#socket.pause();
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    this.#isServing = true;
    response.once('close', () => {
      if (this.#waiting.length === 0) this.#isServing = false;
      // Requests of other connections come first.
      else setImmediate(() => this.#next());
    });
    this.#handler(request, response);
  }

  #next(): void {
    const next = this.#waiting.shift();
    // The connection has closed.
    if (!next) return;
    // The body of the last waiting request may still have to be read.
    if (this.#waiting.length === 0) this.#socket.resume();
    this.#serve(...next);
  }

  #pushPieces(chunk: Uint8Array, push: (piece: Uint8Array) => boolean): boolean {
    let hasRoom = true;
    for (let at = 0; at < chunk.length; ) {
      const end = Math.min(chunk.length, at + Math.max(this.#pieceBytes, this.#bodyBytes));
      this.#bodyBytes -= end - at;
      // While a request waits, the socket buffers the pieces, and their content is not known yet.
      if (this.#waiting.length === 0) this.#pieceBytes = Math.min(2 * this.#pieceBytes, PIECE_BYTES_MAX);
      hasRoom = push(at === 0 && end === chunk.length ? chunk : chunk.subarray(at, end));
      at = end;
    }
    return hasRoom;
  }
}
