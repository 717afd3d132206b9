/**
 * Text, links, title and dates of office documents: Office Open XML (docx, pptx, xlsx) and OpenDocument (odt, odp,
 * ods), with the templates and the documents with macros that are made like them. What a reader sees comes in its
 * order: paragraphs and slides on lines, cells beside each other. Macros are not looked at, and nothing that was
 * deleted or commented is text. A document that cannot be read has an empty text.
 */

import type { MetaReader } from '../html/meta-reader.ts';
import { tidyText } from '../link.ts';
import { parsePageDate } from '../page-date.ts';
import { readOpenDocument } from './office-open-document.ts';
import { bareName, OfficePackage } from './office-package.ts';
import { readSheets } from './office-sheets.ts';
import type { OfficeTarget } from './office-target.ts';
import { readSlides, readWriting } from './office-writing.ts';
import { walkXml } from './xml-reader.ts';

const DESCRIPTION_LENGTH_MAX = 4000;

const OPEN_DOCUMENT = 'application/vnd.oasis.opendocument.';

/** Whether bytes begin as such a document does: a ZIP file whose first entry says so. */
export function isOffice(start: string): boolean {
  if (!start.startsWith('PK\x03\x04')) return false;
  return start.startsWith('[Content_Types].xml', 30) || start.startsWith(`mimetype${OPEN_DOCUMENT}`, 30);
}

/** Whether the whole document could be read. */
export async function readOffice(bytes: Uint8Array, target: OfficeTarget): Promise<boolean> {
  let office: OfficePackage;
  try {
    office = await OfficePackage.open(bytes);
  } catch {
    return false;
  }
  if (office.has('content.xml')) {
    readFacts(await office.read('meta.xml'), target.meta);
    await readOpenDocument(office, target);
    return office.isWhole;
  }
  const outward = [...(await office.relations('')).values()];
  const partOf = (type: string) => outward.find((relation) => relation.type === type && !relation.isExternal)?.target;
  const main = partOf('officeDocument');
  if (main === undefined || !office.has(main)) return false;
  readFacts(await office.read(partOf('core-properties') ?? 'docProps/core.xml'), target.meta);
  const xml = await office.read(main);
  const root = rootOf(xml);
  const part = { name: main, xml };
  if (root === 'document') await readWriting(office, part, target);
  else if (root === 'presentation') await readSlides(office, part, target);
  else if (root === 'workbook') await readSheets(office, part, target);
  else return false;
  return office.isWhole;
}

/** The name of the outermost element. */
function rootOf(xml: string): string {
  const [, name = ''] = /<([A-Za-z_][\w.-]*(?::[\w.-]+)?)[\s/>]/.exec(xml.slice(0, 10_000)) ?? [];
  return bareName(name).toLowerCase();
}

/** What the document says of itself, but not who wrote it. */
function readFacts(xml: string, meta: MetaReader): void {
  walkXml(xml, {
    close(name, text) {
      const bare = bareName(name);
      if (bare === 'title') meta.declareTitle(text);
      else if (bare === 'description') meta.description ||= tidyText(text, DESCRIPTION_LENGTH_MAX);
      else if (bare === 'language') meta.declareLanguage(text);
      else if (bare === 'created' || bare === 'creation-date') meta.publishedAt ??= parsePageDate(text);
      else if (bare === 'modified' || bare === 'date') meta.modifiedAt ??= parsePageDate(text);
    },
  });
}
