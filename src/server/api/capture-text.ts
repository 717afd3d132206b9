/** The content of a capture as text: decoded, up to a bound, as source or as what a reader sees. */
import { type Archive, lacksAnswer, releasePayload, soundPayload } from '../../archive/index.ts';
import { PinakesError } from '../../base/index.ts';
import type { Capture } from '../../catalog/index.ts';
import { decodeText, readPageInBackground } from '../../page/index.ts';
import { DecodedStart } from '../../warc/index.ts';
import { HttpProblem } from '../http/problem.ts';

/** How much of a content is decoded to find its text; markup takes more room than what it says. */
const DECODED_BYTES_MAX = 16 * 1024 * 1024;

/** Whether a record is damaged is known at its end: so much is read behind what is wanted of it. */
const CHECKED_BYTES_MAX = 16 * 1024 * 1024;

export type CaptureText = { readonly text: string; readonly truncated: boolean; readonly charset: string };

/** The source, decoded to text. `limit` counts bytes of the source. */
export async function sourceOf(archive: Archive, capture: Capture, limit: number): Promise<CaptureText> {
  const { bytes, truncated, contentType } = await decodedStart(archive, capture, limit);
  const { text, charset } = decodeText(bytes, contentType);
  return { text, truncated, charset };
}

/** What a reader sees, blocks on lines. `limit` counts characters. */
export async function textOf(archive: Archive, capture: Capture, limit: number): Promise<CaptureText> {
  const { bytes, truncated, contentType } = await decodedStart(archive, capture, DECODED_BYTES_MAX);
  const source = { bytes, mime: capture.mime, url: capture.url, ...(contentType !== undefined && { contentType }) };
  const page = await readPageInBackground(source, { links: false }, { memoryBytesMax: archive.documentMemory });
  if (!page) {
    throw new HttpProblem({
      status: 422,
      code: 'NO_TEXT',
      message: `no text is read from ${capture.mime || 'contents of no known type'}`,
      advice: 'Ask for its source.',
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
