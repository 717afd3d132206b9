/**
 * Walks XML, well-formed or not, and reports elements with their attributes and their direct text. Elements deeper than
 * DEPTH_MAX are not reported, so nesting costs nothing. Entities that a document defines are not expanded.
 */
import { Tokenizer } from 'htmlparser2';

export type XmlHandler = {
  open?(name: string, attributes: ReadonlyMap<string, string>, parents: readonly string[]): void;
  /** Called with each piece of text, in document order. */
  text?(text: string): void;
  close?(name: string, text: string, parents: readonly string[]): void;
};

const DEPTH_MAX = 64;
const TEXT_LENGTH_MAX = 1024 * 1024;
const ATTRIBUTES_MAX = 64;

/**
 * The name of a tag in lower case, without some prefixes: `atom:link` becomes `link`. Other prefixes stay, because
 * `image:loc` of a sitemap is not `loc`.
 */
function localName(name: string): string {
  const lower = name.toLowerCase();
  return /^(?:atom|rss|rdf|sm|sitemap|ns\d*):/.test(lower) ? lower.slice(lower.indexOf(':') + 1) : lower;
}

export function walkXml(source: string, handler: XmlHandler): void {
  const names: string[] = [];
  const texts: string[] = [];
  let beyond = 0;
  let name = '';
  let attribute = '';
  let attributes = new Map<string, string>();
  const open = () => {
    if (names.length >= DEPTH_MAX) {
      beyond++;
      return;
    }
    handler.open?.(name, attributes, names);
    names.push(name);
    texts.push('');
  };
  const close = () => {
    if (beyond > 0) {
      beyond--;
      return;
    }
    const closed = names.pop();
    const text = texts.pop();
    if (closed !== undefined && text !== undefined) handler.close?.(closed, text, names);
  };
  const addText = (text: string) => {
    const last = texts.length - 1;
    if (last >= 0 && beyond === 0) handler.text?.(text);
    if (last >= 0 && beyond === 0 && texts[last]!.length < TEXT_LENGTH_MAX) texts[last] += text;
  };
  const tokenizer = new Tokenizer(
    { xmlMode: true, decodeEntities: true },
    {
      onopentagname(start, end) {
        name = localName(source.slice(start, Math.min(end, start + 200)));
        attributes = new Map();
      },
      onattribname(start, end) {
        attribute = source.slice(start, Math.min(end, start + 100)).toLowerCase();
        if (attributes.size < ATTRIBUTES_MAX && !attributes.has(attribute)) attributes.set(attribute, '');
        else attribute = '';
      },
      onattribdata(start, end) {
        if (attribute !== '') attributes.set(attribute, attributes.get(attribute)! + source.slice(start, end));
      },
      onattribentity(codepoint) {
        if (attribute !== '') attributes.set(attribute, attributes.get(attribute)! + String.fromCodePoint(codepoint));
      },
      onattribend() {},
      onopentagend: open,
      onselfclosingtag() {
        open();
        close();
      },
      onclosetag(start, end) {
        const closing = localName(source.slice(start, Math.min(end, start + 200)));
        // An end tag also closes the open elements inside its element. An end tag without an open element is ignored.
        if (beyond === 0 && names.at(-1) !== closing && !names.includes(closing)) return;
        while (beyond === 0 && names.length > 0 && names.at(-1) !== closing) close();
        close();
      },
      ontext: (start, end) => addText(source.slice(start, end)),
      ontextentity: (codepoint) => addText(String.fromCodePoint(codepoint)),
      oncdata: (start, end, offset) => addText(source.slice(start, end - offset)),
      oncomment() {},
      ondeclaration() {},
      onprocessinginstruction() {},
      onend() {
        beyond = 0;
        while (names.length > 0) close();
      },
    },
  );
  tokenizer.write(source);
  tokenizer.end();
}
