/**
 * Reads text and links of spreadsheets: one line per row, with the name of each sheet as a heading. Numbers and dates
 * are written as they are stored, without the format of their cells.
 */

import type { DocumentTarget } from '../document-target.ts';
import { attributeOf, bareName, type OfficePackage, type OfficePart } from './package.ts';
import { walkXml } from './xml-reader.ts';

export async function readSheets(office: OfficePackage, main: OfficePart, target: DocumentTarget): Promise<void> {
  const relations = await office.relations(main.name);
  const sheets: { readonly name: string; readonly part: string }[] = [];
  walkXml(main.xml, {
    open(element, attributes) {
      if (bareName(element) !== 'sheet') return;
      const relation = relations.get(attributes.get('r:id') ?? '');
      if (relation && !relation.isExternal) sheets.push({ name: attributes.get('name') ?? '', part: relation.target });
    },
  });
  const shared = [...relations.values()].find(({ type, isExternal }) => type === 'sharedStrings' && !isExternal);
  const strings = target.text && shared ? stringsOf(await office.read(shared.target)) : [];
  for (const { name, part } of sheets) {
    if (target.text?.isTruncated) return;
    target.text?.addHeading(name);
    await readSheet(office, part, strings, target);
  }
}

/** The shared strings, which cells refer to by number. Phonetic guides (`rPh`) are not part of the text. */
function stringsOf(xml: string): string[] {
  const strings: string[] = [];
  let text = '';
  let phonetic = 0;
  walkXml(xml, {
    open(name) {
      const bare = bareName(name);
      if (bare === 'si') text = '';
      else if (bare === 'rph') phonetic++;
    },
    close(name, content) {
      const bare = bareName(name);
      if (bare === 't' && phonetic === 0) text += content;
      else if (bare === 'rph') phonetic--;
      else if (bare === 'si') strings.push(text);
    },
  });
  return strings;
}

async function readSheet(
  office: OfficePackage,
  part: string,
  strings: readonly string[],
  { text, links }: DocumentTarget,
): Promise<void> {
  const xml = await office.read(part);
  const relations = await office.relations(part);
  let type = '';
  walkXml(xml, {
    open(name, attributes) {
      const bare = bareName(name);
      if (bare === 'row') text?.break();
      else if (bare === 'c') {
        type = attributes.get('t') ?? 'n';
        text?.space();
      } else if (bare === 'hyperlink') {
        const relation = relations.get(attributeOf(attributes, 'id') ?? '');
        if (relation?.isExternal) links?.add(relation.target, 'anchor', false, attributes.get('display') ?? '');
      }
    },
    close(name, content) {
      const bare = bareName(name);
      if (bare === 'v' && type === 's') text?.add(strings[Number(content)] ?? '');
      else if (bare === 'v' && (type === 'n' || type === 'str' || type === 'd')) text?.add(content);
      else if (bare === 't' && type === 'inlineStr') text?.add(content);
    },
  });
}
