/**
 * Counts the problems of a verification and passes each of them on once. A part of the verification is done again when
 * the archive changed under it, and then finds the same problems again.
 */
import { type Problem, verifyProblem } from '../verify-problem.ts';

/** Beyond this, a problem that is found again is reported again. */
const REMEMBERED_MAX = 10_000;

export type Report = (...problem: Parameters<typeof verifyProblem>) => Promise<void>;

export class ProblemReporter {
  errors = 0;
  warnings = 0;
  readonly #onProblem: ((problem: Problem) => void | Promise<void>) | undefined;
  readonly #reported = new Set<string>();

  constructor(onProblem: ((problem: Problem) => void | Promise<void>) | undefined) {
    this.#onProblem = onProblem;
  }

  readonly report: Report = (...problem) => this.pass(verifyProblem(...problem));

  async pass(problem: Problem): Promise<void> {
    const { code, level, volume, segment, offset, message } = problem;
    // A segment that was moved to another volume meanwhile has the same problems there.
    const identity = JSON.stringify([code, segment ?? volume, offset, message]);
    if (this.#reported.has(identity)) return;
    if (this.#reported.size < REMEMBERED_MAX) this.#reported.add(identity);
    if (level === 'error') this.errors++;
    else if (level === 'warning') this.warnings++;
    await this.#onProblem?.(problem);
  }
}
