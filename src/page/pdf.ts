/**
 * Text, links, title and dates of a PDF document, by pdf.js. Scripts in it do not run and nothing is fetched. A document that cannot be read has an empty text; the library is loaded when the
 * first document comes.
 */
import type { LinkCollector } from './link.ts';
import type { MetaReader } from './meta-reader.ts';
import { parsePageDate } from './page-date.ts';
import { TEXT_LENGTH_MAX, type TextBuilder } from './text-builder.ts';

/** Beyond this only the bytes are kept: the reader needs several times the document in memory. */
export const PDF_BYTES_MAX = 64 * 1024 * 1024;
const PAGES_MAX = 3000;

type PdfTarget = {
  readonly links: LinkCollector | undefined;
  readonly text: TextBuilder | undefined;
  readonly meta: MetaReader;
};

type TextItem = { readonly str: string; readonly hasEOL: boolean };
type Annotation = { url?: string; unsafeUrl?: string };

/** Whether the whole document could be read. */
export async function readPdf(bytes: Uint8Array, target: PdfTarget): Promise<boolean> {
  if (bytes.length > PDF_BYTES_MAX) return false;
  const { getDocumentProxy } = await import('unpdf');
  try {
    // The library takes the bytes for itself.
    const document = await getDocumentProxy(Uint8Array.from(bytes), { verbosity: 0 });
    try {
      await readInfo(document, target.meta);
      const pages = Math.min(document.numPages, PAGES_MAX);
      let length = 0;
      for (let number = 1; number <= pages && length < TEXT_LENGTH_MAX; number++) {
        const page = await document.getPage(number);
        if (target.text !== undefined) length += addText((await page.getTextContent()).items, target.text);
        if (target.links !== undefined) {
          for (const annotation of (await page.getAnnotations()) as Annotation[]) {
            const url = annotation.url ?? annotation.unsafeUrl;
            if (url !== undefined) target.links.add(url, 'anchor', false);
          }
        }
        page.cleanup();
      }
      return pages === document.numPages;
    } finally {
      await document.loadingTask.destroy();
    }
  } catch {
    return false;
  }
}

async function readInfo(document: { getMetadata(): Promise<{ info: unknown }> }, meta: MetaReader): Promise<void> {
  const info = (await document.getMetadata()).info as Readonly<Record<string, unknown>>;
  const value = (name: string) => (typeof info[name] === 'string' ? info[name] : '');
  meta.declareTitle(value('Title'));
  meta.description ||= value('Subject').slice(0, 4000);
  meta.declareLanguage(value('Language'));
  meta.publishedAt ??= parsePageDate(value('CreationDate'));
  meta.modifiedAt ??= parsePageDate(value('ModDate'));
}

function addText(items: readonly (TextItem | object)[], text: TextBuilder): number {
  let length = 0;
  for (const item of items) {
    if (!('str' in item)) continue;
    text.add(item.str);
    length += item.str.length;
    if (item.hasEOL) text.break();
  }
  text.break();
  return length;
}
