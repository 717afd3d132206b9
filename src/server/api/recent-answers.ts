/** A cache of the last few answers, by question. It is emptied when the archive changes. */
export class RecentAnswers<T> {
  readonly #state: () => Promise<string>;
  readonly #maximum: number;
  /** In order of last use. */
  readonly #answers = new Map<string, T>();
  #current = '';

  constructor(state: () => Promise<string>, maximum: number) {
    this.#state = state;
    this.#maximum = maximum;
  }

  async get(question: string, find: () => Promise<T>): Promise<T> {
    const state = await this.#state();
    if (state !== this.#current) {
      this.#answers.clear();
      this.#current = state;
    }
    const known = this.#answers.get(question);
    const answer = known ?? (await find());
    if (this.#current !== state) return answer;
    this.#answers.delete(question);
    this.#answers.set(question, answer);
    const [oldest] = this.#answers.keys();
    if (this.#answers.size > this.#maximum) this.#answers.delete(oldest!);
    return answer;
  }
}
