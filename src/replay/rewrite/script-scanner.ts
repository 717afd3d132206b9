/**
 * Reads the tokens of a script that rewriting must distinguish: names, strings, templates, regular expressions,
 * comments, brackets.
 *
 * This is not a parser. Whether a slash divides or begins a regular expression is decided by the token before it. If a
 * regular expression would not end on its line, the slash divides. `isWhole` is false for a script whose brackets,
 * strings or comments do not end.
 */

/** An open bracket. */
type Frame = {
  readonly open: number;
  readonly isControl?: boolean;
  readonly isFunction?: boolean;
  readonly isClass?: boolean;
  readonly isTemplate?: boolean;
};

export type ScannedName = {
  readonly name: string;
  readonly start: number;
  readonly end: number;
  /** The token before: a name, or its last punctuation; '' at the start. */
  readonly before: string;
  /** Whether a line ends between that token and the name. */
  readonly isOnNewLine: boolean;
  /** How many open brackets are around the name. */
  readonly depth: number;
  /** How many of these brackets are bodies of functions. */
  readonly functionDepth: number;
  /** Whether the innermost bracket is the body of a class. */
  readonly isInClass: boolean;
};

export type ScanHandler = {
  onName(name: ScannedName): void;
  onString?(start: number, end: number, before: string, depth: number): void;
  /** A bracket, comma or semicolon. */
  onPunctuation?(character: string, at: number, depth: number): void;
};

const BEFORE_EXPRESSION: ReadonlySet<string> = new Set(
  'return typeof case in of delete void throw new instanceof else do yield await default extends'.split(' '),
);
const CONTROL: ReadonlySet<string> = new Set(['if', 'for', 'while', 'with', 'switch', 'catch']);

const NAME_CHARACTER = new Uint8Array(128);
for (let code = 0; code < 128; code++) if (/[\w$\\]/.test(String.fromCharCode(code))) NAME_CHARACTER[code] = 1;

function isNameCode(code: number): boolean {
  return code < 128 ? NAME_CHARACTER[code] === 1 : code > 0xa0 && code !== 0x2028 && code !== 0x2029 && code !== 0xfeff;
}

const NESTING_MAX = 10_000;
/**
 * How many characters may be read because of wrong guesses of a regular expression. In a script of one long line each
 * wrong guess reads the rest of the line.
 */
const WASTED_MAX = 32 * 1024 * 1024;

export class ScriptScanner {
  isWhole = true;
  readonly #text: string;
  readonly #handler: ScanHandler;
  readonly #hasHtmlComments: boolean;
  readonly #frames: Frame[] = [];
  #at = 0;
  #before = '';
  #isOperandBefore = false;
  #isNewLine = false;
  #functionDepth = 0;
  /** The depths of classes whose bodies have not begun. */
  readonly #classDepths: number[] = [];
  /** Characters that were read because of wrong guesses of a regular expression. */
  #wasted = 0;
  /** Whether the last closed bracket was the head of a control statement. */
  #wasControl = false;

  /** `hasHtmlComments`: whether `<!--` begins a comment, as in every script that is not a module. */
  constructor(text: string, handler: ScanHandler, hasHtmlComments: boolean) {
    this.#text = text;
    this.#handler = handler;
    this.#hasHtmlComments = hasHtmlComments;
  }

  scan(): void {
    const text = this.#text;
    const length = text.length;
    while (this.#at < length && this.isWhole) {
      const code = text.charCodeAt(this.#at);
      if (code === 0x0a || code === 0x0d) {
        this.#isNewLine = true;
        this.#at++;
      } else if (code <= 0x20 || code === 0xa0 || code === 0xfeff) this.#at++;
      else if (this.#hasHtmlComments && this.#isHtmlComment(code)) this.#at = lineEnd(text, this.#at);
      else if (code === 0x2f) this.#slash();
      else if (code === 0x22 || code === 0x27) this.#string(code);
      else if (code === 0x60) this.#template(this.#at + 1);
      else if (isNameCode(code)) this.#name();
      else this.#punctuation(code);
    }
    if (this.#frames.length > 0) this.isWhole = false;
  }

  /** `<!--` anywhere, and `-->` at the start of a line: old pages hid scripts from older browsers with these. */
  #isHtmlComment(code: number): boolean {
    if (code === 0x3c) return this.#text.startsWith('<!--', this.#at);
    return code === 0x2d && (this.#isNewLine || this.#before === '') && this.#text.startsWith('-->', this.#at);
  }

  #token(before: string, isOperand: boolean): void {
    this.#before = before;
    this.#isOperandBefore = isOperand;
    this.#isNewLine = false;
  }

  #name(): void {
    const text = this.#text;
    const start = this.#at;
    let at = start + 1;
    while (at < text.length && isNameCode(text.charCodeAt(at))) at++;
    const first = text.charCodeAt(start);
    this.#at = at;
    if (first >= 0x30 && first <= 0x39) {
      // A number; `1.5` and `1e-5` are several tokens, which does not matter here.
      this.#token('0', true);
      return;
    }
    const name = text.slice(start, at);
    this.#handler.onName({
      name,
      start,
      end: at,
      before: this.#before,
      isOnNewLine: this.#isNewLine,
      depth: this.#frames.length,
      functionDepth: this.#functionDepth,
      isInClass: this.#frames.at(-1)?.isClass === true,
    });
    const isProperty = this.#before === '.' || this.#before === '?.';
    // `class` may also be a key of an object.
    if (name === 'class' && !isProperty && /^\s+[\w$\\\u0080-\uffff]|^\s*\{/.test(text.slice(at, at + 16)))
      this.#classDepths.push(this.#frames.length);
    this.#token(name, isProperty || !BEFORE_EXPRESSION.has(name));
  }

