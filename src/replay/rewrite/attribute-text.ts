/** Decodes the references in the text of an attribute, and encodes a new value. */
import { Tokenizer } from 'htmlparser2';

const QUOTE_SINGLE = 2;
const QUOTE_DOUBLE = 3;

class Decoder {
  value = '';
  #text = '';
  readonly #tokenizer: Tokenizer;

  constructor(isXml: boolean) {
    const nothing = () => {};
    this.#tokenizer = new Tokenizer(
      { xmlMode: isXml, decodeEntities: true },
      {
        onattribdata: (start, end) => {
          this.value += this.#text.slice(start, end);
        },
        onattribentity: (codepoint) => {
          this.value += String.fromCodePoint(codepoint);
        },
        onattribend: nothing,
        onattribname: nothing,
        oncdata: nothing,
        onclosetag: nothing,
        oncomment: nothing,
        ondeclaration: nothing,
        onend: nothing,
        onopentagend: nothing,
        onopentagname: nothing,
        onprocessinginstruction: nothing,
        onselfclosingtag: nothing,
        ontext: nothing,
        ontextentity: nothing,
      },
    );
  }

  decode(raw: string): string {
    // The quote that is not in the value; `decodeAttribute` passes no value with both.
    const quote = raw.includes('"') ? "'" : '"';
    this.value = '';
    this.#text = `<a b=${quote}${raw}${quote}>`;
    this.#tokenizer.reset();
    this.#tokenizer.write(this.#text);
    this.#tokenizer.end();
    return this.value;
  }
}

let htmlDecoder: Decoder | undefined;
let xmlDecoder: Decoder | undefined;

/** The value with its references decoded. An unquoted value that has both quotes keeps its references. */
export function decodeAttribute(raw: string, isXml: boolean): string {
  if (!raw.includes('&') || (raw.includes('"') && raw.includes("'"))) return raw;
  if (isXml) return (xmlDecoder ??= new Decoder(true)).decode(raw);
  return (htmlDecoder ??= new Decoder(false)).decode(raw);
}

/** Encodes a value for an attribute with quotes of this kind. For an attribute without quotes, adds the quotes. */
export function encodeAttribute(value: string, quote?: number): string {
  const escaped = value.includes('&') ? value.replaceAll('&', '&amp;') : value;
  const safe = escaped.includes('<') ? escaped.replaceAll('<', '&lt;') : escaped;
  if (quote === QUOTE_SINGLE) return safe.replaceAll("'", '&#39;');
  const quoted = safe.replaceAll('"', '&quot;');
  return quote === QUOTE_DOUBLE ? quoted : `"${quoted}"`;
}
