/** Rewrites text that arrives in pieces. */

export type TextRewriter = {
  write(text: string): string;
  end(): string;
};

/** A longer text that would have to be rewritten as a whole passes as it is, and the policy of the page confines it. */
const HELD_CHARACTERS_MAX = 16 * 1024 * 1024;

/** Rewrites kinds of text that can only be rewritten as a whole. */
export class WholeText implements TextRewriter {
  readonly #rewrite: (text: string) => string;
  #held: string[] = [];
  #length = 0;

  constructor(rewrite: (text: string) => string) {
    this.#rewrite = rewrite;
  }

  write(text: string): string {
    this.#length += text.length;
    this.#held.push(text);
    return this.#length > HELD_CHARACTERS_MAX ? this.#release() : '';
  }

  end(): string {
    const text = this.#release();
    return this.#length > HELD_CHARACTERS_MAX ? text : this.#rewrite(text);
  }

  #release(): string {
    const text = this.#held.join('');
    this.#held = [];
    return text;
  }
}
