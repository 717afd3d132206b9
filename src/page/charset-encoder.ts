/**
 * Encodes text in the charset of an old page, for the queries of its links. The platform decodes all charsets but
 * encodes UTF-8 alone. So this encoder makes its tables with the decoder: it decodes all single bytes, and all pairs of
 * bytes if the charset has pairs.
 */

/** Charsets with pairs of bytes. ISO-2022-JP is left out, because it switches by escape sequences. */
const DOUBLE_BYTE: ReadonlySet<string> = new Set(['gbk', 'gb18030', 'big5', 'euc-jp', 'shift_jis', 'euc-kr']);
const UNICODE = /^utf-/;

const encoders = new Map<string, CharsetEncoder>();

export class CharsetEncoder {
  readonly #escapes: ReadonlyMap<string, string>;

  private constructor(charset: string) {
    this.#escapes = UNICODE.test(charset) ? new Map() : tableOf(charset);
  }

  /**
   * The encoder of a charset, by its name in the WHATWG standard. The encoder of an unknown charset encodes as UTF-8.
   */
  static of(charset: string): CharsetEncoder {
    let encoder = encoders.get(charset);
    if (!encoder) {
      encoder = new CharsetEncoder(charset);
      encoders.set(charset, encoder);
    }
    return encoder;
  }

  /** Escapes the characters beyond ASCII in the query of a link, as browsers do in requests. */
  escapeQuery(link: string): string {
    const question = link.indexOf('?');
    if (question < 0) return link;
    const hash = link.indexOf('#', question);
    const end = hash < 0 ? link.length : hash;
    return link.slice(0, question) + this.escape(link.slice(question, end)) + link.slice(end);
  }

  /** Escapes the bytes of every character beyond ASCII. A character that the charset does not have becomes `&#n;`. */
  escape(text: string): string {
    return text.toWellFormed().replace(/[^\x00-\x7f]/gu, (character) => {
      if (this.#escapes.size === 0) return encodeURIComponent(character);
      return this.#escapes.get(character) ?? `%26%23${character.codePointAt(0)}%3B`;
    });
  }
}

function tableOf(charset: string): Map<string, string> {
  const table = new Map<string, string>();
  let decoder: InstanceType<typeof TextDecoder>;
  try {
    decoder = new TextDecoder(charset);
  } catch {
    return table;
  }
  const add = (bytes: Uint8Array) => {
    const character = decoder.decode(bytes);
    const isOne = character.length > 0 && [...character].length === 1;
    if (!isOne || character === '\ufffd' || character < '\x80' || table.has(character)) return;
    table.set(character, Array.from(bytes, (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''));
  };
  for (let byte = 0x80; byte < 0x100; byte++) add(Uint8Array.of(byte));
  if (!DOUBLE_BYTE.has(charset)) return table;
  for (let first = 0x81; first < 0xff; first++) {
    for (let second = 0x40; second < 0xff; second++) add(Uint8Array.of(first, second));
  }
  return table;
}
