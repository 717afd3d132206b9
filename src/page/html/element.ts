/**
 * The properties of HTML elements by name. Names are compared in place in the source, in buckets by length and first
 * letter. Slicing each name, converting it to lower case and looking it up in several sets would take longer than
 * parsing the rest of a tag.
 */
import { isNameAt } from './markup.ts';

export type Element = {
  /** The name in lower case. */
  readonly name: string;
  /** True if the element begins and ends on its own lines. */
  readonly isBlock: boolean;
  /** True if the element is outside the main content, such as a menu. */
  readonly isMargin: boolean;
  readonly isHeading: boolean;
  /** True if the element keeps line ends. */
  readonly isPreserved: boolean;
  /** True if the element has no content and no end tag. */
  readonly isVoid: boolean;
};

const BLOCKS =
  'address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption figure footer form frameset ' +
  'h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li listing main menu nav ol optgroup option p plaintext pre search section select summary ' +
  'table tbody tfoot thead title tr ul xmp';
const MARGINS = 'nav footer aside header';
const HEADINGS = 'h1 h2 h3 h4 h5 h6';
const PRESERVED = 'pre listing';
const VOID = 'area base br col embed hr img input link meta param source track wbr bgsound frame keygen basefont';
/** Other common elements. */
const OTHERS =
  'a abbr acronym audio b bdi bdo big button canvas circle cite code colgroup data datalist del dfn em font g i iframe image ins kbd label map mark math meter ' +
  'noembed noframes noscript object output path picture polygon progress q rect rp rt ruby s samp script slot small span strike strong style sub sup svg td template ' +
  'text textarea th time tt u use var video';

const LETTERS = 26;
const LENGTH_MAX = 12;
const KNOWN: Element[][] = Array.from({ length: LETTERS * (LENGTH_MAX + 1) }, () => []);

const namesOf = (list: string) => list.split(' ');
const [blocks, margins, headings, preserved, voids] = [BLOCKS, MARGINS, HEADINGS, PRESERVED, VOID].map(
  (list) => new Set(namesOf(list)),
) as [Set<string>, Set<string>, Set<string>, Set<string>, Set<string>];

function newElement(name: string): Element {
  return {
    name,
    isBlock: blocks.has(name),
    isMargin: margins.has(name),
    isHeading: headings.has(name),
    isPreserved: preserved.has(name),
    isVoid: voids.has(name),
  };
}

for (const name of new Set([...blocks, ...voids, ...namesOf(OTHERS)])) {
  KNOWN[bucketOf(name.charCodeAt(0), name.length)]!.push(newElement(name));
}

function bucketOf(first: number, length: number): number {
  return ((first | 0x20) - 0x61) * (LENGTH_MAX + 1) + length;
}

export const NO_ELEMENT: Element = newElement('');

/** The element with the name from `start` to `end`, which begins with a letter. */
export function elementAt(source: string, start: number, end: number): Element {
  const length = end - start;
  if (length <= LENGTH_MAX) {
    for (const element of KNOWN[bucketOf(source.charCodeAt(start), length)]!) {
      if (isNameAt(source, start, element.name)) return element;
    }
  }
  return newElement(source.slice(start, end).toLowerCase());
}
