/** Text and links of OpenDocument files: writings, slides and sheets are all in `content.xml`, in the same words. */
import type { RawLink } from '../link.ts';
import { attributeOf, type OfficePackage } from './office-package.ts';
import type { OfficeTarget } from './office-target.ts';
import { walkXml } from './xml-reader.ts';

/** Comments, and what was deleted while changes were being tracked. */
const UNSEEN = new Set(['office:annotation', 'text:tracked-changes']);

export async function readOpenDocument(office: OfficePackage, { text, links }: OfficeTarget): Promise<void> {
  let isBody = false;
  let isSpreadsheet = false;
  /** In the frame of a slide that holds its title. */
  let isTitle = false;
  let unseen = 0;
  /** Depth of paragraphs: what stands between them is no text. */
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
    // The cells of a row stand beside each other.
    if (cells > 0) text?.blank();
    else text?.break();
  };
  walkXml(await office.read('content.xml'), {
    open(name, attributes) {
      if (name === 'office:body') isBody = true;
      if (UNSEEN.has(name)) unseen++;
      if (!isBody || unseen > 0) return;
      if (name === 'text:p' || name === 'text:h') beginParagraph(isTitle || name === 'text:h');
      else if (name === 'office:spreadsheet') isSpreadsheet = true;
      else if (name === 'draw:frame') isTitle = attributes.get('presentation:class') === 'title';
      else if (name === 'table:table' && isSpreadsheet) {
        text?.break();
        text?.beginHeading();
        text?.add(attributes.get('table:name') ?? '');
        text?.endHeading();
      } else if (name === 'table:table-row' || name === 'text:line-break') text?.break();
      else if (name === 'table:table-cell') cells++;
      else if (name === 'text:tab' || name === 'text:s') text?.blank();
      else if (name === 'text:a' || name === 'draw:a') link = links?.add(hrefOf(attributes), 'anchor', false);
      else if (name === 'draw:image' && /^https?:/i.test(hrefOf(attributes)))
        links?.add(hrefOf(attributes), 'image', true);
    },
    text(piece) {
      if (!isBody || unseen > 0 || paragraphs === 0) return;
      text?.add(piece);
      if (link) link.text += piece;
    },
    close(name) {
      if (name === 'office:body') isBody = false;
      if (UNSEEN.has(name)) unseen--;
      else if (!isBody || unseen > 0) return;
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
