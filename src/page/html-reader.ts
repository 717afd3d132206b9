/**
 * Reads an HTML document in one pass over htmlparser2's tokens: links, title, headings, text, what `meta` says. No tree is built, so nesting costs nothing and nothing
 * can overflow the stack; memory is bounded by the text and the LINKS_MAX links.
 *
 * Text is what a reader sees: blocks on lines of their own, white space as one blank, entities decoded, and nothing of `script`, `style`, `template`, `noscript`, of frames
 * and of the head. Links inside of `noscript` and `template` do count: crawlers want them. Where no text is wanted the tokenizer skips it, which takes half the time, and
 * links have no text either.
 */
import { Tokenizer } from 'htmlparser2';
import { collectCssLinks } from './css-links.ts';
import { collectElementLinks, WANTED_ATTRIBUTES } from './element-links.ts';
import { decodeAttribute, decodeRawText } from './entity.ts';
import { collectJsonLd } from './json-ld.ts';
import { LINK_TEXT_LENGTH_MAX, LinkCollector, type RawLink } from './link.ts';
import { MetaReader } from './meta-reader.ts';
import { TextBuilder } from './text-builder.ts';

export type HtmlParts = { readonly text: boolean; readonly links: boolean; readonly isXml?: boolean };

/** Elements that stand on lines of their own. */
const BLOCKS = new Set(
  (
    'address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption figure footer form frameset ' +
    'h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li listing main menu nav ol optgroup option p plaintext pre search section select summary ' +
    'table tbody tfoot thead title tr ul xmp'
  ).split(' '),
);
/** What stands around the content: menus and the like. */
const MARGINS = new Set(['nav', 'footer', 'aside', 'header']);
const VOID = new Set(
  'area base br col embed hr img input link meta param source track wbr bgsound frame keygen basefont'.split(' '),
);

const NAME_LENGTH_MAX = 31;
/** Which first letters and lengths wanted attributes have: `class` and `id`, the commonest of all, are told from them without being cut out. */
const WANTED_SHAPES = new Uint8Array(26 * (NAME_LENGTH_MAX + 1));
for (const name of WANTED_ATTRIBUTES)
  WANTED_SHAPES[(name.charCodeAt(0) - 0x61) * (NAME_LENGTH_MAX + 1) + name.length] = 1;

function mayBeWanted(first: number, length: number): boolean {
  const letter = (first | 0x20) - 0x61;
  return length <= NAME_LENGTH_MAX && WANTED_SHAPES[letter * (NAME_LENGTH_MAX + 1) + length] === 1;
}

const RAW_TEXT_LENGTH_MAX = 4 * 1024 * 1024;
const SRCDOC_DEPTH_MAX = 2;

export class HtmlReader {
  readonly links: LinkCollector;
  readonly text = new TextBuilder();
  readonly meta = new MetaReader();
  base: string | undefined;
  readonly #wantsText: boolean;
  readonly #wantsLinks: boolean;
  readonly #isXml: boolean;
  readonly #srcdocDepth: number;
  #source = '';
  #element = '';
  readonly #attributes = new Map<string, string>();
  #attribute: string | undefined;
  #value = '';
  /** Content of script, style and title while it is gathered. */
  #raw: string | undefined;
  #rawElement = '';
  #rawType = '';
  #anchor: RawLink | undefined;
  #templates = 0;
  #isInNoscript = false;
  #media = 0;
  #foreign = 0;
  #margins = 0;

  constructor(parts: HtmlParts, links = new LinkCollector(), srcdocDepth = 0) {
    this.#wantsText = parts.text;
    this.#wantsLinks = parts.links;
    this.#isXml = parts.isXml ?? false;
    this.links = links;
    this.#srcdocDepth = srcdocDepth;
  }

