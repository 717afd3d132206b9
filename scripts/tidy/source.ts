/**
 * A source file, parsed as far as a search for words in its code needs. Comments and the content of strings, templates
 * and regular expressions are blanked, and newlines and offsets stay. TypeScript 7 does not have a parser for programs,
 * and a search over the raw text would find every comment about a forbidden word.
 *
 * The token before a slash decides whether it divides or opens a regular expression. A statement that starts with a
 * regular expression after `)` or `}` is misread; the formatter and linter do not allow such statements.
 */

export type Source = {
  readonly text: string;
  /** The text with everything except code and quotes blanked. It has the same length and the same lines. */
  readonly code: string;
  /**
   * The values of string and template literals by the offset of their opening quote, without templates that contain
   * expressions.
   */
  readonly strings: ReadonlyMap<number, string>;
  /** The line of an offset, counted from 1. */
  lineAt(offset: number): number;
};

const WORDS_BEFORE_VALUE = new Set(
  'await case delete do else in instanceof new of return throw typeof void yield'.split(' '),
);

export function parseSource(text: string): Source {
  const code = text.split('');
  const strings = new Map<number, string>();
  // The depth of braces inside each open `${`; the innermost is last.
  const templates: { start: number; braces: number }[] = [];
  let at = 0;

  const blank = (from: number, to: number) => {
    for (let i = from; i < to; i++) if (code[i] !== '\n') code[i] = ' ';
  };

  const skipTo = (end: number) => {
    blank(at, end);
    at = end;
  };

  const readString = (quote: string) => {
    const start = at++;
    while (at < text.length && text[at] !== quote && text[at] !== '\n') at += text[at] === '\\' ? 2 : 1;
    at = Math.min(at, text.length);
    blank(start + 1, at);
    strings.set(start, text.slice(start + 1, at));
    at++;
  };

  /** Reads template text from `at` to its end or its next expression. */
  const readTemplate = (start: number, opened: boolean) => {
    const from = at;
    while (at < text.length && text[at] !== '`' && !text.startsWith('${', at)) at += text[at] === '\\' ? 2 : 1;
    at = Math.min(at, text.length);
    blank(from, at);
    if (text.startsWith('${', at)) {
      templates.push({ start, braces: 0 });
      at += 2;
    } else {
      if (opened) strings.set(start, text.slice(from, at));
      at++;
    }
  };

  const readRegex = (): boolean => {
    let end = at + 1;
    let inClass = false;
    while (end < text.length && (text[end] !== '/' || inClass)) {
      if (text[end] === '\n') return false;
      if (text[end] === '[') inClass = true;
      else if (text[end] === ']') inClass = false;
      end += text[end] === '\\' ? 2 : 1;
    }
    if (end >= text.length) return false;
    blank(at + 1, end);
    at = end + 1;
    while (/[a-z]/.test(text[at] ?? '')) at++;
    return true;
  };

  if (text.startsWith('#!')) skipTo(endOf(text, '\n', 0));
  while (at < text.length) {
    const letter = text[at]!;
    const innermost = templates.at(-1);
    if (letter === '/' && text[at + 1] === '/') skipTo(endOf(text, '\n', at));
    else if (letter === '/' && text[at + 1] === '*') skipTo(Math.min(endOf(text, '*/', at + 2) + 2, text.length));
    else if (letter === "'" || letter === '"') readString(letter);
    else if (letter === '`') {
      at++;
      readTemplate(at - 1, true);
    } else if (letter === '}' && innermost?.braces === 0) {
      templates.pop();
      at++;
      readTemplate(innermost.start, false);
    } else if (letter === '/' && expectsValue(code, at) && readRegex()) {
      // readRegex has advanced the position.
    } else {
      if (innermost && letter === '{') innermost.braces++;
      if (innermost && letter === '}') innermost.braces--;
      at++;
    }
  }

  const newlines = [...text.matchAll(/\n/g)].map((match) => match.index);
  return { text, code: code.join(''), strings, lineAt: (offset) => countBelow(newlines, offset) + 1 };
}

function endOf(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from);
  return found < 0 ? text.length : found;
}

/** True if a value, and so a regular expression, may start at this offset. */
function expectsValue(code: readonly string[], at: number): boolean {
  let last = at - 1;
  while (last >= 0 && /\s/.test(code[last]!)) last--;
  if (last < 0) return true;
  const letter = code[last]!;
  if (letter === '+' || letter === '-') return code[last - 1] !== letter;
  // `!` is either a negation before a value, or a non-null assertion after a value.
  if (letter === '!') return expectsValue(code, last);
  if (/[)\]}'"`/]/.test(letter)) return false;
  if (!/[\w$]/.test(letter)) return true;
  let first = last;
  while (first > 0 && /[\w$]/.test(code[first - 1]!)) first--;
  return code[first - 1] !== '.' && WORDS_BEFORE_VALUE.has(code.slice(first, last + 1).join(''));
}

function countBelow(sorted: readonly number[], limit: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
