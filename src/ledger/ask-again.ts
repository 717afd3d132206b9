/**
 * Asks again while it is not known whether a call was carried out. Only for calls that may be carried out twice: a PUT
 * of the same bytes under the same name (P2), a commit with an id or with a row that it moves (C4).
 */
import { PinakesError } from '../base/index.ts';

const TRIES = 3;

export type AskAgain = {
  readonly tries?: number;
  /** Waits before the next try; the first pause has the number 1. */
  readonly pause?: ((tried: number) => Promise<void>) | undefined;
};

/** Throws the last error when no try had an answer. Other errors are thrown at once. */
export async function askAgain<Answer>(
  ask: (tried: number) => Promise<Answer>,
  { tries = TRIES, pause }: AskAgain = {},
): Promise<Answer> {
  for (let tried = 1; ; tried++) {
    try {
      return await ask(tried);
    } catch (error) {
      if (!isRetryable(error) || tried >= tries) throw error;
      await pause?.(tried);
    }
  }
}

export function isRetryable(error: unknown): error is PinakesError {
  return error instanceof PinakesError && error.retryable;
}
