/**
 * A stream as the body of a reply. It is sent as fast as the client reads it. At most one chunk is buffered.
 *
 * The client finds the cursor to continue from in several places, for different clients:
 *
 * ```
 *   field    X-Pinakes-Cursor    where this reply begins
 *            X-Pinakes-Deleted   `possible` when records of the snapshot may have been deleted since
 *   trailer  X-Pinakes-Cursor    where the next reply continues
 *            X-Pinakes-End       `yes` or, when records remain, `no`
 *   jsonl    {"type":"cursor","cursor":"...","end":false}   a line for about each mebibyte; the last has "end": true
 *   frames   D bytes of the stream | C cursor after all bytes so far | X end: yes | no; always the last
 * ```
 * After a failure in the middle, the server breaks the connection, so that the client does not take a part for the
 * whole. While no record is found, the server sends the fields, and repeats the last cursor every HEARTBEAT_MS where
 * the format allows it. This shows the client that the stream is alive.
 */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Subscriber } from '../../archive/index.ts';
import { FRAME_BYTES_MAX, FRAMES_MIME, formatFrame, utf8 } from '../../base/index.ts';
import { disconnectSignal } from './client-disconnect.ts';
import { UNBUFFERED } from './unbuffered.ts';

export const CURSOR_FIELD = 'X-Pinakes-Cursor';
export const END_FIELD = 'X-Pinakes-End';

export type StreamBodyOptions = {
  readonly format: 'warc' | 'jsonl';
  readonly isFramed: boolean;
  /** The reply ends after the record in which this many bytes are exceeded. */
  readonly bytesMax: number;
  /** Aborted when the server begins to stop: the reply ends at the next cursor. */
  readonly stopping: AbortSignal;
  readonly filename: string;
};

type BodyForm = Pick<StreamBodyOptions, 'format' | 'isFramed'>;

const MIMES = { warc: 'application/warc', jsonl: 'application/x-ndjson' };
const FRAME_HEAD_BYTES = 5;
const HEARTBEAT_MS = 15_000;

export async function sendStreamBody(
  response: ServerResponse,
  stream: Subscriber,
  { bytesMax, stopping, filename, ...form }: StreamBodyOptions,
): Promise<void> {
  const { format, isFramed } = form;
  const disconnect = disconnectSignal(response);
  const { method, httpVersion } = response.req;
  const hasTrailers = method !== 'HEAD' && httpVersion !== '1.0';
  let sent = 0;
  let sentBefore = 0;
  let isAtCursor = true;
  let cursor = stream.cursor();
  const heartbeat = setInterval(() => {
    const isSilent = sent === sentBefore && isAtCursor && !response.writableNeedDrain;
    sentBefore = sent;
    if (!isSilent) return;
    response.flushHeaders();
    writeCursor(response, form, { cursor, isEnd: false });
  }, HEARTBEAT_MS);
  try {
    response.writeHead(200, {
      'cache-control': 'no-store',
      'content-type': isFramed ? FRAMES_MIME : MIMES[format],
      'content-disposition': `attachment; filename="${filename}"`,
      'x-content-type-options': 'nosniff',
      ...UNBUFFERED,
      [CURSOR_FIELD]: cursor,
      ...(stream.join !== undefined && { 'X-Pinakes-Joined': 'yes' }),
      ...(stream.mayLack && { 'X-Pinakes-Deleted': 'possible' }),
      ...(hasTrailers && { Trailer: `${CURSOR_FIELD}, ${END_FIELD}` }),
    });
    if (method === 'HEAD') {
      response.end();
      return;
    }
    let isEnd = false;
    while (!(isAtCursor && (sent >= bytesMax || stopping.aborted))) {
      const chunk = await stream.next();
      if (response.destroyed) return;
      isEnd = chunk === undefined;
      if (!chunk) break;
      sent += chunk.bytes;
      isAtCursor = chunk.cursor !== undefined;
      cursor = stream.cursor();
      response.cork();
      for (const piece of chunk.pieces) writePiece(response, form, piece);
      if (isAtCursor) writeCursor(response, form, { cursor, isEnd: false });
      response.uncork();
      if (response.writableNeedDrain) await once(response, 'drain', { signal: disconnect });
    }
    cursor = stream.cursor();
    writeCursor(response, form, { cursor, isEnd });
    if (isFramed) response.write(formatFrame('X', isEnd ? 'yes' : 'no'));
    if (hasTrailers) response.addTrailers({ [CURSOR_FIELD]: cursor, [END_FIELD]: isEnd ? 'yes' : 'no' });
    response.end();
  } catch (error) {
    if (disconnect.aborted) return;
    response.destroy();
    throw error;
  } finally {
    clearInterval(heartbeat);
  }
}

/** Writes a piece without copying it, because several clients can share its bytes. */
function writePiece(response: ServerResponse, { isFramed }: BodyForm, piece: Uint8Array): void {
  if (!isFramed) {
    response.write(piece);
    return;
  }
  for (let at = 0; at < piece.length; at += FRAME_BYTES_MAX) {
    const part = piece.subarray(at, at + FRAME_BYTES_MAX);
    const head = Buffer.alloc(FRAME_HEAD_BYTES);
    head.write('D', 'latin1');
    head.writeUInt32BE(part.length, 1);
    response.write(head);
    response.write(part);
  }
}

function writeCursor(
  response: ServerResponse,
  { format, isFramed }: BodyForm,
  { cursor, isEnd }: { readonly cursor: string; readonly isEnd: boolean },
): void {
  if (isFramed) response.write(formatFrame('C', cursor));
  else if (format === 'jsonl') response.write(utf8(`${JSON.stringify({ type: 'cursor', cursor, end: isEnd })}\n`));
}
