/**
 * Adds the fields of the page to a JSON line of a stream: title, language, text and links. The line of a revisit does
 * not have these fields; the line of the original record does.
 */
import type { LineExtension } from '../archive/index.ts';
import { isPageMime, PAGE_BYTES_MAX, readPageInBackground } from '../page/index.ts';
import { DecodedStart } from '../warc/index.ts';

/** The optional fields of a page in a stream. */
export type StreamPageFields = { readonly text: boolean; readonly links: boolean };

/** `memoryBytesMax` bounds the memory of the process that reads documents. */
export function pageExtension(fields: StreamPageFields, memoryBytesMax?: number): LineExtension {
  return async (record) => {
    const { head, http, mime } = record;
    if (head.type === 'revisit' || head.targetUri === undefined || !isPageMime(mime))
      return { payloadBytes: await record.payloadBytes() };
    const { bytes, payloadBytes } = await decoded(record.payload(), http?.contentCodings ?? []);
    const contentType = http?.get('content-type');
    const source = { bytes, mime, url: head.targetUri, ...(contentType !== undefined && { contentType }) };
    const page = await readPageInBackground(source, fields, { memoryBytesMax });
    if (!page) return { payloadBytes };
    const { title, description, language, charset, headings, text, links } = page;
    return {
      payloadBytes,
      page: {
        title,
        description,
        language,
        charset,
        headings,
        ...(page.isTooCostly && { finding: 'text-too-costly' }),
        ...(fields.text && { text }),
        ...(fields.links && { links: links.map(({ url, kind, text: anchor }) => ({ url, kind, text: anchor })) }),
      },
    };
  };
}

/** The decoded start of a payload, up to the limit for reading a page, and the length of the whole payload. */
async function decoded(
  payload: AsyncIterable<Uint8Array>,
  codings: readonly string[],
): Promise<{ bytes: Uint8Array; payloadBytes: number }> {
  const start = new DecodedStart(codings, PAGE_BYTES_MAX);
  let payloadBytes = 0;
  for await (const piece of payload) {
    payloadBytes += piece.length;
    start.push(piece);
  }
  return { bytes: start.end(), payloadBytes };
}
