/**
 * Decodes the entities in a piece of a document. It uses a tokenizer, so that the piece is decoded as inside the
 * document.
 *
 * A tokenizer that decodes everything looks at every character. `MarkupReader` skips characters instead, and this file
 * decodes the few values that have an entity.
 */
import { Tokenizer } from 'htmlparser2';

let decoded = '';
let source = '';

const take = (start: number, end: number) => {
  decoded += source.slice(start, end);
};
const takeEntity = (codepoint: number) => {
  decoded += String.fromCodePoint(codepoint);
};
const ignore = () => {};

const tokenizer = new Tokenizer(
  { decodeEntities: true },
  {
    onattribdata: take,
    onattribentity: takeEntity,
    ontext: take,
    ontextentity: takeEntity,
    isInForeignContext: () => false,
    onattribend: ignore,
    onattribname: ignore,
    oncdata: ignore,
    onclosetag: ignore,
    oncomment: ignore,
    ondeclaration: ignore,
    onend: ignore,
    onopentagend: ignore,
    onopentagname: ignore,
    onprocessinginstruction: ignore,
    onselfclosingtag: ignore,
  },
);

function decode(markup: string): string {
  decoded = '';
  source = markup;
  tokenizer.reset();
  tokenizer.write(markup);
  tokenizer.end();
  source = '';
  return decoded;
}

/** Decodes the value of an attribute, which was written with or without quotes. */
export function decodeAttribute(value: string): string {
  return value.includes('&') ? decode(`<a b="${value.replaceAll('"', '&quot;')}">`) : value;
}

/** Decodes text that has no tags, such as a title. */
export function decodeRawText(text: string): string {
  return text.includes('&') ? decode(text.replaceAll('<', '&lt;')) : text;
}
