/** Reads text and links of OpenDocument files. Texts, slides and sheets use the same elements in `content.xml`. */

import type { DocumentTarget } from '../document-target.ts';
import type { RawLink } from '../link.ts';
import { attributeOf, type OfficePackage } from './package.ts';
import { walkXml } from './xml-reader.ts';

/** The elements of comments and tracked deletions, whose text is skipped. */
const HIDDEN = new Set(['office:annotation', 'text:tracked-changes']);

export async function readOpenDocument(office: OfficePackage, { text, links }: DocumentTarget): Promise<void> {
  let isBody = false;
  let isSpreadsheet = false;
  /** True inside the title frame of a slide. */
  let isTitle = false;
  let hidden = 0;
  /** How many paragraphs are open. Text outside of paragraphs is ignored. */
  let paragraphs = 0;
  let cells = 0;
  let link: RawLink | undefined;
  const beginParagraph = (isHeading: boolean) => {
    paragraphs++;
    if (isHeading) text?.beginHeading();
  };
  const endParagraph = () => {
    paragraphs--;
    text?.endHeading();
    // The cells of a row are on one line.
    if (cells > 0) text?.space();
    else text?.break();
  };
  walkXml(await office.read('content.xml'), {
    open(name, attributes) {
      if (name === 'office:body') isBody = true;
      if (HIDDEN.has(name)) hidden++;
      if (!isBody || hidden > 0) return;
      if (name === 'text:p' || name === 'text:h') beginParagraph(isTitle || name === 'text:h');
      else if (name === 'office:spreadsheet') isSpreadsheet = true;
      else if (name === 'draw:frame') isTitle = attributes.get('presentation:class') === 'title';
      else if (name === 'table:table' && isSpreadsheet) {
        text?.addHeading(attributes.get('table:name') ?? '');
      } else if (name === 'table:table-row' || name === 'text:line-break') text?.break();
      else if (name === 'table:table-cell') cells++;
      else if (name === 'text:tab' || name === 'text:s') text?.space();
      else if (name === 'text:a' || name === 'draw:a') link = links?.add(hrefOf(attributes), 'anchor', false);
      else if (name === 'draw:image' && /^https?:/i.test(hrefOf(attributes)))
        links?.add(hrefOf(attributes), 'image', true);
    },
    text(piece) {
      if (!isBody || hidden > 0 || paragraphs === 0) return;
      text?.add(piece);
      if (link) link.text += piece;
    },
    close(name) {
      if (name === 'office:body') isBody = false;
      if (HIDDEN.has(name)) hidden--;
      else if (!isBody || hidden > 0) return;
      else if (name === 'text:p' || name === 'text:h') endParagraph();
      else if (name === 'table:table-cell') cells--;
      else if (name === 'table:table-row') text?.break();
      else if (name === 'draw:frame') isTitle = false;
      else if (name === 'text:a' || name === 'draw:a') link = undefined;
    },
  });
}

function hrefOf(attributes: ReadonlyMap<string, string>): string {
  return (attributeOf(attributes, 'href') ?? '').trim();
}
