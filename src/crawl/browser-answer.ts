/** What a browser is answered with: always what the archive holds, so that a page is rendered from nothing but captures. */
import { type Archive, type Capture, releasePayload } from '../archive/index.ts';
import { ContentDecoders, type HttpHead } from '../warc/index.ts';
import type { HeldAnswer } from './browser-process.ts';

/** Longer bodies are captured, and the page that asked for them goes without. */
export const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

/** Of the connection and the coding, which the browser does not see here. */
const LEFT_OUT = new Set([
  'alt-svc',
  'connection',
  'content-encoding',
  'content-length',
  'keep-alive',
  'proxy-connection',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** The answer that a capture is; undefined when it is too long to be one. */
export async function answerOf(archive: Archive, capture: Capture, isHead = false): Promise<HeldAnswer | undefined> {
  const { http, holderHttp, payload } = await archive.open(capture);
  // The server said that what is held is still right: that is what the page gets.
  const isUnmodified = capture.kind === 'revisit' && capture.status === 304;
  const head = isUnmodified ? holderHttp : http;
  if (!head || isHead) {
    await releasePayload(payload);
    return head && { status: head.status ?? 200, fields: fieldsOf(head), body: new Uint8Array(0) };
  }
  const body = await decoded(payload, (holderHttp ?? head).contentCodings);
  return body && { status: head.status ?? 200, fields: fieldsOf(head), body };
}

function fieldsOf({ fields }: HttpHead): [string, string][] {
  return fields
    .filter(({ name, value }) => !LEFT_OUT.has(name.trim().toLowerCase()) && isSayable(name, value))
    .map(({ name, value }) => [name.trim(), value]);
}

/** What the browser's protocol takes. Servers send other things too. */
function isSayable(name: string, value: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name.trim()) && !/[\0\r\n]/.test(value);
}

const TOO_LONG = new Error('too long to be an answer');

async function decoded(
  payload: AsyncIterable<Uint8Array>,
  codings: readonly string[],
): Promise<Uint8Array | undefined> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  const take = (piece: Uint8Array) => {
    const isTold = bytes > ANSWER_BYTES_MAX;
    bytes += piece.length;
    if (bytes <= ANSWER_BYTES_MAX) parts.push(Buffer.from(piece));
    else if (!isTold) throw TOO_LONG;
  };
  const decoders = new ContentDecoders(codings, take);
  try {
    for await (const piece of payload) decoders.push(piece);
    decoders.end();
  } catch (error) {
    if (error !== TOO_LONG) throw error;
    decoders.end();
  }
  return bytes > ANSWER_BYTES_MAX ? undefined : Buffer.concat(parts);
}
