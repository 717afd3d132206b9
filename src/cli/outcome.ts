/**
 * How a command ends: the only exit codes, and the only way failures reach the person.
 *
 * 0 fine; 1 findings or differences; 2 could not do what was asked; 3 a bug; 130 interrupted.
 */
import { PinakesError } from '../base/index.ts';
import { OutputFailed, printable, type Terminal } from './terminal.ts';

export const EXIT_FINE = 0;
export const EXIT_FOUND = 1;
export const EXIT_REFUSED = 2;
export const EXIT_BUG = 3;
export const EXIT_INTERRUPTED = 130;

/** Tells of a failure, and says which code the program should end with. */
export function tellFailure(terminal: Terminal, error: unknown): number {
  terminal.clearStatus();
  if (error instanceof PinakesError) {
    terminal.say(`pinakes: ${printable(error.message)} [${error.code}]\n  ${error.advice}`);
    return EXIT_REFUSED;
  }
  if (error instanceof OutputFailed) return error.isReaderGone ? EXIT_FINE : tellFailure(terminal, error.cause);
  if (error instanceof Error && error.name === 'AbortError') {
    terminal.say('pinakes: interrupted');
    return EXIT_INTERRUPTED;
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  terminal.say(`pinakes: something went wrong that should not have: this is a bug in Pinakes.\n${text}`);
  return EXIT_BUG;
}

/** Tells of several failures and combines them with what the command found otherwise. */
export function tellFailures(terminal: Terminal, failures: readonly unknown[], otherwise: number): number {
  let code = otherwise;
  for (const failure of failures) code = Math.max(code, tellFailure(terminal, failure));
  return code;
}
