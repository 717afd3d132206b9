/**
 * Makes the answers to requests of a browser. Every answer comes from a capture, so the archive holds everything that a
 * rendered page shows.
 */
import { type Archive, type Capture, releasePayload } from '../../archive/index.ts';
import { DecodedStart, type HttpHead } from '../../warc/index.ts';
import type { BrowserAnswer } from './browser-process.ts';

/** A body longer than this is captured, but the page does not get it. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

/** Fields of the connection and the coding, which do not apply to the answer. */
const DROPPED_FIELDS = new Set([
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

/** The answer from a capture; undefined when its body is too long. */
export async function browserAnswer(
  archive: Archive,
  capture: Capture,
  isHead = false,
): Promise<BrowserAnswer | undefined> {
  const { http, holderHttp, payload } = await archive.open(capture);
  // After a 304 the page gets the earlier content, which the server confirmed.
  const isUnmodified = capture.kind === 'revisit' && capture.status === 304;
  const head = isUnmodified ? holderHttp : http;
  if (!head || isHead) {
    await releasePayload(payload);
    return head && { status: head.status ?? 200, fields: answerFields(head), body: new Uint8Array(0) };
  }
  const body = await decodedBody(payload, (holderHttp ?? head).contentCodings);
  return body && { status: head.status ?? 200, fields: answerFields(head), body };
}

function answerFields({ fields }: HttpHead): [string, string][] {
  return fields
    .filter(({ name, value }) => !DROPPED_FIELDS.has(name.trim().toLowerCase()) && isAllowedField(name, value))
    .map(({ name, value }) => [name.trim(), value]);
}

/** Whether the protocol of the browser accepts a field. Servers also send invalid fields. */
function isAllowedField(name: string, value: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name.trim()) && !/[\0\r\n]/.test(value);
}

async function decodedBody(
  payload: AsyncIterable<Uint8Array>,
  codings: readonly string[],
): Promise<Uint8Array | undefined> {
  const start = new DecodedStart(codings, ANSWER_BYTES_MAX);
  for await (const piece of payload) {
    start.push(piece);
    if (start.isCut) break;
  }
  const bytes = start.end();
  return start.isCut ? undefined : bytes;
}
