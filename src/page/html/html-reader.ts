/**
 * Reads links, title, headings, text and `meta` elements of an HTML document in one pass over its tokens. It does not
 * build a tree, so nesting costs nothing and cannot overflow the stack. Memory is bounded by the text and LINKS_MAX.
 *
 * The text is the visible text: blocks are on their own lines, runs of white space are one space, and entities are
 * decoded. The contents of `script`, `style`, `template`, `noscript`, frames and the head are left out. Links inside
 * `noscript`, `noframes`, `noembed` and `template` are found, because crawlers need them. Without the text option, the
 * text of links is left out too.
 */
import { LINK_TEXT_LENGTH_MAX, LinkCollector, type RawLink } from '../link.ts';
import { TextBuilder } from '../text-builder.ts';
import { collectCssLinks } from './css-links.ts';
import { type Element, elementAt, NO_ELEMENT } from './element.ts';
import { collectElementLinks, WANTED_ATTRIBUTES } from './element-links.ts';
import { decodeAttribute, decodeRawText } from './entity.ts';
import { collectJsonLd } from './json-ld.ts';
import { MarkupReader, type MarkupSink } from './markup.ts';
import { MetaReader } from './meta-reader.ts';
import { collectImportMap, collectModuleLinks, type ImportMap } from './module-links.ts';

export type HtmlReadOptions = { readonly text: boolean; readonly links: boolean; readonly isXml?: boolean };

const NAME_LENGTH_MAX = 31;
/**
 * The first letters and lengths of wanted attributes. They exclude the most common attributes, `class` and `id`,
 * without slicing their names.
 */
const WANTED_SHAPES = new Uint8Array(26 * (NAME_LENGTH_MAX + 1));
for (const name of WANTED_ATTRIBUTES)
  WANTED_SHAPES[(name.charCodeAt(0) - 0x61) * (NAME_LENGTH_MAX + 1) + name.length] = 1;

function mayBeWanted(first: number, length: number): boolean {
  const letter = (first | 0x20) - 0x61;
  return length <= NAME_LENGTH_MAX && WANTED_SHAPES[letter * (NAME_LENGTH_MAX + 1) + length] === 1;
}

const RAW_TEXT_LENGTH_MAX = 4 * 1024 * 1024;
const SRCDOC_DEPTH_MAX = 2;
/** Text longer than this is not a reading: it follows a reading that was not closed. */
const READINGS_LENGTH_MAX = 64 * 1024;
/** Elements whose content is for browsers that do not support frames or embedded objects. */
const FALLBACK_ELEMENTS: ReadonlySet<string> = new Set(['noframes', 'noembed']);

export class HtmlReader implements MarkupSink {
  readonly links: LinkCollector;
  readonly text = new TextBuilder();
  readonly meta = new MetaReader();
  base: string | undefined;
  readonly #wantsText: boolean;
  readonly #wantsLinks: boolean;
  readonly #isXml: boolean;
  readonly #srcdocDepth: number;
  #source = '';
  #element = NO_ELEMENT;
  readonly #attributes = new Map<string, string>();
  /** The content of the current script, style or title. */
  #raw: string | undefined;
  #rawElement = '';
  #rawType = '';
  #imports: ImportMap | undefined;
  #anchor: RawLink | undefined;
  #templates = 0;
  #isInNoscript = false;
  #media = 0;
  #foreign = 0;
  #margins = 0;
  /** The current part of a ruby element: text, reading, or the bracket for browsers that do not support ruby. */
  #ruby: 'text' | 'reading' | 'bracket' | undefined;
  #readings = '';

  constructor(options: HtmlReadOptions, links = new LinkCollector(), srcdocDepth = 0) {
    this.#wantsText = options.text;
    this.#wantsLinks = options.links;
    this.#isXml = options.isXml ?? false;
    this.links = links;
    this.#srcdocDepth = srcdocDepth;
  }

