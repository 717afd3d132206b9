/** The latest few answers to a question, by what was asked, for as long as the archive stays as it is. */
export class RecentAnswers<T> {
  readonly #state: () => Promise<string>;
  readonly #most: number;
  /** The one asked for last stands last. */
  readonly #answers = new Map<string, T>();
  #current = '';

  constructor(state: () => Promise<string>, most: number) {
    this.#state = state;
    this.#most = most;
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
    if (this.#answers.size > this.#most) this.#answers.delete(oldest!);
    return answer;
  }
}
