/**
 * Chunks: a stream in parts of about a mebibyte that several clients can be given. A chunk ends with a whole record
 * and says by its cursor where the next begins; only of a record that is larger than a chunk, all parts but the last
 * do not.
 *
 * A chunk without bytes leads past records that are not meant.
 *
 * Where chunks end depends on the records alone: behind the first record of each cell of a segment. So streams that
 * began at different places come to the same chunks before long.
 */
import { parseCursor } from './cursor.ts';
import { cellOf, type StreamPiece } from './stream-output.ts';

const CHUNK_BYTES_MAX = 1024 * 1024;

export type StreamChunk = {
  readonly pieces: readonly Uint8Array[];
  readonly bytes: number;
  /** Behind these bytes; undefined while the record goes on. */
  readonly cursor: string | undefined;
};

/** The cell that a cursor stands in; in other orders than that of storage there are none. */
function cellOfCursor(cursor: string): string {
  const { position } = parseCursor(cursor);
  return position && position.urlKey === undefined ? `${position.segment}:${cellOf(position.offset)}` : '';
}

/** The pieces of a stream that goes on at `start`, as chunks. */
export async function* chunksOf(pieces: AsyncIterable<StreamPiece>, start: string): AsyncGenerator<StreamChunk> {
  let cell = cellOfCursor(start);
  /** Whole records, and behind them the pieces of one that is not whole yet. */
  let whole: Uint8Array[] = [];
  let wholeBytes = 0;
  let begun: Uint8Array[] = [];
  let begunBytes = 0;
  let cursor: string | undefined;
  for await (const piece of pieces) {
    if (piece.bytes.length > 0) begun.push(piece.isOwn ? piece.bytes : Buffer.from(piece.bytes));
    begunBytes += piece.bytes.length;
    if (piece.cursor !== undefined) {
      whole.push(...begun);
      wholeBytes += begunBytes;
      begun = [];
      begunBytes = 0;
      cursor = piece.cursor;
      const now = cellOfCursor(cursor);
      if (now === cell && wholeBytes < CHUNK_BYTES_MAX) continue;
      cell = now;
    } else if (wholeBytes + begunBytes < CHUNK_BYTES_MAX) continue;
    if (cursor !== undefined && (wholeBytes > 0 || begunBytes === 0)) {
      yield { pieces: whole, bytes: wholeBytes, cursor };
      whole = [];
      wholeBytes = 0;
      cursor = undefined;
    }
    if (begunBytes < CHUNK_BYTES_MAX) continue;
    yield { pieces: begun, bytes: begunBytes, cursor: undefined };
    begun = [];
    begunBytes = 0;
  }
  // Without bytes the place behind would be the place before, and who shares it would never come to the end.
  if (cursor !== undefined && wholeBytes > 0) yield { pieces: whole, bytes: wholeBytes, cursor };
}
