/**
 * Finds the end of the body of an HTTP/1.1 response in the bytes of a connection (RFC 9112 section 6.3), without
 * changing them.
 *
 * ```
 *   1xx, 204, 304               no body
 *   Transfer-Encoding: chunked  up to the empty line after the last chunk and its trailer fields
 *   Content-Length              this many bytes
 *   neither of them             until the connection closes; also when declared lengths differ
 * ```
 * Servers send wrong framing. If a body is declared chunked but is not, it ends when the connection closes. Trailer
 * fields beyond TRAILER_BYTES_MAX end the body: they are not payload, and a server could send them without end.
 */
import { LF } from '../../base/index.ts';
import type { HttpHead } from '../../warc/index.ts';

type FramingKind = 'none' | 'length' | 'chunked' | 'close';

const LINE_BYTES_MAX = 16 * 1024;
const TRAILER_BYTES_MAX = 64 * 1024;

export class BodyFraming {
  readonly #framing: FramingKind;
  /** Whether the body has ended. */
  isComplete: boolean;
  /** Whether the trailer fields exceed TRAILER_BYTES_MAX. */
  isOverlong = false;
  #left = 0;
  #trailerBytes = 0;
  #isBroken = false;

  constructor(head: HttpHead) {
    const length = contentLength(head);
    this.#framing = hasNoBody(head) ? 'none' : head.isChunked ? 'chunked' : length === undefined ? 'close' : 'length';
    if (this.#framing === 'length') this.#left = length!;
    this.isComplete = this.#framing === 'none' || (this.#framing === 'length' && length === 0);
  }

  /** Whether the body may end when the connection closes. If not, a closed connection has cut the body. */
  get endsWithConnection(): boolean {
    return this.#framing === 'close' || this.#isBroken;
  }

  /** How many of these bytes belong to the body. Sets `isComplete` when the last byte of the body is among them. */
  take(bytes: Uint8Array): number {
    if (this.isComplete) return 0;
    if (this.endsWithConnection) return bytes.length;
    return this.#framing === 'chunked' ? this.#takeChunks(bytes) : this.#takeLength(bytes);
  }

  #takeLength(bytes: Uint8Array): number {
    const taken = Math.min(this.#left, bytes.length);
    this.#left -= taken;
    this.isComplete = this.#left === 0;
    return taken;
  }

  #state: 'size' | 'data' | 'data-end' | 'trailer' = 'size';
  #line = '';

  #takeChunks(bytes: Uint8Array): number {
    let at = 0;
    while (at < bytes.length && !this.isComplete && !this.isOverlong && !this.#isBroken) {
      if (this.#state === 'data') {
        const taken = Math.min(this.#left, bytes.length - at);
        this.#left -= taken;
        at += taken;
        if (this.#left === 0) this.#state = 'data-end';
      } else at = this.#takeLine(bytes, at);
    }
    return this.#isBroken ? bytes.length : at;
  }

  #takeLine(bytes: Uint8Array, from: number): number {
    const found = bytes.indexOf(LF, from);
    const end = found < 0 ? bytes.length : found + 1;
    if (this.#state === 'trailer') {
      this.#trailerBytes += end - from;
      this.isOverlong = this.#trailerBytes > TRAILER_BYTES_MAX;
      if (this.isOverlong) return end;
    }
    this.#line += String.fromCharCode(...bytes.subarray(from, Math.min(end, from + LINE_BYTES_MAX)));
    if (end - from > LINE_BYTES_MAX || this.#line.length > LINE_BYTES_MAX) this.#isBroken = true;
    else if (found >= 0) this.#endLine();
    return end;
  }

  #endLine(): void {
    const line = this.#line.trim();
    this.#line = '';
    if (this.#state === 'trailer') {
      this.isComplete = line === '';
    } else if (this.#state === 'data-end') {
      if (line === '') this.#state = 'size';
      else this.#isBroken = true;
    } else {
      const size = /^(0*[0-9a-f]{1,12})[ \t]*(;.*)?$/i.exec(line)?.[1];
      if (size === undefined) this.#isBroken = true;
      else {
        this.#left = Number.parseInt(size, 16);
        this.#state = this.#left === 0 ? 'trailer' : 'data';
      }
    }
  }
}

/** Whether a response never has a body, whatever its head declares. */
export function hasNoBody({ status = 0 }: HttpHead): boolean {
  return status < 200 || status === 204 || status === 304;
}

/**
 * The declared length of a response; undefined if there is none, or if declared lengths differ (RFC 9112 section 6.3),
 * because either of them could cut the body.
 */
export function contentLength(head: HttpHead): number | undefined {
  const values = head.fields
    .filter(({ name }) => name.toLowerCase() === 'content-length')
    .flatMap(({ value }) => value.split(','));
  const [first, ...others] = values.map((value) => (/^\s*\d{1,15}\s*$/.test(value) ? Number(value) : undefined));
  return others.every((other) => other === first) ? first : undefined;
}
