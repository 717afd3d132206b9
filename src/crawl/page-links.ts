/** Reads the links out of a response, from the bytes that passed by on their way to the store, or from what the archive has. */
import { isPageMime, type Link, linksOfHeaders, PAGE_BYTES_MAX, readPage, readSitemap } from '../page/index.ts';
import { ChunkedBody, ContentDecoders, type HttpHead } from '../warc/index.ts';

/** What is kept of a body, as received, to read links from. */
export const KEPT_BYTES_MAX = 16 * 1024 * 1024;

export type Reading = { readonly links: readonly Link[]; readonly isNofollow: boolean };

const NOTHING: Reading = { links: [], isNofollow: false };

/** Whether links may be in a response with this head. */
export function mayHaveLinks(head: HttpHead): boolean {
  return isPageMime(mimeOf(head));
}

export function mimeOf(head: HttpHead): string {
  return (head.get('content-type') ?? '').split(/[;\s]/, 1)[0]!.toLowerCase();
}

/** A body passing by: everything goes on, and the first bytes are kept. */
export class KeptBody {
  readonly #source: AsyncIterable<Uint8Array>;
  readonly #keeps: boolean;
  readonly #onEnd: (bytes: number) => void;
  readonly #parts: Uint8Array[] = [];
  #kept = 0;
  bytes = 0;

  constructor(source: AsyncIterable<Uint8Array>, keeps: boolean, onEnd: (bytes: number) => void) {
    this.#source = source;
    this.#onEnd = onEnd;
    this.#keeps = keeps;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for await (const piece of this.#source) {
      this.bytes += piece.length;
      if (this.#keeps && this.#kept < KEPT_BYTES_MAX) {
        this.#parts.push(piece);
        this.#kept += piece.length;
      }
      yield piece;
    }
    this.#onEnd(this.bytes);
  }

  /** What was kept. */
  get start(): Buffer {
    return this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts);
  }
}

/** The content of a body: framing and codings taken off, up to a bound, however much it would swell. */
export function contentOf(body: Uint8Array, head: HttpHead, isFramed: boolean): Uint8Array {
  let payload = body;
  if (isFramed && head.isChunked) {
    const parts: Uint8Array[] = [];
    const chunked = new ChunkedBody((bytes) => parts.push(bytes));
    chunked.push(body);
    chunked.end();
    payload = Buffer.concat(parts);
  }
  const codings = head.contentCodings;
  if (codings.length === 0) return payload;
  const parts: Buffer[] = [];
  let total = 0;
  const decoders = new ContentDecoders(codings, (bytes) => {
    total += bytes.length;
    parts.push(Buffer.from(bytes));
    if (total > PAGE_BYTES_MAX) throw ENOUGH;
  });
  try {
    decoders.push(payload);
    decoders.end();
  } catch (error) {
    if (error !== ENOUGH) throw error;
    decoders.end();
  }
  return Buffer.concat(parts).subarray(0, PAGE_BYTES_MAX);
}

const ENOUGH = new Error('enough was decoded');

/** The links of a response. `url` is its own. */
export async function readLinks(url: string, head: HttpHead, content: Uint8Array): Promise<Reading> {
  const fields = head.fields.map(({ name, value }) => [name, value] as const);
  const named = linksOfHeaders(fields, url);
  const says = head.get('x-robots-tag')?.toLowerCase() ?? '';
  const isNofollow = /\b(nofollow|none)\b/.test(says);
  if (content.length === 0 || !mayHaveLinks(head)) return { ...NOTHING, links: named, isNofollow };
  const contentType = head.get('content-type');
  const page = await readPage(
    { bytes: content, mime: mimeOf(head), url, ...(contentType !== undefined && { contentType }) },
    { text: false },
  );
  return { links: [...named, ...(page?.links ?? [])], isNofollow: isNofollow || (page?.robots.nofollow ?? false) };
}

/** The pages and further sitemaps that a sitemap names. */
export function readSitemapLinks(content: Uint8Array, url: string): { pages: string[]; sitemaps: string[] } {
  const { urls, sitemaps } = readSitemap(content, url);
  return { pages: urls.map((entry) => entry.url), sitemaps: [...sitemaps] };
}