  #slash(): void {
    const text = this.#text;
    const next = text.charCodeAt(this.#at + 1);
    if (next === 0x2f) {
      const end = lineEnd(text, this.#at);
      this.#at = end;
    } else if (next === 0x2a) {
      const end = text.indexOf('*/', this.#at + 2);
      if (end < 0) this.isWhole = false;
      else {
        if (text.slice(this.#at, end).includes('\n')) this.#isNewLine = true;
        this.#at = end + 2;
      }
    } else {
      const end = this.#isOperandBefore ? -1 : regularExpressionEnd(text, this.#at);
      if (end < 0) {
        if (!this.#isOperandBefore) this.#waste(lineEnd(text, this.#at) - this.#at);
        this.#at++;
        this.#token('/', false);
      } else {
        this.#at = end;
        this.#token('/re/', true);
      }
    }
  }

  #waste(characters: number): void {
    this.#wasted += characters;
    if (this.#wasted > WASTED_MAX) this.isWhole = false;
  }

  #string(quote: number): void {
    const text = this.#text;
    const start = this.#at;
    for (let at = start + 1; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === 0x5c) at++;
      else if (code === quote) {
        this.#at = at + 1;
        this.#handler.onString?.(start, at + 1, this.#before, this.#frames.length);
        this.#token('"', true);
        return;
      } else if (code === 0x0a) break;
    }
    this.isWhole = false;
  }

  /** Reads a template up to its end or to the next expression in it. */
  #template(from: number): void {
    const text = this.#text;
    for (let at = from; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === 0x5c) at++;
      else if (code === 0x60) {
        this.#at = at + 1;
        this.#token('`', true);
        return;
      } else if (code === 0x24 && text.charCodeAt(at + 1) === 0x7b) {
        this.#at = at + 2;
        this.#push({ open: 0x7b, isTemplate: true });
        this.#token('{', false);
        return;
      }
    }
    this.isWhole = false;
  }

  #push(frame: Frame): void {
    this.#frames.push(frame);
    if (frame.isFunction) this.#functionDepth++;
    if (this.#frames.length > NESTING_MAX) this.isWhole = false;
  }

  #punctuation(code: number): void {
    const text = this.#text;
    const at = this.#at;
    const character = text[at]!;
    this.#at++;
    if (code === 0x28 || code === 0x5b || code === 0x7b) {
      this.#handler.onPunctuation?.(character, at, this.#frames.length);
      const isControl = code === 0x28 && CONTROL.has(this.#before);
      const isClass = code === 0x7b && this.#classDepths.at(-1) === this.#frames.length;
      if (isClass) this.#classDepths.pop();
      const isFunction =
        code === 0x7b && !isClass && (this.#before === '=>' || (this.#before === ')' && !this.#wasControl));
      this.#push({ open: code, isControl, isFunction, isClass });
      this.#token(character, false);
    } else if (code === 0x29 || code === 0x5d || code === 0x7d) {
      this.#close(code, character, at);
    } else if (character === '=' && text[this.#at] === '>') {
      this.#at++;
      this.#token('=>', false);
    } else if ((character === '+' || character === '-') && text[this.#at] === character) {
      this.#at++;
      // After an operand, `++` belongs to it, and a slash then divides.
      this.#token(character + character, this.#isOperandBefore);
    } else if (character === '?' && text[this.#at] === '.' && !isDigitAt(text, this.#at + 1)) {
      this.#at++;
      this.#token('?.', false);
    } else if (character === '.' && text.startsWith('..', this.#at)) {
      this.#at += 2;
      this.#token('...', false);
    } else {
      if (character === ',' || character === ';') this.#handler.onPunctuation?.(character, at, this.#frames.length);
      this.#token(character, false);
    }
  }

  #close(code: number, character: string, at: number): void {
    const frame = this.#frames.pop();
    if (!frame || (frame.open === 0x28 ? 0x29 : frame.open + 2) !== code) {
      this.isWhole = false;
      return;
    }
    if (frame.isFunction) this.#functionDepth--;
    if (this.#classDepths.at(-1)! > this.#frames.length) this.#classDepths.pop();
    if (frame.isTemplate) {
      this.#template(at + 1);
      return;
    }
    this.#handler.onPunctuation?.(character, at, this.#frames.length);
    this.#wasControl = frame.isControl === true;
    // After the head of a statement, and after a block, an expression begins; after other brackets it continues.
    this.#token(character, code === 0x5d || (code === 0x29 && !frame.isControl));
  }
}

function isDigitAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0x30 && code <= 0x39;
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end;
}

/** The end of the regular expression that begins here, with its flags; -1 if its line ends first. */
function regularExpressionEnd(text: string, from: number): number {
  let isInClass = false;
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x0a || code === 0x0d) return -1;
    if (code === 0x5c) at++;
    else if (code === 0x5b) isInClass = true;
    else if (code === 0x5d) isInClass = false;
    else if (code === 0x2f && !isInClass) {
      let end = at + 1;
      while (end < text.length && isNameCode(text.charCodeAt(end))) end++;
      return end;
    }
  }
  return -1;
}
