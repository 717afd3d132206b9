/**
 * What a line of a stream says of the page in a record: its title, language, text and links. The pages of revisits are
 * told where the records they lean on are.
 */
import type { LineExtension } from '../archive/index.ts';
import { isPageMime, PAGE_BYTES_MAX, readPageAside } from '../page/index.ts';
import { DecodedStart } from '../warc/index.ts';

export type PageParts = { readonly text: boolean; readonly links: boolean };

/** `memoryBytesMax` bounds the process that reads documents. */
export function pageExtension(parts: PageParts, memoryBytesMax?: number): LineExtension {
  return async (record) => {
    const { head, http, mime } = record;
    if (head.type === 'revisit' || head.targetUri === undefined || !isPageMime(mime))
      return { payloadBytes: await record.payloadBytes() };
    const { bytes, payloadBytes } = await decoded(record.payload(), http?.contentCodings ?? []);
    const contentType = http?.get('content-type');
    const source = { bytes, mime, url: head.targetUri, ...(contentType !== undefined && { contentType }) };
    const page = await readPageAside(source, parts, { memoryBytesMax });
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
        ...(parts.text && { text }),
        ...(parts.links && { links: links.map(({ url, kind, text: anchor }) => ({ url, kind, text: anchor })) }),
      },
    };
  };
}

/**
 * The start of a payload without its content codings, as much of it as pages are read from; and how long the payload
 * is.
 */
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
