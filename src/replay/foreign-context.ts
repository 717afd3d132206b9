/**
 * Whether the HTML parser is inside SVG or MathML. There `<style>`, `<script>` and `<title>` hold markup instead of raw text, and HTML elements of
 * some names end the foreign part (HTML, "the rules for parsing tokens in foreign content").
 */

const BREAKOUT: ReadonlySet<string> = new Set(
  (
    'b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta nobr ol p pre ruby s small span ' +
    'strong strike sub sup table tt u ul var'
  ).split(' '),
);

/** Elements inside of which it is HTML again. */
const INTEGRATION: Readonly<Record<string, readonly string[]>> = {
  svg: ['foreignobject', 'desc', 'title'],
  math: ['annotation-xml', 'mi', 'mo', 'mn', 'ms', 'mtext'],
};

const DEPTH_MAX = 256;

export class ForeignContext {
  readonly #open: string[] = [];

  get isForeign(): boolean {
    const top = this.#open.at(-1);
    return top === 'svg' || top === 'math';
  }

  opened(element: string, isSelfClosing: boolean): void {
    const top = this.#open.at(-1);
    if (top === undefined && element !== 'svg' && element !== 'math') return;
    if (this.isForeign && BREAKOUT.has(element)) {
      while (this.isForeign) this.#open.pop();
      return;
    }
    if (isSelfClosing && (this.isForeign || element === 'svg' || element === 'math')) return;
    const isRoot = element === 'svg' || element === 'math';
    const isIntegration = this.isForeign && INTEGRATION[top!]!.includes(element);
    if ((isRoot || isIntegration) && this.#open.length < DEPTH_MAX) this.#open.push(element);
  }

  closed(element: string): void {
    const at = this.#open.lastIndexOf(element);
    if (at >= 0) this.#open.length = at;
  }
}
