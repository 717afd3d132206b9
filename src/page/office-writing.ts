/** Text and links of Word documents and of slides: paragraphs of runs, which both write with the same words (`p`, `t`, `br`, `tab`). */
import type { RawLink } from './link.ts';
import { attributeOf, bareName, type OfficePackage, type OfficePart, type Relation } from './office-package.ts';
import type { OfficeTarget } from './office-target.ts';
import { walkXml } from './xml-reader.ts';

type WritingOptions = {
  /** Ids of styles that headings have. */
  readonly headingStyles?: ReadonlySet<string>;
  /** Menus, headers, footers: they are text, and not the main text. */
  readonly isMargin?: boolean;
};

const MARGINS = new Set(['header', 'footer']);
const NOTES = new Set(['footnotes', 'endnotes']);

export async function readWriting(office: OfficePackage, main: OfficePart, target: OfficeTarget): Promise<void> {
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

/** Slides in their order, each with its notes behind it. */
export async function readSlides(office: OfficePackage, main: OfficePart, target: OfficeTarget): Promise<void> {
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

/** Names of styles are the same in every language; ids are not. */
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
  { name: part, xml }: OfficePart,
  { text, links }: OfficeTarget,
  { headingStyles, isMargin = false }: WritingOptions,
): Promise<Map<string, Relation>> {
  const relations = await office.relations(part);
  const addLink = (id: string | undefined) => {
    const relation = relations.get(id ?? '');
    return relation?.isExternal && relation.type === 'hyperlink'
      ? links?.add(relation.target, 'anchor', false)
      : undefined;
  };
  let link: RawLink | undefined;
  /** Whether the link is that of a run, and ends with it. */
  let isOfRun = false;
  /** Inside of what is text, and inside of what is there a second time for older programs. */
  let texts = 0;
  let fallbacks = 0;
  let isTitle = false;
  let field = '';
  if (isMargin) text?.beginMargin();
  walkXml(xml, {
    open(name, attributes) {
      const bare = bareName(name);
      if (bare === 'fallback') fallbacks++;
      if (fallbacks > 0) return;
      if (bare === 't') texts++;
      else if (bare === 'p') {
        text?.break();
        if (isTitle) text?.beginHeading();
      } else if (bare === 'pstyle' && headingStyles?.has(attributeOf(attributes, 'val') ?? '')) text?.beginHeading();
      else if (bare === 'sp') isTitle = false;
      else if (bare === 'ph') isTitle = /^(?:ctrTitle|title)$/.test(attributes.get('type') ?? '');
      else if (bare === 'br' || bare === 'cr') text?.break();
      else if (bare === 'tab' || bare === 'tc') text?.blank();
      else if (bare === 'hyperlink' || bare === 'hlinkclick') {
        link = addLink(attributeOf(attributes, 'id'));
        isOfRun = bare === 'hlinkclick';
      } else if (bare === 'blip' || bare === 'imagedata') {
        const picture = relations.get(attributes.get('r:link') ?? '');
        if (picture?.isExternal) links?.add(picture.target, 'image', true);
      }
    },
    text(piece) {
      if (texts === 0 || fallbacks > 0) return;
      text?.add(piece);
      if (link) link.text += piece;
    },
    close(name, content) {
      const bare = bareName(name);
      if (bare === 'fallback') fallbacks--;
      else if (fallbacks > 0) return;
      else if (bare === 't') texts--;
      else if (bare === 'p') {
        text?.endHeading();
        text?.break();
      } else if (bare === 'sp') isTitle = false;
      else if (bare === 'hyperlink' || (bare === 'r' && isOfRun)) link = undefined;
      else if (bare === 'instrtext') {
        field += content;
        const [, url] = /HYPERLINK\s+"([^"]+)"/.exec(field) ?? [];
        if (url !== undefined || field.length > 10_000) field = '';
        if (url !== undefined) links?.add(url, 'anchor', false);
      }
    },
  });
  if (isMargin) text?.endMargin();
  return relations;
}