  read(source: string): void {
    this.#source = source;
    const tokenizer = new Tokenizer({ recognizeSelfClosing: this.#isXml, decodeEntities: this.#wantsText }, this);
    tokenizer.write(source);
    tokenizer.end();
    this.#source = '';
  }

  get #isShown(): boolean {
    return this.#templates === 0 && !this.#isInNoscript;
  }

  isInForeignContext(): boolean {
    return this.#foreign > 0;
  }

  onopentagname(start: number, end: number): void {
    this.#element = this.#source.slice(start, end).toLowerCase();
    this.#attributes.clear();
  }

  onattribname(start: number, end: number): void {
    const length = end - start;
    this.#attribute = undefined;
    this.#value = '';
    if (!mayBeWanted(this.#source.charCodeAt(start), length)) return;
    const name = this.#source.slice(start, end).toLowerCase();
    // Of attributes that stand twice the first counts.
    if (WANTED_ATTRIBUTES.has(name) && !this.#attributes.has(name)) this.#attribute = name;
  }

  onattribdata(start: number, end: number): void {
    if (this.#attribute !== undefined) this.#value += this.#source.slice(start, end);
  }

  onattribentity(codepoint: number): void {
    if (this.#attribute !== undefined) this.#value += String.fromCodePoint(codepoint);
  }

  onattribend(): void {
    if (this.#attribute !== undefined)
      this.#attributes.set(this.#attribute, this.#wantsText ? this.#value : decodeAttribute(this.#value));
    this.#attribute = undefined;
  }

  onopentagend(): void {
    this.#open(false);
  }

  onselfclosingtag(): void {
    this.#open(this.#isXml || this.#foreign > 0);
  }

  #open(isClosed: boolean): void {
    const element = this.#element;
    const attributes = this.#attributes;
    if (element === 'base') this.base ??= attributes.get('href');
    else if (element === 'meta') this.meta.readMeta(attributes, this.links);
    else if (element === 'html') this.meta.declareLanguage(attributes.get('lang') ?? attributes.get('xml:lang'));
    else if (element === 'time') this.meta.readTime(attributes);
    if (attributes.size > 0 && this.#wantsLinks) this.#collectLinks(element);
    else if (element === 'a') this.#anchor = undefined;
    if (!isClosed && !VOID.has(element)) this.#enter(element);
    if (this.#wantsText) this.#openText(element);
  }

  #collectLinks(element: string): void {
    const attributes = this.#attributes;
    const link = collectElementLinks(element, attributes, this.links, this.#media > 0);
    if (element === 'a') this.#anchor = link;
    else if (element === 'img' && this.#anchor && this.#wantsText)
      this.#addAnchorText(` ${attributes.get('alt') ?? ''}`);
    const srcdoc = element === 'iframe' ? attributes.get('srcdoc') : undefined;
    if (srcdoc !== undefined && this.#srcdocDepth < SRCDOC_DEPTH_MAX) {
      new HtmlReader({ text: this.#wantsText, links: true }, this.links, this.#srcdocDepth + 1).read(srcdoc);
    }
  }

  #enter(element: string): void {
    switch (element) {
      case 'script':
      case 'style':
      case 'iframe':
      case 'noembed':
      case 'noframes':
        if (this.#foreign === 0 || element === 'script' || element === 'style') {
          this.#raw = '';
          this.#rawElement = element;
          this.#rawType = this.#attributes.get('type') ?? '';
        }
        break;
      case 'title':
        if (this.#foreign === 0 && this.meta.title === '') {
          this.#raw = '';
          this.#rawElement = 'title';
        }
        break;
      case 'template':
        this.#templates++;
        break;
      case 'noscript':
        this.#isInNoscript = true;
        break;
      case 'svg':
      case 'math':
        this.#foreign++;
        break;
      case 'video':
      case 'audio':
        this.#media++;
        break;
      default:
    }
  }

  #openText(element: string): void {
    if (BLOCKS.has(element)) {
      this.text.break();
      if (element === 'pre' || element === 'listing') this.text.preserved++;
      else if (isHeading(element) && this.#isShown) this.text.beginHeading();
      else if (MARGINS.has(element) && this.#margins++ === 0) this.text.beginMargin();
    } else if (element === 'td' || element === 'th') {
      this.text.blank();
    }
  }

  onclosetag(start: number, end: number): void {
    const element = this.#source.slice(start, end).toLowerCase();
    if (this.#raw !== undefined && element === this.#rawElement) this.#closeRaw();
    switch (element) {
      case 'a':
        this.#anchor = undefined;
        break;
      case 'template':
        if (this.#templates > 0) this.#templates--;
        break;
      case 'noscript':
        this.#isInNoscript = false;
        break;
      case 'svg':
      case 'math':
        if (this.#foreign > 0) this.#foreign--;
        break;
      case 'video':
      case 'audio':
        if (this.#media > 0) this.#media--;
        break;
      default:
    }
    if (this.#wantsText && BLOCKS.has(element)) this.#closeText(element);
    else if (element === 'p' && this.#wantsText) this.text.break();
  }

  #closeText(element: string): void {
    if (isHeading(element)) this.text.endHeading();
    this.text.break();
    if (element === 'pre' || element === 'listing') this.text.preserved = Math.max(0, this.text.preserved - 1);
    if (MARGINS.has(element) && this.#margins > 0 && --this.#margins === 0) this.text.endMargin();
  }

  #closeRaw(): void {
    const raw = this.#raw ?? '';
    const element = this.#rawElement;
    this.#raw = undefined;
    this.#rawElement = '';
    if (element === 'title') this.meta.declareTitle(this.#wantsText ? raw : decodeRawText(raw));
    else if (element === 'style') {
      if (this.#wantsLinks) collectCssLinks(raw, this.links);
    } else if (element === 'script' && /^application\/ld\+json/i.test(this.#rawType.trim())) {
      collectJsonLd(raw, this.#wantsLinks ? this.links : undefined, this.meta);
    }
  }

  ontext(start: number, end: number): void {
    if (this.#raw !== undefined) {
      const isKept = this.#rawElement !== 'script' || this.#rawType !== '';
      if (isKept && this.#raw.length < RAW_TEXT_LENGTH_MAX) this.#raw += this.#source.slice(start, end);
      return;
    }
    if (!this.#wantsText) return;
    if (this.#anchor !== undefined) this.#addAnchorText(this.#source.slice(start, end));
    if (this.#isShown) this.text.add(this.#source.slice(start, end));
  }

  ontextentity(codepoint: number): void {
    const text = String.fromCodePoint(codepoint);
    if (this.#raw !== undefined) this.#raw += text;
    else {
      if (this.#anchor !== undefined) this.#addAnchorText(text);
      if (this.#wantsText && this.#isShown) this.text.add(text);
    }
  }

  #addAnchorText(text: string): void {
    const anchor = this.#anchor!;
    // White space is put in order when the links are resolved; what stands here may hold more of it than counts.
    if (anchor.text.length < 2 * LINK_TEXT_LENGTH_MAX) anchor.text += text.slice(0, 2 * LINK_TEXT_LENGTH_MAX);
  }

  oncomment(start: number, end: number): void {
    if (!this.#wantsLinks || this.#source.charCodeAt(start) !== 0x3f) return;
    const instruction = this.#source.slice(start, Math.min(end, start + 2000));
    const href = /^\?xml-stylesheet\s[^>]*?href\s*=\s*["']([^"'>]*)/i.exec(instruction)?.[1];
    if (href !== undefined) this.links.add(href, 'style', true);
  }

  onend(): void {
    // A title or script that never ends takes the rest of the document; what it holds is not lost.
    if (this.#raw !== undefined) this.#closeRaw();
  }

  /** Outside of SVG, MathML and XML this is a comment that the first `>` ends; the tokenizer leaves the telling to its caller. */
  oncdata(start: number, end: number, offset: number): void {
    if (this.#isXml || this.#foreign > 0) this.ontext(start, end - offset);
  }

  ondeclaration(): void {}
  onprocessinginstruction(): void {}
}

function isHeading(element: string): boolean {
  const level = element.charCodeAt(1);
  return element.length === 2 && element.charCodeAt(0) === 0x68 && level >= 0x31 && level <= 0x36;
}
