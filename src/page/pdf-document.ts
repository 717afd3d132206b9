/** Reads a PDF document with pdf.js, on a thread that may be ended at any moment: what is found is told page by page. Scripts in it do not run and nothing is fetched. */
import type { TellPart } from '../base/index.ts';
import { TEXT_LENGTH_MAX } from './text-builder.ts';

const PAGES_MAX = 3000;

export type PdfJob = { readonly bytes: Uint8Array; readonly wantsText: boolean; readonly wantsLinks: boolean };

/** What the document says of itself, by the names of its own dictionary; or what stands on a page. */
export type PdfPart =
  | { readonly info: Readonly<Record<string, string>> }
  | { readonly lines: readonly string[]; readonly urls: readonly string[] };

const INFO = ['Title', 'Subject', 'Language', 'CreationDate', 'ModDate'];

type TextItem = { readonly str: string; readonly hasEOL: boolean };
type Annotation = { readonly url?: string; readonly unsafeUrl?: string };

/** Whether the whole document could be read. */
export async function readDocument({ bytes, wantsText, wantsLinks }: PdfJob, tell: TellPart): Promise<boolean> {
  const { getDocumentProxy } = await import('unpdf');
  const told = (part: PdfPart) => tell(part);
  const document = await getDocumentProxy(bytes, { verbosity: 0 });
  try {
    const info = (await document.getMetadata()).info as Readonly<Record<string, unknown>>;
    const values = INFO.map((name) => [name, info[name]]).filter(([, value]) => typeof value === 'string');
    told({ info: Object.fromEntries(values) });
    let length = 0;
    for (let number = 1; number <= document.numPages; number++) {
      if (number > PAGES_MAX || length >= TEXT_LENGTH_MAX) return false;
      const page = await document.getPage(number);
      const lines = wantsText ? linesOf((await page.getTextContent()).items) : [];
      const annotations = wantsLinks ? ((await page.getAnnotations()) as Annotation[]) : [];
      const urls = annotations.flatMap(({ url, unsafeUrl }) => url ?? unsafeUrl ?? []);
      for (const line of lines) length += line.length;
      told({ lines, urls });
      page.cleanup();
    }
    return true;
  } finally {
    await document.loadingTask.destroy();
  }
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
