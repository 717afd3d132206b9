/**
 * The list of pages of a WACZ (`pages/pages.jsonl`): a header line, then one page per line.
 *
 *     {"format": "json-pages-1.0", "id": "pages", "title": "Pages"}
 *     {"id": "...", "url": "https://example.test/", "ts": "2024-03-01T10:00:00Z", "title": "..."}
 */
import type { JsonValue } from '../cdx/cdx-entry.ts';
import { type IndexFindingCode, indexFinding, quoted } from '../cdx/cdx-finding.ts';
import { type LineReadOptions, readLineBatches } from '../cdx/cdx-line.ts';
import { formatJson } from '../cdx/cdxj.ts';

export type WaczPage = {
  readonly url: string;
  /** RFC 3339, as written; empty when the line has none. */
  readonly ts: string;
  readonly id?: string;
  readonly title?: string;
  readonly text?: string;
  readonly size?: number;
};

type JsonObject = { readonly [key: string]: JsonValue };

function parseLine(line: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

export async function* readWaczPages(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  options: LineReadOptions,
): AsyncGenerator<WaczPage> {
  const report = (code: IndexFindingCode, offset: number, detail: string) =>
    options.onFinding(indexFinding(code, options.file, offset, detail));
  let isFirst = true;
  for await (const { lines, offsets } of readLineBatches(chunks, options)) {
    for (let i = 0; i < lines.length; i++) {
      const line = lines[i]!;
      if (line.trim() === '') continue;
      const object = parseLine(line);
      const isHeader = isFirst && typeof object?.format === 'string' && object.url === undefined;
      if (isFirst && !isHeader) report('wacz-pages-header', offsets[i]!, quoted(line));
      isFirst = false;
      if (isHeader) continue;
      const page = object && pageOf(object);
      if (page) yield page;
      else report('wacz-page-invalid', offsets[i]!, quoted(line));
    }
  }
}

function pageOf(object: JsonObject): WaczPage | undefined {
  const { url, ts, id, title, text, size } = object;
  if (typeof url !== 'string' || url === '') return undefined;
  return {
    url,
    ts: typeof ts === 'string' ? ts : '',
    ...(typeof id === 'string' ? { id } : {}),
    ...(typeof title === 'string' ? { title } : {}),
    ...(typeof text === 'string' ? { text } : {}),
    ...(typeof size === 'number' ? { size } : {}),
  };
}

/** The first line of a list of pages, with its line end. */
export function formatWaczPagesHeader(): string {
  return `${formatJson({ format: 'json-pages-1.0', id: 'pages', title: 'Pages' })}\n`;
}

/** One page as a line, with its line end. */
export function formatWaczPage(page: WaczPage): string {
  const { id, url, ts, title, text, size } = page;
  return `${formatJson({
    ...(id === undefined ? {} : { id }),
    url,
    ts,
    ...(title === undefined ? {} : { title }),
    ...(text === undefined ? {} : { text }),
    ...(size === undefined ? {} : { size }),
  })}\n`;
}
