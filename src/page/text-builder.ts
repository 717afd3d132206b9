/**
 * Builds the text of a document. Runs of white space and control characters become one space, blocks begin new lines,
 * and empty lines are removed. It also collects the headings, and the places of margins (menus, footers), which are not
 * part of the main text.
 */

/** Longer text is cut. The longest novels have four million characters. */
export const TEXT_LENGTH_MAX = 8 * 1024 * 1024;
const HEADINGS_MAX = 500;
const HEADING_LENGTH_MAX = 500;
const MAIN_SHARE_MIN = 0.2;

/** White space and control characters. For example, a file of zeros consists of them. */
const SPACES = /[\0- \x7f\u00a0\u2028\u2029]+/g;
const HAS_ODD_SPACE = /[\0-\x1f\x7f\u00a0\u2028\u2029]| {2}/;

const INVISIBLE = /^[ \p{Default_Ignorable_Code_Point}]+$/u;

export class TextBuilder {
  isTruncated = false;
  readonly headings: string[] = [];
  /** How many open elements keep line ends. */
  preserved = 0;
  #text = '';
  #gap: '' | ' ' | '\n' = '';
  /** The current heading. It is collected separately: slicing it from the text would flatten the string each time. */
  #heading: string | undefined;
  /** The offsets in the text where margins begin (at even indexes) and end (at odd indexes). */
  readonly #margins: number[] = [];

  add(raw: string): void {
    if (this.#text.length >= TEXT_LENGTH_MAX) {
      this.isTruncated = true;
      return;
    }
    if (this.preserved > 0 && raw.includes('\n')) {
      const lines = raw.split('\n');
      for (let at = 0; at < lines.length; at++) {
        if (at > 0) this.break();
        this.#append(lines[at]!);
      }
    } else this.#append(raw);
  }

  #append(raw: string): void {
    const text = HAS_ODD_SPACE.test(raw) ? raw.replace(SPACES, ' ') : raw;
    const from = text.charCodeAt(0) === 0x20 ? 1 : 0;
    const to = text.charCodeAt(text.length - 1) === 0x20 ? text.length - 1 : text.length;
    if (from === 1 && this.#gap === '') this.#gap = ' ';
    if (to <= from || INVISIBLE.test(text)) return;
    const piece =
      (this.#text === '' ? '' : this.#gap) + (from === 0 && to === text.length ? text : text.slice(from, to));
    this.#text += piece;
    if (this.#heading !== undefined && this.#heading.length < HEADING_LENGTH_MAX) this.#heading += piece;
    this.#gap = to < text.length ? ' ' : '';
  }

  /** Begins a new line. */
  break(): void {
    this.#gap = '\n';
  }

  /** Ends a word. */
  space(): void {
    if (this.#gap === '') this.#gap = ' ';
  }

  /** Adds a heading on its own line. */
  addHeading(text: string): void {
    this.break();
    this.beginHeading();
    this.add(text);
    this.endHeading();
  }

  beginHeading(): void {
    this.#heading = '';
  }

  endHeading(): void {
    const heading = this.#heading?.slice(0, HEADING_LENGTH_MAX).trim().replaceAll('\n', ' ');
    if (heading !== undefined && heading !== '' && this.headings.length < HEADINGS_MAX) this.headings.push(heading);
    this.#heading = undefined;
  }

  beginMargin(): void {
    if (this.#margins.length % 2 === 0) this.#margins.push(this.#text.length);
  }

  endMargin(): void {
    if (this.#margins.length % 2 === 1) this.#margins.push(this.#text.length);
  }

  get text(): string {
    return this.#text.length > TEXT_LENGTH_MAX ? this.#text.slice(0, TEXT_LENGTH_MAX) : this.#text;
  }

  /** The text without the margins, or the whole text if too little would be left. */
  get mainText(): string {
    const text = this.text;
    if (this.#margins.length === 0) return text;
    let main = '';
    let at = 0;
    for (let turn = 0; turn < this.#margins.length; turn += 2) {
      main += text.slice(at, this.#margins[turn]);
      at = this.#margins[turn + 1] ?? text.length;
    }
    main += text.slice(at);
    return main.length < text.length * MAIN_SHARE_MIN ? text : main.trimStart();
  }
}
