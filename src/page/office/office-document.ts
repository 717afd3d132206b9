/**
 * Reads text, links, title and dates of office documents: Office Open XML (docx, pptx, xlsx) and OpenDocument (odt,
 * odp, ods), and their variants for templates and macros. Visible text is read in order: paragraphs on lines, cells of
 * a row on one line. Macros, comments and deleted text are skipped. For a document that cannot be read, the text is
 * empty.
 */

import type { DocumentTarget } from '../document-target.ts';
import type { MetaReader } from '../html/meta-reader.ts';
import { tidyText } from '../link.ts';
import { parsePageDate } from '../page-date.ts';
import { readOpenDocument } from './open-document.ts';
import { bareName, OfficePackage } from './package.ts';
import { readSheets } from './sheets.ts';
import { readSlides, readWordDocument } from './word-and-slides.ts';
import { walkXml } from './xml-reader.ts';

const DESCRIPTION_LENGTH_MAX = 4000;

const OPEN_DOCUMENT = 'application/vnd.oasis.opendocument.';

/** True if bytes begin like an office document: a ZIP file whose first entry identifies it. */
export function isOffice(start: string): boolean {
  if (!start.startsWith('PK\x03\x04')) return false;
  return start.startsWith('[Content_Types].xml', 30) || start.startsWith(`mimetype${OPEN_DOCUMENT}`, 30);
}

/** Reads an office document. True if all of it could be read. */
export async function readOffice(bytes: Uint8Array, target: DocumentTarget): Promise<boolean> {
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
  const relations = [...(await office.relations('')).values()];
  const partOf = (type: string) => relations.find((relation) => relation.type === type && !relation.isExternal)?.target;
  const main = partOf('officeDocument');
  if (main === undefined || !office.has(main)) return false;
  readFacts(await office.read(partOf('core-properties') ?? 'docProps/core.xml'), target.meta);
  const xml = await office.read(main);
  const root = rootOf(xml);
  const part = { name: main, xml };
  if (root === 'document') await readWordDocument(office, part, target);
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

/** Reads the properties of a document, except its author. */
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
