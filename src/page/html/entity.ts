/**
 * Decodes the entities of a piece of a document that was read without decoding: by the tokenizer itself, so that a
 * piece means what it would have meant in its place.
 *
 * A tokenizer that decodes looks at every character of the text. Whoever wants only links lets it skip the text, and
 * has the few values with an entity in them decoded here.
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

/** The value of an attribute, as written between its quotes, or without any. */
export function decodeAttribute(value: string): string {
  return value.includes('&') ? decode(`<a b="${value.replaceAll('"', '&quot;')}">`) : value;
}

/** Text in which no tag stands, such as a title. */
export function decodeRawText(text: string): string {
  return text.includes('&') ? decode(text.replaceAll('<', '&lt;')) : text;
}
