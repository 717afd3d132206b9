/**
 * Passes bodies to the browser: small ones whole, large ones in pieces (I9). A few bytes may decode to gigabytes, so a
 * piece is decoded only when the reader requests it.
 */
import { concat, copyOf } from '../base/index.ts';
import { ContentDecoders } from '../warc/index.ts';

/** Bodies up to this size are handled whole. */
const WHOLE_BYTES_MAX = 1024 * 1024;

export type Body = Uint8Array | AsyncIterable<Uint8Array>;

/** Reads a small payload whole. A large one is returned as pieces, which end early if `hasLeft` returns true. */
export async function gather(payload: AsyncIterable<Uint8Array>, hasLeft: () => boolean = () => false): Promise<Body> {
  const iterator = payload[Symbol.asyncIterator]();
  const pieces: Uint8Array[] = [];
  let size = 0;
  while (size <= WHOLE_BYTES_MAX) {
    const next = await iterator.next();
    if (next.done) return pieces.length === 1 ? pieces[0]! : concat(pieces);
    pieces.push(next.value);
    size += next.value.length;
  }
  return continued(pieces, iterator, hasLeft);
}

async function* continued(
  pieces: readonly Uint8Array[],
  rest: AsyncIterator<Uint8Array>,
  hasLeft: () => boolean,
): AsyncGenerator<Uint8Array> {
  try {
    yield* pieces;
    while (!hasLeft()) {
      const next = await rest.next();
      if (next.done) return;
      yield next.value;
    }
  } finally {
    await rest.return?.();
  }
}

/** Closes a body that is not sent. */
export async function releaseBody(body: Body | undefined): Promise<void> {
  if (body === undefined || body instanceof Uint8Array) return;
  for await (const _ of body) break;
}

/** The body without its content codings. A coding that does not match the body is ignored. */
export async function decodedBody(body: Body, codings: readonly string[]): Promise<Body> {
  if (codings.length === 0) return body;
  return gather(decodedPieces(body, codings));
}

async function* decodedPieces(body: Body, codings: readonly string[]): AsyncGenerator<Uint8Array> {
  const decoders = new ContentDecoders(codings);
  try {
    for await (const piece of piecesOf(body)) for (const part of decoders.decoded(piece)) yield copyOf(part);
    for (const part of decoders.rest()) yield copyOf(part);
  } finally {
    decoders.stop();
    decoders.end();
  }
}

async function* piecesOf(body: Body): AsyncGenerator<Uint8Array> {
  if (body instanceof Uint8Array) yield body;
  else yield* body;
}

/** Bytes [from, to) of a body; the bytes before are read and dropped. */
export async function* bytesBetween(
  body: AsyncIterable<Uint8Array>,
  from: number,
  to: number,
): AsyncGenerator<Uint8Array> {
  let at = 0;
  for await (const piece of body) {
    const start = Math.max(from - at, 0);
    const end = Math.min(to - at, piece.length);
    if (start < end) yield piece.subarray(start, end);
    at += piece.length;
    if (at >= to) return;
  }
}
