/**
 * Rewrites HTML, XHTML and SVG documents as a stream. A tokenizer finds the attributes and scripts. Only these are
 * replaced, by offset; every other character passes as it is.
 *
 * Memory is bounded (I9): one tag is held, or the text of one script or style element. Tags and texts larger than
 * HELD_CHARACTERS_MAX pass without rewriting, and the policy of the page confines them. The output does not depend on
 * how the input is cut into pieces.
 */
import { Tokenizer, type TokenizerCallbacks } from 'htmlparser2';
import { decodeAttribute, encodeAttribute } from './attribute-text.ts';
import { rewriteCss } from './css-rewriter.ts';
import { ForeignContext } from './foreign-context.ts';
import { changeOf, isOfInterest, quickModifier } from './html-element.ts';
import type { LinkRewriter } from './link-rewriter.ts';
import { rewriteScript } from './script-rewriter.ts';
import type { TextRewriter } from './text-rewriter.ts';
import { rewriteImportMap } from './url-json.ts';

const HELD_CHARACTERS_MAX = 8 * 1024 * 1024;
/** Element names are shorter. A `<` further back does not begin a tag that matters. */
const NAME_CHARACTERS_MAX = 256;
const SRCDOC_DEPTH_MAX = 3;

export type HtmlOptions = {
  readonly links: LinkRewriter;
  /** The text to write at the start of the head; may be empty. */
  readonly head: string;
  readonly isXml?: boolean;
  /** How many documents are around this document (`srcdoc`). */
  readonly depth?: number;
};

type Attribute = {
  readonly name: string;
  readonly nameStart: number;
  readonly nameEnd: number;
  valueStart: number;
  valueEnd: number;
  quote: number;
};

type RawKind = 'style' | 'classic' | 'module' | 'importmap' | 'dropped';

/** The text of a script or style element that is being read. */
type RawText = { readonly element: string; readonly kind: RawKind; readonly from: number; readonly isMarkup: boolean };

export class HtmlRewriter implements TextRewriter {
  readonly #links: LinkRewriter;
  readonly #head: string;
  readonly #isXml: boolean;
  readonly #depth: number;
  readonly #tokenizer: Tokenizer;
  readonly #context = new ForeignContext();
  /** Text that is still needed, and the offset of its first character. */
  #text = '';
  #start = 0;
  /** The offset up to which the output is complete. */
  #emitted = 0;
  #out = '';
  #element = '';
  #tagStart = -1;
  #isTagLost = false;
  #attributes: Attribute[] = [];
  /** The first attribute of each name; browsers ignore the others. */
  readonly #byName = new Map<string, Attribute>();
  #raw: RawText | undefined;
  #isHeadDone: boolean;
  #hasBase = false;
  #hasRoot = false;

  constructor({ links, head, isXml = false, depth = 0 }: HtmlOptions) {
    this.#links = links;
    this.#head = head;
    this.#isXml = isXml;
    this.#depth = depth;
    this.#isHeadDone = head === '';
    this.#tokenizer = new Tokenizer({ xmlMode: isXml, decodeEntities: false }, this.#callbacks());
  }

  write(text: string): string {
    this.#text = this.#text === '' ? text : this.#text + text;
    this.#tokenizer.write(text);
    this.#flush(this.#holdFrom());
    return this.#taken();
  }

  end(): string {
    this.#tokenizer.end();
    const end = this.#start + this.#text.length;
    // A style element without an end tag works in browsers; a script does not.
    if (this.#raw?.kind === 'style') this.#endRaw(end);
    if (!this.#isHeadDone && end > 0 && !this.#isXml) this.#putHead(end);
    this.#flush(end);
    return this.#taken();
  }

  #taken(): string {
    const out = this.#out;
    this.#out = '';
    return out;
  }

  #slice(from: number, to: number): string {
    return this.#text.slice(from - this.#start, to - this.#start);
  }

