/**
 * Reads text, links, title and dates of a PDF document with pdf.js. For a document that cannot be read, the text is
 * empty. Scripts in the document do not run, and nothing is fetched.
 *
 * A kilobyte of PDF can draw a picture a trillion times, or unpack to more than the memory. So PDF documents are read
 * in a child process, which can be ended at any moment; see `page-process.ts`.
 */

import type { DocumentTarget } from '../document-target.ts';
import type { MetaReader } from '../html/meta-reader.ts';
import { parsePageDate } from '../page-date.ts';
import { TEXT_LENGTH_MAX } from '../text-builder.ts';

const PAGES_MAX = 3000;
/**
 * After this time, reading stops at the end of the current page. If a single page takes much longer, `page-process.ts`
 * ends the process.
 */
const READING_TIMEOUT_MS = 45_000;
const DESCRIPTION_LENGTH_MAX = 4000;

type TextItem = { readonly str: string; readonly hasEOL: boolean };
type Annotation = { readonly url?: string; readonly unsafeUrl?: string };

/** Reads a PDF document. True if all of it could be read. */
export async function readPdf(bytes: Uint8Array, target: DocumentTarget): Promise<boolean> {
  try {
    return await readDocument(bytes, target);
  } catch {
    return false;
  }
}

async function readDocument(bytes: Uint8Array, { meta, text, links }: DocumentTarget): Promise<boolean> {
  const { getDocumentProxy } = await import('unpdf');
  // pdf.js takes ownership of the bytes, and does not accept a Buffer.
  const document = await getDocumentProxy(Uint8Array.from(bytes), { verbosity: 0 });
  let isLate = false;
  using _ = setTimeout(() => {
    isLate = true;
  }, READING_TIMEOUT_MS);
  try {
    readInfo((await document.getMetadata()).info as Readonly<Record<string, unknown>>, meta);
    let length = 0;
    for (let number = 1; number <= document.numPages; number++) {
      // Let pending timers run.
      await new Promise((resolve) => setImmediate(resolve));
      if (isLate || number > PAGES_MAX || length >= TEXT_LENGTH_MAX) return false;
      const page = await document.getPage(number);
      for (const line of text ? linesOf((await page.getTextContent()).items) : []) {
        length += line.length;
        text!.add(line);
        text!.break();
      }
      const annotations = links ? ((await page.getAnnotations()) as Annotation[]) : [];
      for (const url of annotations.flatMap(({ url, unsafeUrl }) => url ?? unsafeUrl ?? []))
        links!.add(url, 'anchor', false);
      page.cleanup();
    }
    return true;
  } finally {
    await document.loadingTask.destroy();
  }
}

/** Reads the information dictionary of the document. */
function readInfo(info: Readonly<Record<string, unknown>>, meta: MetaReader): void {
  const value = (name: string) => (typeof info[name] === 'string' ? info[name] : '');
  meta.declareTitle(value('Title'));
  meta.description ||= value('Subject').slice(0, DESCRIPTION_LENGTH_MAX);
  meta.declareLanguage(value('Language'));
  meta.publishedAt ??= parsePageDate(value('CreationDate'));
  meta.modifiedAt ??= parsePageDate(value('ModDate'));
}

function linesOf(items: readonly (TextItem | object)[]): string[] {
  const lines: string[] = [];
  let line = '';
  let length = 0;
  for (const item of items) {
    if (!('str' in item)) continue;
    line += item.str;
    length += item.str.length;
    if (length >= TEXT_LENGTH_MAX) break;
    if (!item.hasEOL) continue;
    lines.push(line);
    line = '';
  }
  return [...lines, line];
}
