/**
 * Chunks: a stream in parts of about a mebibyte that several clients can share. A chunk ends with a whole record and
 * has a cursor that says where the next chunk begins. A record that is larger than a chunk is split. Of its chunks,
 * only the last one has a cursor.
 *
 * A chunk without bytes moves the cursor past records that are not selected.
 *
 * A chunk ends after the first record of each cell of a segment. This depends only on the records, so streams that
 * began at different places soon reach the same chunks.
 */
import { parseCursor } from './cursor.ts';
import { cellOf, type StreamPiece } from './stream-output.ts';

const CHUNK_BYTES_MAX = 1024 * 1024;

export type StreamChunk = {
  readonly pieces: readonly Uint8Array[];
  readonly bytes: number;
  /** The position after these bytes. Undefined when the record continues. */
  readonly cursor: string | undefined;
};

/** The cell of a cursor. Only storage order has cells. */
function cellOfCursor(cursor: string): string {
  const { position } = parseCursor(cursor);
  return position && position.urlKey === undefined ? `${position.root}:${cellOf(position.offset)}` : '';
}

/** The pieces of a stream that continues at `start`, as chunks. */
export async function* chunksOf(pieces: AsyncIterable<StreamPiece>, start: string): AsyncGenerator<StreamChunk> {
  let cell = cellOfCursor(start);
  /** The pieces of whole records. `begun` has the pieces of the record after them, which is not complete yet. */
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
  // Without bytes, the place after the chunk would be the place before it, and a shared stream would never end.
  if (cursor !== undefined && wholeBytes > 0) yield { pieces: whole, bytes: wholeBytes, cursor };
}
