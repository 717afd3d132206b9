/**
 * Reads text and links of Word documents and slides. In both, paragraphs consist of runs, with the same element names.
 */

import type { DocumentTarget } from '../document-target.ts';
import type { RawLink } from '../link.ts';
import { attributeOf, bareName, type OfficePackage, type OfficePart, type Relation } from './package.ts';
import { walkXml, type XmlHandler } from './xml-reader.ts';

type PartOptions = {
  /** The ids of heading styles. */
  readonly headingStyles?: ReadonlySet<string>;
  /** Headers, footers and slide notes are not part of the main text. */
  readonly isMargin?: boolean;
};

const MARGINS = new Set(['header', 'footer']);
const NOTES = new Set(['footnotes', 'endnotes']);
/** How many characters of the instructions of a field are collected. */
const FIELD_LENGTH_MAX = 10_000;

export async function readWordDocument(office: OfficePackage, main: OfficePart, target: DocumentTarget): Promise<void> {
  const relations = [...(await office.relations(main.name)).values()].filter(({ isExternal }) => !isExternal);
  const styles = relations.find(({ type }) => type === 'styles');
  const headingStyles = headingStylesOf(styles ? await office.read(styles.target) : '');
  await readPart(office, main, target, { headingStyles });
  for (const { type, target: name } of relations) {
    if (target.text?.isTruncated) return;
    const isMargin = MARGINS.has(type);
    if (isMargin || NOTES.has(type))
      await readPart(office, { name, xml: await office.read(name) }, target, { isMargin });
  }
}

/** Reads slides in order, each followed by its notes. */
export async function readSlides(office: OfficePackage, main: OfficePart, target: DocumentTarget): Promise<void> {
  const relations = await office.relations(main.name);
  const slides: string[] = [];
  walkXml(main.xml, {
    open(name, attributes) {
      if (bareName(name) !== 'sldid') return;
      const slide = relations.get(attributes.get('r:id') ?? '');
      if (slide && !slide.isExternal) slides.push(slide.target);
    },
  });
  for (const name of slides) {
    if (target.text?.isTruncated) return;
    const relationsOfSlide = await readPart(office, { name, xml: await office.read(name) }, target, {});
    for (const { type, target: notes, isExternal } of relationsOfSlide.values())
      if (type === 'notesSlide' && !isExternal)
        await readPart(office, { name: notes, xml: await office.read(notes) }, target, { isMargin: true });
  }
}

/** The ids of heading styles. Ids differ between languages, but the names of the styles do not. */
function headingStylesOf(xml: string): Set<string> {
  const ids = new Set<string>();
  let id = '';
  walkXml(xml, {
    open(name, attributes) {
      const bare = bareName(name);
      if (bare === 'style') id = attributeOf(attributes, 'styleid') ?? '';
      else if (bare === 'name' && /^(?:heading \d|title)$/i.test(attributeOf(attributes, 'val') ?? '')) ids.add(id);
    },
  });
  return ids;
}

async function readPart(
  office: OfficePackage,
  { name, xml }: OfficePart,
  target: DocumentTarget,
  { headingStyles, isMargin = false }: PartOptions,
): Promise<Map<string, Relation>> {
  const relations = await office.relations(name);
  if (isMargin) target.text?.beginMargin();
  walkXml(xml, new ParagraphReader(relations, target, headingStyles));
  if (isMargin) target.text?.endMargin();
  return relations;
}

class ParagraphReader implements XmlHandler {
  readonly #relations: ReadonlyMap<string, Relation>;
  readonly #target: DocumentTarget;
  readonly #headingStyles: ReadonlySet<string> | undefined;
  #link: RawLink | undefined;
  /** True if the link belongs to a run and ends with this run. */
  #isLinkOfRun = false;
  /** How many text elements are open, and how many fallbacks. A fallback repeats content for older programs. */
  #texts = 0;
  #fallbacks = 0;
  /** True inside the title shape of a slide. */
  #isTitle = false;
  /** The instructions of the current field, which the document has in several pieces. */
  #field = '';

  constructor(
    relations: ReadonlyMap<string, Relation>,
    target: DocumentTarget,
    headingStyles: ReadonlySet<string> | undefined,
  ) {
    this.#relations = relations;
    this.#target = target;
    this.#headingStyles = headingStyles;
  }

  open(name: string, attributes: ReadonlyMap<string, string>): void {
    const bare = bareName(name);
    if (bare === 'fallback') this.#fallbacks++;
    if (this.#fallbacks > 0) return;
    const { text } = this.#target;
    switch (bare) {
      case 't':
        this.#texts++;
        break;
      case 'p':
        text?.break();
        if (this.#isTitle) text?.beginHeading();
        break;
      case 'pstyle':
        if (this.#headingStyles?.has(attributeOf(attributes, 'val') ?? '')) text?.beginHeading();
        break;
      case 'sp':
        this.#isTitle = false;
        break;
      case 'ph':
        this.#isTitle = /^(?:ctrTitle|title)$/.test(attributes.get('type') ?? '');
        break;
      case 'br':
      case 'cr':
        text?.break();
        break;
      case 'tab':
      case 'tc':
        text?.space();
        break;
      case 'hyperlink':
      case 'hlinkclick':
        this.#link = this.#addHyperlink(attributeOf(attributes, 'id'));
        this.#isLinkOfRun = bare === 'hlinkclick';
        break;
      case 'blip':
      case 'imagedata':
        this.#addPicture(attributes.get('r:link'));
        break;
    }
  }

  text(piece: string): void {
    if (this.#texts === 0 || this.#fallbacks > 0) return;
    this.#target.text?.add(piece);
    if (this.#link) this.#link.text += piece;
  }

  close(name: string, content: string): void {
    const bare = bareName(name);
    if (bare === 'fallback') this.#fallbacks--;
    else if (this.#fallbacks > 0) return;
    else if (bare === 't') this.#texts--;
    else if (bare === 'p') {
      this.#target.text?.endHeading();
      this.#target.text?.break();
    } else if (bare === 'sp') this.#isTitle = false;
    else if (bare === 'hyperlink' || (bare === 'r' && this.#isLinkOfRun)) this.#link = undefined;
    else if (bare === 'instrtext') this.#readField(content);
  }

  #addHyperlink(id = ''): RawLink | undefined {
    const relation = this.#relations.get(id);
    if (!relation?.isExternal || relation.type !== 'hyperlink') return undefined;
    return this.#target.links?.add(relation.target, 'anchor', false);
  }

  #addPicture(id = ''): void {
    const relation = this.#relations.get(id);
    if (relation?.isExternal) this.#target.links?.add(relation.target, 'image', true);
  }

  #readField(piece: string): void {
    this.#field += piece;
    const [, url] = /HYPERLINK\s+"([^"]+)"/.exec(this.#field) ?? [];
    if (url !== undefined || this.#field.length > FIELD_LENGTH_MAX) this.#field = '';
    if (url !== undefined) this.#target.links?.add(url, 'anchor', false);
  }
}
