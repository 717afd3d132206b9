/** A regular expression on URLs, given by the user of a crawl. */
import { boundedTest, PinakesError } from '../../base/index.ts';

const TEST_MS_MAX = 1000;
/**
 * Matches the signs of repetition in an expression. With at most one repetition, a test takes at most quadratic time in
 * the length of the URL, which is little. Other expressions are tested with a time limit, which is slower.
 */
const REPETITION = /[*+{]/g;

export class UrlExpression {
  readonly #expression: RegExp;
  readonly #isLinear: boolean;
  /** The option and the pattern, for errors. */
  readonly #where: string;

  constructor(pattern: string, option: string) {
    this.#where = `${option} ${pattern}`;
    this.#isLinear = (pattern.match(REPETITION)?.length ?? 0) <= 1;
    try {
      this.#expression = new RegExp(pattern);
    } catch (cause) {
      throw new PinakesError('BAD_ARGUMENT', { where: option, detail: `not a regular expression: ${pattern}`, cause });
    }
  }

  test(url: string): boolean {
    if (this.#isLinear) return this.#expression.test(url);
    const [isMatch] = boundedTest(this.#expression, [url], TEST_MS_MAX) ?? [];
    if (isMatch !== undefined) return isMatch;
    const detail = `this takes too long for ${url}; avoid repetitions inside repetitions, as in (a+)+`;
    throw new PinakesError('BAD_ARGUMENT', { where: this.#where, detail });
  }
}
