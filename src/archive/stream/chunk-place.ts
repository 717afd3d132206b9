/**
 * A place between two chunks of a stream: a cursor. Inside of a record that is larger than a chunk, it is the cursor
 * before the record and the number of bytes after that cursor.
 *
 * A stream can continue inside of a record only when the bytes of the record before the place are the same as before.
 * Their digest shows that.
 */
import { createHash, type Hash } from 'node:crypto';
import { PinakesError } from '../../base/index.ts';
import { type Cursor, parseCursor, type StreamPosition } from './cursor.ts';
import type { StreamChunk } from './stream-chunk.ts';
import type { StreamPiece } from './stream-output.ts';

type Inner = { readonly bytes: number; readonly hash: Hash };

export type ChunkPlace = {
  readonly cursor: string;
  /** The parsed cursor. */
  readonly parsed: Cursor;
  /** The parts of the cursor that are the same for all places of a stream. */
  readonly stream: string;
  /** The number of bytes of the record before this place, and their digest. */
  readonly inner: Inner | undefined;
};

export function placeAt(cursor: string): ChunkPlace {
  const parsed = parseCursor(cursor);
  const stream = JSON.stringify([parsed.query, parsed.snapshot, parsed.ranking]);
  return { cursor, parsed, stream, inner: undefined };
}

export function placeBehind(place: ChunkPlace, chunk: StreamChunk): ChunkPlace {
  if (chunk.cursor !== undefined) return placeAt(chunk.cursor);
  const hash = place.inner?.hash.copy() ?? createHash('sha256');
  for (const piece of chunk.pieces) hash.update(piece);
  return { ...place, inner: { bytes: (place.inner?.bytes ?? 0) + chunk.bytes, hash } };
}

export function keyOf(format: string, { cursor, inner }: ChunkPlace): string {
  return `${format} ${cursor} ${inner ? `${inner.bytes} ${digestSoFar(inner.hash)}` : ''}`;
}

const BEGINNING: Pick<StreamPosition, 'sequence' | 'offset'> = { sequence: 0, offset: -1 };

/** The assumed length of a segment, to estimate how far apart two places are. */
const SEGMENT_BYTES = 2 ** 32;

/** About how many bytes `place` is ahead of `from`. Infinite when a client at `from` will not reach `place`. */
export function bytesAhead(place: ChunkPlace, from: ChunkPlace): number {
  if (place.stream !== from.stream) return Number.POSITIVE_INFINITY;
  const there = place.parsed.position ?? BEGINNING;
  const here = from.parsed.position ?? BEGINNING;
  const bytes = (there.sequence - here.sequence) * SEGMENT_BYTES + there.offset - here.offset;
  return bytes < 0 ? Number.POSITIVE_INFINITY : bytes;
}

export function isSameSnapshot({ snapshot: a, ranking }: Cursor, { snapshot: b, ranking: other }: Cursor): boolean {
  return ranking === other && a.before === b.before && JSON.stringify(a.open) === JSON.stringify(b.open);
}

/** The pieces of a record after the bytes that a client has. */
export async function* piecesBehind(pieces: AsyncIterable<StreamPiece>, inner: Inner): AsyncGenerator<StreamPiece> {
  const hash = createHash('sha256');
  let left = inner.bytes;
  for await (const piece of pieces) {
    // This piece only moves the cursor past records that are not selected.
    if (left > 0 && piece.bytes.length === 0) continue;
    const known = piece.bytes.subarray(0, left);
    if (left > 0) {
      hash.update(known);
      left -= known.length;
      const isOther = left > 0 ? piece.cursor !== undefined : digestSoFar(hash) !== digestSoFar(inner.hash);
      if (isOther) throw moved();
    }
    if (left === 0) yield { ...piece, bytes: piece.bytes.subarray(known.length) };
  }
  if (left > 0) throw moved();
}

function digestSoFar(hash: Hash): string {
  return hash.copy().digest('base64url');
}

function moved(): PinakesError {
  const detail = 'a record was moved while it was being sent; continue from the last cursor';
  return new PinakesError('OBJECT_CHANGED', { where: 'a stream', detail });
}