  #put(from: number, to: number, text: string): void {
    // A tag that was too long to hold is already in the output.
    if (from < this.#emitted) return;
    this.#out += this.#slice(this.#emitted, from) + text;
    this.#emitted = to;
  }

  /** The offset from which the text may still be needed. */
  #holdFrom(): number {
    const end = this.#start + this.#text.length;
    const held = this.#raw?.from ?? (this.#tagStart >= 0 ? this.#tagStart : -1);
    if (held >= 0) {
      if (end - held <= HELD_CHARACTERS_MAX) return held;
      this.#raw = undefined;
      if (this.#tagStart >= 0) this.#isTagLost = true;
      return end;
    }
    const bracket = this.#text.lastIndexOf('<');
    return bracket >= 0 && this.#text.length - bracket <= NAME_CHARACTERS_MAX ? this.#start + bracket : end;
  }

  #flush(to: number): void {
    if (to > this.#emitted) {
      this.#out += this.#slice(this.#emitted, to);
      this.#emitted = to;
    }
    const keep = Math.min(to, this.#emitted);
    this.#text = this.#text.slice(keep - this.#start);
    this.#start = keep;
  }

  #callbacks(): TokenizerCallbacks {
    return {
      onopentagname: (start, end) => this.#onOpenTagName(start, end),
      onattribname: (start, end) => this.#onAttributeName(start, end),
      onattribdata: (start, end) => this.#onAttributeData(start, end),
      onattribend: (quote) => {
        const attribute = this.#attributes.at(-1);
        if (attribute) attribute.quote = quote;
      },
      onopentagend: (end) => this.#onOpenTagEnd(end, false),
      onselfclosingtag: (end) => this.#onOpenTagEnd(end, true),
      onclosetag: (start, end) => this.#onCloseTag(start, end),
      ontext: (start, end) => this.#onText(start, end),
      onprocessinginstruction: (start, end) => this.#onInstruction(start, end),
      onattribentity: () => {},
      oncdata: () => {},
      oncomment: () => {},
      ondeclaration: () => {},
      onend: () => {},
      ontextentity: () => {},
      isInForeignContext: () => this.#context.isForeign,
    };
  }

  #onOpenTagName(start: number, end: number): void {
    this.#element = this.#slice(start, end).toLowerCase();
    this.#tagStart = start - 1;
    this.#attributes = [];
    this.#byName.clear();
    // In SVG and XML a tag may be inside a script or style element, so this text is not all of its content.
    this.#raw = undefined;
    if (this.#isHeadDone || this.#element === 'html' || this.#element === 'head') return;
    if (this.#isXml && !this.#hasRoot) {
      // A document with another root than html does not have a head.
      this.#isHeadDone = true;
      return;
    }
    this.#putHead(this.#tagStart);
  }

  #putHead(at: number): void {
    this.#isHeadDone = true;
    this.#put(at, at, this.#head);
  }

  #onAttributeName(start: number, end: number): void {
    if (this.#isTagLost) return;
    const name = this.#slice(start, end).toLowerCase();
    const attribute: Attribute = { name, nameStart: start, nameEnd: end, valueStart: -1, valueEnd: -1, quote: 0 };
    this.#attributes.push(attribute);
    if (!this.#byName.has(name)) this.#byName.set(name, attribute);
  }

  #onAttributeData(start: number, end: number): void {
    const attribute = this.#attributes.at(-1);
    if (!attribute) return;
    if (attribute.valueStart < 0) attribute.valueStart = start;
    attribute.valueEnd = end;
  }

  #onOpenTagEnd(end: number, isSelfClosing: boolean): void {
    const element = this.#element;
    if (!this.#isTagLost) this.#changeAttributes();
    this.#tagStart = -1;
    this.#isTagLost = false;
    if (element === 'html') this.#hasRoot = true;
    this.#context.opened(element, isSelfClosing);
    if (element === 'head' && !this.#isHeadDone) this.#putHead(end + 1);
    const isMarkup = this.#isXml || this.#context.isForeign;
    if (isSelfClosing && isMarkup) return;
    const kind = element === 'script' ? this.#scriptKind() : element === 'style' ? 'style' : undefined;
    if (kind) this.#raw = { element, kind, from: end + 1, isMarkup };
  }

  /** The kind of an inline script; undefined for data, and for a script with `src`. */
  #scriptKind(): RawKind | undefined {
    if (this.#valueOf('src') !== undefined) return undefined;
    const type = this.#valueOf('type')?.trim().toLowerCase();
    if (type === undefined) {
      const language = this.#valueOf('language')?.trim().toLowerCase() ?? '';
      return language === '' || /^(?:java|ecma|live|j)script/.test(language) ? 'classic' : undefined;
    }
    if (type === 'module' || type === 'importmap') return type;
    if (type === 'speculationrules') return 'dropped';
    return type === '' || /^(?:text|application)\/(?:x-)?(?:java|ecma|live|j)script\b/.test(type)
      ? 'classic'
      : undefined;
  }

  #valueOf(name: string): string | undefined {
    const attribute = this.#byName.get(name);
    if (!attribute) return undefined;
    return attribute.valueStart < 0
      ? ''
      : decodeAttribute(this.#slice(attribute.valueStart, attribute.valueEnd), this.#isXml);
  }

  #changeAttributes(): void {
    const element = this.#element;
    // Browsers send a form in the charset of the page, which is UTF-8 here.
    const { charset } = this.#links;
    if (element === 'form' && charset !== 'utf-8' && !this.#byName.has('accept-charset')) {
      const nameEnd = this.#tagStart + 1 + element.length;
      this.#put(nameEnd, nameEnd, ` accept-charset="${charset}"`);
    }
    for (const attribute of this.#attributes) {
      const { name, valueStart, valueEnd, quote } = attribute;
      if (this.#byName.get(name) !== attribute) continue;
      if (name === 'srcdoc' && element === 'iframe') {
        this.#changeSrcdoc(attribute);
        continue;
      }
      if (!isOfInterest(name)) continue;
      const raw = valueStart < 0 ? '' : this.#slice(valueStart, valueEnd);
      const modifier = quickModifier(element, name);
      if (modifier !== undefined && raw !== '' && !mayHideScheme(raw)) {
        const insertion = this.#links.insertion(raw, modifier);
        if (insertion !== undefined) {
          this.#put(valueStart, valueStart, name === 'href' ? this.#links.before(raw) + insertion : insertion);
          continue;
        }
      }
      const value = decodeAttribute(raw, this.#isXml);
      const change = changeOf(element, name, value, { get: (other) => this.#valueOf(other) }, this.#links);
      if (element === 'base' && name === 'href') this.#noteBase(value);
      if (!change) continue;
      if ('name' in change) this.#put(attribute.nameStart, attribute.nameEnd, change.name);
      else if (valueStart >= 0) this.#put(valueStart, valueEnd, encodeAttribute(change.value, quote));
    }
  }

  /** Only the first base element counts. */
  #noteBase(value: string): void {
    if (this.#hasBase) return;
    this.#hasBase = true;
    const base = this.#links.resolve(value);
    if (base !== undefined) this.#links.setBase(base);
  }

  #changeSrcdoc({ valueStart, valueEnd, quote }: Attribute): void {
    if (valueStart < 0 || this.#depth >= SRCDOC_DEPTH_MAX) return;
    const inner = new HtmlRewriter({ links: this.#links, head: this.#head, depth: this.#depth + 1 });
    const value = decodeAttribute(this.#slice(valueStart, valueEnd), this.#isXml);
    const base = this.#links.base;
    const rewritten = inner.write(value) + inner.end();
    this.#links.setBase(base);
    this.#put(valueStart, valueEnd, encodeAttribute(rewritten, quote));
  }

  #onCloseTag(start: number, end: number): void {
    const element = this.#slice(start, end).toLowerCase();
    if (this.#raw) {
      if (element !== this.#raw.element) return;
      this.#endRaw(this.#start + this.#text.lastIndexOf('</', start - this.#start));
    } else if (!this.#isHeadDone && !this.#isXml) this.#putHead(start - 2);
    this.#context.closed(element);
  }

  #endRaw(end: number): void {
    const { kind, from, isMarkup } = this.#raw!;
    this.#raw = undefined;
    if (end <= from) return;
    const text = this.#slice(from, end);
    const rewritten = isMarkup
      ? rewriteMarkup(text, this.#isXml, (inner) => this.#rawText(kind, inner))
      : this.#rawText(kind, text);
    if (rewritten !== text) this.#put(from, end, rewritten);
  }

  #rawText(kind: RawKind, text: string): string {
    switch (kind) {
      case 'style':
        return rewriteCss(text, this.#links);
      case 'importmap':
        return rewriteImportMap(text, this.#links);
      case 'dropped':
        return '{}';
      default:
        return rewriteScript(text, kind, this.#links);
    }
  }

  #onText(start: number, end: number): void {
    if (this.#isHeadDone || this.#raw || this.#isXml) return;
    const text = this.#slice(start, end);
    const first = text.search(/[^\s\ufeff]/);
    if (first >= 0) this.#putHead(start + first);
  }

  /** `<?xml-stylesheet href="a.xsl"?>` */
  #onInstruction(start: number, end: number): void {
    if (start < this.#emitted) return;
    const text = this.#slice(start, end);
    if (!/^\??xml-stylesheet\s/.test(text)) return;
    const match = /(\shref\s*=\s*)(["'])(.*?)\2/s.exec(text);
    const link = match && this.#links.rewrite(decodeAttribute(match[3]!, true), 'cs_');
    if (!match || !link) return;
    const from = start + match.index + match[1]!.length + 1;
    this.#put(from, from + match[3]!.length, encodeAttribute(link, match[2] === '"' ? 3 : 2));
  }
}

/** References are common in queries. Before the query they may spell a scheme. */
function mayHideScheme(raw: string): boolean {
  const reference = raw.indexOf('&');
  if (reference < 0) return false;
  const question = raw.indexOf('?');
  return question < 0 || question > reference;
}

const CDATA_START = '<![CDATA[';
const CDATA_END = ']]>';

/**
 * Rewrites the text of an element in XML or SVG, which may have references and CDATA sections. The text is rewritten as
 * the browser sees it. Pages put the delimiters of sections into comments of the script, `//<![CDATA[`; the end of such
 * a comment shows only without the delimiters.
 */
function rewriteMarkup(text: string, isXml: boolean, rewrite: (text: string) => string): string {
  const plain = textOfMarkup(text, isXml);
  const rewritten = plain === undefined ? undefined : rewrite(plain);
  if (rewritten === undefined || rewritten === plain) return text;
  return /[<&]/.test(rewritten) ? `<![CDATA[${rewritten.replaceAll(']]>', ']]]]><![CDATA[>')}]]>` : rewritten;
}

/** The text without CDATA delimiters and references; undefined if it is ambiguous. */
function textOfMarkup(text: string, isXml: boolean): string | undefined {
  let plain = '';
  let from = 0;
  for (;;) {
    const open = text.indexOf(CDATA_START, from);
    const end = open < 0 ? -1 : text.indexOf(CDATA_END, open);
    const outside = text.slice(from, end < 0 ? undefined : open);
    if (outside.includes('&') && outside.includes('"') && outside.includes("'")) return undefined;
    plain += decodeAttribute(outside, isXml);
    if (end < 0) return plain;
    plain += text.slice(open + CDATA_START.length, end);
    from = end + CDATA_END.length;
  }
}
