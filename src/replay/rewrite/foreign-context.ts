/**
 * Tracks whether an HTML parser is inside SVG or MathML. There `<style>`, `<script>` and `<title>` have markup instead
 * of raw text, and some HTML elements end the foreign part (HTML, "the rules for parsing tokens in foreign content").
 */

/** HTML elements that end the foreign part. */
const BREAKOUT: ReadonlySet<string> = new Set(
  (
    'b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta nobr ol p pre ruby s small span ' +
    'strong strike sub sup table tt u ul var'
  ).split(' '),
);

/** Elements of SVG and MathML whose content is HTML again. */
const INTEGRATION: Readonly<Record<string, readonly string[]>> = {
  svg: ['foreignobject', 'desc', 'title'],
  math: ['annotation-xml', 'mi', 'mo', 'mn', 'ms', 'mtext'],
};

/** HTML elements without an end tag. */
const VOID: ReadonlySet<string> = new Set(
  'area base br col embed hr img input link meta param source track wbr'.split(' '),
);
/** HTML elements that end at the next element of the same name. */
const SELF_ENDING: ReadonlySet<string> = new Set('a button dd dt li nobr option p td th tr'.split(' '));

const DEPTH_MAX = 256;
const NAMES_MAX = 1000;

export class ForeignContext {
  /** The open roots, and the open elements in them whose content is HTML again; outermost first. */
  readonly #open: string[] = [];
  /** For each open element, by name: the length of `#open` when it was opened. */
  readonly #around = new Map<string, number[]>();

  get isForeign(): boolean {
    const top = this.#open.at(-1);
    return top !== undefined && isRoot(top);
  }

  opened(element: string, isSelfClosing: boolean): void {
    if (this.isForeign && BREAKOUT.has(element)) this.#leave();
    if (isSelfClosing && (this.isForeign || isRoot(element))) return;
    const top = this.#open.at(-1);
    const isIntegration = this.isForeign && INTEGRATION[top!]!.includes(element);
    if (!isRoot(element) && !isIntegration) this.#remember(element);
    else if (this.#open.length < DEPTH_MAX) this.#open.push(element);
  }

  closed(element: string): void {
    const at = this.#open.lastIndexOf(element);
    if (at >= 0) {
      this.#open.length = at;
      return;
    }
    const around = this.#aroundOf(element);
    const depth = around?.at(-1);
    if (depth === undefined) {
      if (this.isForeign && (element === 'p' || element === 'br')) this.#leave();
    } else if (this.#open.slice(depth).every(isRoot)) {
      // The end tag of an outer element ends the open elements in it, unless HTML began again between them.
      around!.pop();
      this.#open.length = depth;
    }
  }

  #leave(): void {
    while (this.isForeign) this.#open.pop();
  }

  #remember(element: string): void {
    if (VOID.has(element) && !this.isForeign) return;
    const around = this.#aroundOf(element) ?? [];
    const depth = this.#open.length;
    const endsAnother = SELF_ENDING.has(element) && !this.isForeign && around.at(-1) === depth;
    if (endsAnother || around.length >= DEPTH_MAX) return;
    around.push(depth);
    if (this.#around.size < NAMES_MAX) this.#around.set(element, around);
  }

  /** Drops the elements that ended together with an outer element. */
  #aroundOf(element: string): number[] | undefined {
    const around = this.#around.get(element);
    while (around && around.length > 0 && around.at(-1)! > this.#open.length) around.pop();
    return around;
  }
}

function isRoot(element: string): boolean {
  return element === 'svg' || element === 'math';
}
