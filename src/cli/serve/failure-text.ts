import { PinakesError } from '../../base/index.ts';
import { printable } from '../terminal.ts';

/** An operating failure is shown as a sentence with advice, a bug as its stack trace. */
export function failureText(error: unknown): string {
  if (error instanceof PinakesError) return `${printable(error.message)} [${error.code}]\n  ${error.advice}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
