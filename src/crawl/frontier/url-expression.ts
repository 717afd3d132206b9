/** A regular expression on URLs, as people give it to a crawl. */
import { boundedTest, PinakesError } from '../../base/index.ts';

const TEST_MS_MAX = 1000;
/**
 * Repetitions of more than one sign or none. With one of them at most, no URL takes longer than its length squared,
 * which is nothing; what has more runs behind a fence, which costs more than an ordinary test.
 */
const REPETITION = /[*+{]/g;

export class UrlExpression {
  readonly #expression: RegExp;
  readonly #isLinear: boolean;
  /** The option that it was given by. */
  readonly #where: string;

  constructor(pattern: string, option: string) {
    this.#where = `${option} ${pattern}`;
    this.#isLinear = (pattern.match(REPETITION)?.length ?? 0) <= 1;
    try {
      this.#expression = new RegExp(pattern);
    } catch (cause) {
      throw new PinakesError('BAD_ARGUMENT', { where: option, detail: `no regular expression: ${pattern}`, cause });
    }
  }

  test(url: string): boolean {
    if (this.#isLinear) return this.#expression.test(url);
    const [isMatch] = boundedTest(this.#expression, [url], TEST_MS_MAX) ?? [];
    if (isMatch !== undefined) return isMatch;
    const detail = `this takes too long for ${url}; avoid repetitions inside of repetitions, as in (a+)+`;
    throw new PinakesError('BAD_ARGUMENT', { where: this.#where, detail });
  }
}