  read(source: string): void {
    this.#source = source;
    new MarkupReader(source, this, this.#isXml).read();
    // A title or script that is not closed contains the rest of the document.
    if (this.#raw !== undefined) this.#closeRaw();
    this.#endRuby();
    this.#source = '';
  }

  get #isShown(): boolean {
    return this.#templates === 0 && !this.#isInNoscript;
  }

  get isInForeign(): boolean {
    return this.#foreign > 0;
  }

  onTagName(start: number, end: number): void {
    this.#element = elementAt(this.#source, start, end);
    if (this.#attributes.size > 0) this.#attributes.clear();
  }

  onAttribute(nameStart: number, nameEnd: number, valueStart: number, valueEnd: number): void {
    const source = this.#source;
    if (!mayBeWanted(source.charCodeAt(nameStart), nameEnd - nameStart)) return;
    const name = source.slice(nameStart, nameEnd).toLowerCase();
    // The first of several attributes with the same name counts.
    if (!WANTED_ATTRIBUTES.has(name) || this.#attributes.has(name)) return;
    this.#attributes.set(name, decodeAttribute(source.slice(valueStart, valueEnd)));
  }

  onTagEnd(isSelfClosing: boolean): void {
    const element = this.#element;
    const attributes = this.#attributes;
    const { name } = element;
    if (name === 'base') this.#readBase();
    else if (name === 'meta') this.meta.readMeta(attributes, this.links);
    else if (name === 'html') this.meta.declareLanguage(attributes.get('lang') ?? attributes.get('xml:lang'));
    else if (name === 'time') this.meta.readTime(attributes);
    if (attributes.size > 0 && this.#wantsLinks) this.#collectLinks(name);
    else if (name === 'a') this.#anchor = undefined;
    const isClosed = isSelfClosing && (this.#isXml || this.#foreign > 0);
    if (!isClosed && !element.isVoid) this.#enter(name);
    if (this.#wantsText) this.#openText(element);
  }

  /** A base element in a template or in SVG does not count. */
  #readBase(): void {
    if (this.#templates === 0 && this.#foreign === 0) this.base ??= this.#attributes.get('href');
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
      case 'ruby':
        if (this.#readings !== '') this.#readings += ' ';
        this.#ruby = 'text';
        break;
      case 'rb':
        this.#setRubyPart('text');
        break;
      case 'rt':
      case 'rtc':
        this.#setRubyPart('reading');
        break;
      case 'rp':
        this.#setRubyPart('bracket');
        break;
      default:
    }
  }

  #setRubyPart(part: 'text' | 'reading' | 'bracket'): void {
    if (this.#ruby !== undefined) this.#ruby = part;
  }

  /** Adds the readings at the end of the line. Between the letters they would split words. */
  #endRuby(): void {
    this.#ruby = undefined;
    if (this.#readings === '') return;
    this.text.add(` (${this.#readings.trim()})`);
    this.#readings = '';
  }

  #openText(element: Element): void {
    if (element.isBlock) {
      this.#endRuby();
      this.text.break();
      if (element.isPreserved) this.text.preserved++;
      else if (element.isHeading && this.#isShown) this.text.beginHeading();
      else if (element.isMargin && this.#margins++ === 0) this.text.beginMargin();
    } else if (element.name === 'td' || element.name === 'th') {
      this.text.space();
    }
  }

  onCloseTag(start: number, end: number): void {
    const element = elementAt(this.#source, start, end);
    if (this.#raw !== undefined && element.name === this.#rawElement) this.#closeRaw();
    switch (element.name) {
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
      case 'rt':
      case 'rtc':
      case 'rp':
        this.#setRubyPart('text');
        break;
      case 'ruby':
        this.#ruby = undefined;
        break;
      default:
    }
    if (this.#wantsText && element.isBlock) this.#closeText(element);
  }

  #closeText(element: Element): void {
    this.#endRuby();
    if (element.isHeading) this.text.endHeading();
    this.text.break();
    if (element.isPreserved) this.text.preserved = Math.max(0, this.text.preserved - 1);
    if (element.isMargin && this.#margins > 0 && --this.#margins === 0) this.text.endMargin();
  }

  #closeRaw(): void {
    const raw = this.#raw ?? '';
    const element = this.#rawElement;
    this.#raw = undefined;
    this.#rawElement = '';
    if (element === 'title') this.meta.declareTitle(decodeRawText(raw));
    else if (element === 'style') {
      if (this.#wantsLinks) collectCssLinks(raw, this.links);
    } else if (element === 'script') {
      this.#readScript(raw, this.#rawType.trim().toLowerCase());
    } else if (FALLBACK_ELEMENTS.has(element) && this.#wantsLinks && this.#srcdocDepth < SRCDOC_DEPTH_MAX)
      new HtmlReader({ text: false, links: true }, this.links, this.#srcdocDepth + 1).read(raw);
  }

  #readScript(text: string, type: string): void {
    if (type.startsWith('application/ld+json'))
      collectJsonLd(text, this.#wantsLinks ? this.links : undefined, this.meta);
    else if (!this.#wantsLinks) return;
    else if (type === 'importmap') this.#imports = collectImportMap(text, this.links, this.#imports);
    else if (type === 'module') collectModuleLinks(text, this.links, this.#imports);
  }

  onText(start: number, end: number, hasEntities: boolean): void {
    if (this.#raw !== undefined) {
      const isKept = this.#rawElement !== 'script' || this.#rawType !== '';
      if (isKept && this.#raw.length < RAW_TEXT_LENGTH_MAX) this.#raw += this.#source.slice(start, end);
      return;
    }
    if (!this.#wantsText || !(this.#isShown || this.#anchor !== undefined) || this.#ruby === 'bracket') return;
    const isReading = this.#ruby === 'reading' && this.#readings.length < READINGS_LENGTH_MAX;
    const isSpace = isOnlySpace(this.#source, start, end);
    if (isSpace && this.text.preserved === 0 && !isReading) {
      if (this.#anchor !== undefined) this.#addAnchorText(' ');
      if (this.#isShown) this.text.space();
      return;
    }
    const written = this.#source.slice(start, end);
    const text = hasEntities ? decodeRawText(written) : written;
    if (isReading) {
      if (this.#isShown) this.#readings += text;
      return;
    }
    if (this.#anchor !== undefined) this.#addAnchorText(text);
    if (this.#isShown) this.text.add(text);
  }

  #addAnchorText(text: string): void {
    const anchor = this.#anchor!;
    // White space is normalized when the links are resolved, so this text may be longer than the result.
    if (anchor.text.length < 2 * LINK_TEXT_LENGTH_MAX) anchor.text += text.slice(0, 2 * LINK_TEXT_LENGTH_MAX);
  }

  onComment(start: number, end: number): void {
    if (!this.#wantsLinks || this.#source.charCodeAt(start) !== 0x3f) return;
    const instruction = this.#source.slice(start, Math.min(end, start + 2000));
    const href = /^\?xml-stylesheet\s[^>]*?href\s*=\s*["']([^"'>]*)/i.exec(instruction)?.[1];
    if (href !== undefined) this.links.add(href, 'style', true);
  }
}

function isOnlySpace(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && (code < 0x09 || code > 0x0d || code === 0x0b)) return false;
  }
  return true;
}
