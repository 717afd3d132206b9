/**
 * Answers the requests of one connection one after another. A client may send many requests without waiting for the
 * replies (pipelining); the requests of other connections are answered in between.
 *
 * Node reads up to 64 KiB at once and hands over every request in it at the same time, which can be thousands. Here the
 * parser gets what was read in small pieces, and nothing more is read while a request waits.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** Holds a few dozen requests without fields. */
const PIECE_BYTES_MIN = 1024;
/** While a body of unknown length arrives, pieces grow up to this. Some 300 requests fit into it. */
const PIECE_BYTES_MAX = 8 * 1024;
/** Node reads no more than this at once. */
const READ_BYTES_MAX = 64 * 1024;

export class RequestTurns {
  readonly #socket: Socket;
  readonly #answer: RequestHandler;
  #waiting: (readonly [IncomingMessage, ServerResponse])[] = [];
  #isAnswering = false;
  #pieceBytes = PIECE_BYTES_MIN;
  /** So many of the bytes to come are of a body for certain, and need not be cut. */
  #bodyBytes = 0;

  constructor(socket: Socket, answer: RequestHandler) {
    this.#socket = socket;
    this.#answer = answer;
    // A listener for data makes Node hand all that is read to the socket; without one it goes to the parser directly.
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

  /** True while a request is being answered or waits. */
  get isBusy(): boolean {
    return this.#isAnswering;
  }

  /** Answers a request when those before it have been answered. */
  take(request: IncomingMessage, response: ServerResponse): void {
    this.#pieceBytes = PIECE_BYTES_MIN;
    const { 'content-length': length = 0, 'transfer-encoding': transfer } = request.headers;
    // Some of the body may be in the piece that is being parsed, and in those that wait.
    this.#bodyBytes = transfer === undefined ? Number(length) - READ_BYTES_MAX - this.#socket.readableLength : 0;
    if (!this.#isAnswering) {
      this.#begin(request, response);
      return;
    }
    this.#waiting.push([request, response]);
    this.#socket.pause();
  }

  #begin(request: IncomingMessage, response: ServerResponse): void {
    this.#isAnswering = true;
    response.once('close', () => {
      if (this.#waiting.length === 0) this.#isAnswering = false;
      // Other connections have their turn first.
      else setImmediate(() => this.#next());
    });
    this.#answer(request, response);
  }

  #next(): void {
    const next = this.#waiting.shift();
    // The connection has closed.
    if (!next) return;
    // The body of the last request that waits may still have to be read.
    if (this.#waiting.length === 0) this.#socket.resume();
    this.#begin(...next);
  }

  #pushPieces(chunk: Uint8Array, push: (piece: Uint8Array) => boolean): boolean {
    let hasRoom = true;
    for (let at = 0; at < chunk.length; ) {
      const end = Math.min(chunk.length, at + Math.max(this.#pieceBytes, this.#bodyBytes));
      this.#bodyBytes -= end - at;
      // While a request waits, the socket keeps the pieces, and what they hold is not known yet.
      if (this.#waiting.length === 0) this.#pieceBytes = Math.min(2 * this.#pieceBytes, PIECE_BYTES_MAX);
      hasRoom = push(at === 0 && end === chunk.length ? chunk : chunk.subarray(at, end));
      at = end;
    }
    return hasRoom;
  }
}
