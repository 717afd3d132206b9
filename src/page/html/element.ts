/**
 * What the reader of HTML knows of an element by its name. Names are told where they stand in the source, by length and
 * first letter: cutting each one out, putting it in small letters and asking several sets for it takes longer than all
 * the rest of a tag.
 */
import { isSame } from './markup.ts';

export type Element = {
  /** In small letters. */
  readonly name: string;
  /** Stands on lines of its own. */
  readonly isBlock: boolean;
  /** Stands around the content: menus and the like. */
  readonly isMargin: boolean;
  readonly isHeading: boolean;
  /** Line ends in it count. */
  readonly isPreserved: boolean;
  /** Has no content and no end tag. */
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
/** Others that are met often. */
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

function madeOf(name: string): Element {
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
  KNOWN[placeOf(name.charCodeAt(0), name.length)]!.push(madeOf(name));
}

function placeOf(first: number, length: number): number {
  return ((first | 0x20) - 0x61) * (LENGTH_MAX + 1) + length;
}

export const NO_ELEMENT: Element = madeOf('');

/** The element whose name stands here; names begin with a letter. */
export function elementAt(source: string, start: number, end: number): Element {
  const length = end - start;
  if (length <= LENGTH_MAX) {
    for (const element of KNOWN[placeOf(source.charCodeAt(start), length)]!) {
      if (isSame(source, start, element.name)) return element;
    }
  }
  return madeOf(source.slice(start, end).toLowerCase());
}
