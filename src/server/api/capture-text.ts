/** The content of a capture as text, up to a limit: its decoded source, or the visible text of a page. */
import { type Archive, lacksAnswer, releasePayload, soundPayload } from '../../archive/index.ts';
import { PinakesError } from '../../base/index.ts';
import type { Capture } from '../../catalog/index.ts';
import { decodeText, readPageInBackground } from '../../page/index.ts';
import { DecodedStart } from '../../warc/index.ts';
import { HttpProblem } from '../http/problem.ts';

/** How much of a content is decoded to find its text. Markup is longer than its text. */
const DECODED_BYTES_MAX = 16 * 1024 * 1024;

/** How many bytes of a record are read beyond the limit. The end of a record shows whether the record is damaged. */
const CHECKED_BYTES_MAX = 16 * 1024 * 1024;

export type CaptureText = { readonly text: string; readonly truncated: boolean; readonly charset: string };

/** The source, decoded to text. `limit` counts bytes of the source. */
export async function sourceOf(archive: Archive, capture: Capture, limit: number): Promise<CaptureText> {
  const { bytes, truncated, contentType } = await decodedStart(archive, capture, limit);
  const { text, charset } = decodeText(bytes, contentType);
  return { text, truncated, charset };
}

/** The visible text, one line for each block. `limit` counts characters. */
export async function textOf(archive: Archive, capture: Capture, limit: number): Promise<CaptureText> {
  const { bytes, truncated, contentType } = await decodedStart(archive, capture, DECODED_BYTES_MAX);
  const source = { bytes, mime: capture.mime, url: capture.url, ...(contentType !== undefined && { contentType }) };
  const page = await readPageInBackground(source, { links: false }, { memoryBytesMax: archive.documentMemory });
  if (!page) {
    throw new HttpProblem({
      status: 422,
      code: 'NO_TEXT',
      message: `text cannot be extracted from ${capture.mime || 'content of an unknown type'}`,
      advice: 'Request the source instead.',
      where: capture.url,
    });
  }
  const text = page.text.slice(0, limit);
  return { text, truncated: truncated || text.length < page.text.length, charset: page.charset };
}

async function decodedStart(
  archive: Archive,
  capture: Capture,
  limit: number,
): Promise<{ bytes: Uint8Array; truncated: boolean; contentType: string | undefined }> {
  const retrieved = await archive.open(capture);
  const { payload, http, holderHttp } = retrieved;
  if (lacksAnswer(capture, http)) {
    await releasePayload(payload);
    const detail = 'this is a revisit whose original was never added';
    throw new PinakesError('CONTENT_MISSING', { where: capture.url, detail });
  }
  const start = new DecodedStart(holderHttp?.contentCodings ?? [], limit);
  let passedBytes = 0;
  for await (const piece of soundPayload(retrieved)) {
    if (!start.isCut) start.push(piece);
    else if ((passedBytes += piece.length) > CHECKED_BYTES_MAX) break;
  }
  const bytes = start.end();
  const contentType = http?.get('content-type') ?? holderHttp?.get('content-type');
  return { bytes, truncated: start.isCut, contentType };
}
