/**
 * The leaves of a JSON text, in the order of the text, each with the name of its innermost member.
 *
 * Request keys need this reader instead of the platform's. They keep the text of numbers and the order of members (the
 * platform sorts members named like integers to the front), and they must equal the keys that Python programs make. It
 * accepts what Python's reader accepts: `NaN`, `Infinity`, a repeated member name (with the last value, at the place of
 * the first). It never throws, and gives up at `DEPTH_MAX` levels.
 */

export type JsonLeaf = { readonly name: string; readonly value: string };

const DEPTH_MAX = 900;

/** The number of digits of the largest integer that Python converts back to text. */
const INTEGER_DIGITS_MAX = 4300;

type JsonValue =
  | { readonly kind: 'leaf'; readonly text: string }
  | { readonly kind: 'list'; readonly items: JsonValue[] }
  | { readonly kind: 'object'; readonly members: Map<string, JsonValue> };

/** The leaves that have a name; undefined when the text is not JSON. */
export function jsonLeaves(text: string): JsonLeaf[] | undefined {
  const reader = new JsonReader(text);
  const value = reader.document();
  if (value === undefined) return undefined;
  const leaves: JsonLeaf[] = [];
  collect(value, '', leaves);
  return leaves;
}

function collect(value: JsonValue, name: string, leaves: JsonLeaf[]): void {
  if (value.kind === 'list') for (const item of value.items) collect(item, name, leaves);
  else if (value.kind === 'object') for (const [member, inner] of value.members) collect(inner, member, leaves);
  else if (name !== '') leaves.push({ name, value: value.text });
}

/** Literals are written as Python prints them, which is the dialect of pywb and cdxj-indexer. */
const LITERALS: readonly (readonly [string, string])[] = [
  ['true', 'True'],
  ['false', 'False'],
  ['null', 'None'],
  ['NaN', 'nan'],
  ['Infinity', 'inf'],
  ['-Infinity', '-inf'],
];

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
const STRING_CHUNK = /[^"\\\x00-\x1f]*/y;
const UNICODE_ESCAPE = /u([0-9a-fA-F]{4})/y;
const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

/** Reads one text. Every method returns undefined where the text is not JSON. */
class JsonReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): JsonValue | undefined {
    this.#take(SPACE);
    const value = this.#value(0);
    this.#take(SPACE);
    return this.#at === this.#text.length ? value : undefined;
  }

  #value(depth: number): JsonValue | undefined {
    const first = this.#text[this.#at];
    if (first === '{' || first === '[') {
      if (depth >= DEPTH_MAX) return undefined;
      this.#at++;
      return first === '{' ? this.#object(depth + 1) : this.#list(depth + 1);
    }
    const text = first === '"' ? this.#string() : (this.#literal() ?? this.#number());
    return text === undefined ? undefined : { kind: 'leaf', text };
  }

  #object(depth: number): JsonValue | undefined {
    const members = new Map<string, JsonValue>();
    if (this.#skip('}')) return { kind: 'object', members };
    for (;;) {
      this.#take(SPACE);
      if (this.#text[this.#at] !== '"') return undefined;
      const name = this.#string();
      if (name === undefined || !this.#skip(':')) return undefined;
      this.#take(SPACE);
      const value = this.#value(depth);
      if (value === undefined) return undefined;
      members.set(name, value);
      if (this.#skip('}')) return { kind: 'object', members };
      if (!this.#skip(',')) return undefined;
    }
  }

  #list(depth: number): JsonValue | undefined {
    const items: JsonValue[] = [];
    if (this.#skip(']')) return { kind: 'list', items };
    for (;;) {
      this.#take(SPACE);
      const value = this.#value(depth);
      if (value === undefined) return undefined;
      items.push(value);
      if (this.#skip(']')) return { kind: 'list', items };
      if (!this.#skip(',')) return undefined;
    }
  }

  #string(): string | undefined {
    this.#at++;
    let string = '';
    for (;;) {
      string += this.#take(STRING_CHUNK);
      const next = this.#text[this.#at++];
      if (next === '"') return string;
      if (next !== '\\') return undefined;
      const unicode = this.#take(UNICODE_ESCAPE);
      const plain = unicode === '' ? SIMPLE_ESCAPES[this.#text[this.#at++] ?? ''] : undefined;
      if (unicode === '' && plain === undefined) return undefined;
      string += plain ?? String.fromCharCode(Number.parseInt(unicode.slice(1), 16));
    }
  }

  #literal(): string | undefined {
    const found = LITERALS.find(([written]) => this.#text.startsWith(written, this.#at));
    if (found) this.#at += found[0].length;
    return found?.[1];
  }

  #number(): string | undefined {
    NUMBER.lastIndex = this.#at;
    const match = NUMBER.exec(this.#text);
    if (!match) return undefined;
    this.#at = NUMBER.lastIndex;
    const [written, integer, fraction, exponent] = match;
    if (fraction !== undefined || exponent !== undefined) return pythonFloat(Number(written));
    if (integer!.length - (integer!.startsWith('-') ? 1 : 0) > INTEGER_DIGITS_MAX) return undefined;
    return integer === '-0' ? '0' : integer;
  }

  /** Skips white space and this character; returns false and skips only the space when another character follows. */
  #skip(character: string): boolean {
    this.#take(SPACE);
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text)?.[0] ?? '';
    this.#at += match.length;
    return match;
  }
}

/**
 * A number with a fraction or an exponent as Python prints it: always with a point, or with an exponent of at least two
 * digits.
 */
function pythonFloat(value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  const [digits = '', exponentText = ''] = Math.abs(value).toExponential().split('e');
  const exponent = Number(exponentText);
  const sign = value < 0 ? '-' : '';
  if (exponent < -4 || exponent >= 16) {
    const width = String(Math.abs(exponent)).padStart(2, '0');
    return `${sign}${digits}e${exponent < 0 ? '-' : '+'}${width}`;
  }
  const plain = digits.replace('.', '');
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${plain}`;
  const whole = plain.slice(0, exponent + 1).padEnd(exponent + 1, '0');
  return `${sign}${whole}.${plain.slice(exponent + 1) || '0'}`;
}
